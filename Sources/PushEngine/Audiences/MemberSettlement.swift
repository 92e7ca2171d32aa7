/// Why a version is no longer owed to a member.
///
/// A key path into the counters would say as much, but takes a thousand instructions a push.
enum MemberSettlement: UInt8 {
    case accepted
    case superseded
    case expired
    case gone
    case failed
    case left
}

/// What an answer did to what was due to a member.
enum MemberEnd {
    case ended(MemberSettlement)
    /// The member is still owed it, and counted where it waits.
    case waits
}

extension MemberCounters {
    /// Counts members that are no longer owed the version.
    mutating func count(_ settlement: MemberSettlement, _ members: UInt64 = 1) {
        switch settlement {
        case .accepted: self.accepted &+= members
        case .superseded: self.superseded &+= members
        case .expired: self.expired &+= members
        case .gone: self.gone &+= members
        case .failed: self.failed &+= members
        case .left: self.left &+= members
        }
    }
}
