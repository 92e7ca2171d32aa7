import PushModel

/// What became of versions, or of starts, that were due to members (fan-out contract: Conservation for members). After
/// a takeover, the new owner counts as due what is still owed.
public struct MemberCounters: Sendable, Equatable {
    /// Number of times that a version or start became owed to a member.
    public var due: UInt64 = 0
    /// APNs accepted the push.
    public var accepted: UInt64 = 0
    /// A newer version replaced the version before it was sent.
    public var superseded: UInt64 = 0
    /// The version was not sent in time.
    public var expired: UInt64 = 0
    /// The token was dead.
    public var gone: UInt64 = 0
    /// APNs refused the push for good.
    public var failed: UInt64 = 0
    /// The result is unknown, and the push is not sent again.
    public var unknown: UInt64 = 0
    /// The member left before APNs accepted the push.
    public var left: UInt64 = 0
    /// The partition left before the version was sent, or before its push was answered.
    public var handedOver: UInt64 = 0
    /// Versions that are owed now, including those whose pushes are unanswered.
    public var waiting: UInt64 = 0
    /// Pushes that were sent again.
    public var repeated: UInt64 = 0
    /// Creates counters that have counted nothing.
    public init() {}
    /// Whether everything that was due is accounted for exactly once.
    public var isConserved: Bool { self.due == self.endedCount &+ self.handedOver &+ self.waiting }
    /// Number of members whose wait for the version has ended. It is summed without key paths, because every answer
    /// needs it.
    @inline(__always) var endedCount: UInt64 {
        self.accepted &+ self.superseded &+ self.expired &+ self.gone &+ self.failed &+ self.unknown &+ self.left
    }
}

/// The counts as they appear in reports: in records, in outcomes and in words.
extension MemberCounters {
    /// One count of a report.
    struct Field: Sendable {
        let name: StaticString
        let path: any WritableKeyPath<MemberCounters, UInt64> & Sendable
        /// Whether only reports of starts have the count. Reports of versions lack the count `unknown`: if the result
        /// of a push is unknown, the version is sent again.
        var isOfStarts = false
    }
    /// The counts of a report of a start, in the order in which they are written.
    private static let fieldsOfStarts = [
        Field(name: "members", path: \.due), Field(name: "accepted", path: \.accepted),
        Field(name: "superseded", path: \.superseded), Field(name: "expired", path: \.expired),
        Field(name: "gone", path: \.gone), Field(name: "failed", path: \.failed),
        Field(name: "unknown", path: \.unknown, isOfStarts: true), Field(name: "left", path: \.left),
        Field(name: "retried", path: \.repeated),
    ]
    private static let fieldsOfVersions = Self.fieldsOfStarts.filter { !$0.isOfStarts }
    /// The counts of a report, in the order in which they are written.
    static func fields(ofStarts: Bool) -> [Field] { ofStarts ? Self.fieldsOfStarts : Self.fieldsOfVersions }
    /// The counts by name, for a person.
    func described(ofStarts: Bool, waitingCount: UInt64) -> [String: UInt64] {
        var counts = ["waiting": waitingCount]
        for field in Self.fields(ofStarts: ofStarts) { counts["\(field.name)"] = self[keyPath: field.path] }
        return counts
    }
    /// Appends the counts as members of a JSON object that already has other members.
    func append(ofStarts: Bool, waitingCount: UInt64, to bytes: inout [UInt8]) {
        for field in Self.fields(ofStarts: ofStarts) {
            if field.path == \.repeated { Self.append("waiting", waitingCount, to: &bytes) }
            Self.append(field.name, self[keyPath: field.path], to: &bytes)
        }
    }
    private static func append(_ name: StaticString, _ count: UInt64, to bytes: inout [UInt8]) {
        bytes.append(utf8: ",\"")
        bytes.append(utf8: name)
        bytes.append(utf8: "\":")
        JSONBytes.appendInteger(Int64(clamping: count), to: &bytes)
    }
}

/// Why a version is no longer owed to a member.
///
/// A key path into the counters could say this, too, but costs a thousand instructions a push.
enum MemberSettlement: UInt8 {
    case accepted
    case superseded
    case expired
    case gone
    case failed
    case left
}

/// How an answer changes what was due to a member.
enum MemberEnd {
    case ended(MemberSettlement)
    /// The version is still owed to the member, which is counted as waiting.
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
