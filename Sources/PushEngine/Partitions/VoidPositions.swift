/// Which records of a partition's `state` know positions of other logs: another cluster's, or those before topics were made anew.
///
/// Each owner says it in its markers. A successor takes no event for a replay by such a position, whenever the owner before has died.
struct VoidPositions {
    /// Why positions that were read mean nothing in the logs of the input. `nil`: they count, or an owner at work has said which do (`before`).
    private(set) var cause: VoidCause?
    /// Records of `state` below this offset know positions of other logs; -1: none does.
    private(set) var before: Int64 = -1
    /// Where the record lies that gives the cause; -1: none does. An owner that took over behind it knows of it.
    private var causeOffset: Int64 = -1
    /// Where an owner has claimed the partition behind that for the first time; -1: none has. Records behind it know positions of these logs.
    private var claimOffset: Int64 = -1

    /// What has been read up to here knows positions of another log.
    mutating func begin(_ cause: VoidCause, at offset: Int64) {
        self.causeOffset = offset
        self.claimOffset = -1
        if case .accepted = cause, self.cause != nil { return }
        self.cause = cause
    }

    /// An owner at work says which positions are void. A first marker says nothing of what lies before it: its owner may have died over it, or be this one. An
    /// owner that took over before the cause knows nothing of it.
    mutating func note(_ marker: borrowing MarkerRecord, at offset: Int64) {
        // An owner that does not know the name of its cluster has kept the positions of another one.
        if case .cluster = self.cause, marker.clusterID.isEmpty { return }
        if marker.epoch < 0, offset > self.causeOffset, self.claimOffset < 0 { self.claimOffset = offset }
        guard marker.epoch > self.causeOffset, marker.epoch < offset else { return }
        self.cause = nil
        self.before = max(self.before, marker.voidBefore)
    }

    /// All has been read: records below the own marker may know positions of other logs.
    /// - Parameter isOfNewLog: a person has moved the group into another log.
    /// - Parameter epoch: where the own marker lies.
    mutating func settle(isOfNewLog: Bool, epoch: Int64) {
        if isOfNewLog, self.cause == nil { self.cause = .newLog }
        guard let cause = self.cause else { return }
        let claimed = cause == .newLog ? -1 : self.claimOffset
        self.before = claimed < 0 ? epoch : claimed
    }
}
