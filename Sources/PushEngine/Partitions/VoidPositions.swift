/// Which records of a partition's `state` have positions of other logs: another cluster's, or those before topics were
/// made anew.
///
/// Each owner repeats it in its markers. A successor takes no event for a replay by such a position, whenever the
/// previous owner has died.
struct VoidPositions {
    /// Why the positions read mean nothing in the logs of the input. `nil`: they count, or an owner at work has said
    /// which do (`before`).
    private(set) var cause: VoidCause?
    /// Records of `state` below this offset have positions of other logs; -1: none has.
    private(set) var before: Int64 = -1
    /// Offset of the record that gives the cause; -1: none. An owner that took over behind it knows the cause.
    private var causeOffset: Int64 = -1
    /// Offset of the first claim of an owner behind that record; -1: none. Records behind the claim have positions of
    /// these logs.
    private var claimOffset: Int64 = -1

    /// Notes that everything read up to here has positions of another log.
    mutating func begin(_ cause: VoidCause, at offset: Int64) {
        self.causeOffset = offset
        self.claimOffset = -1
        if case .accepted = cause, self.cause != nil { return }
        self.cause = cause
    }

    /// Notes which positions an owner at work calls void. A first marker says nothing of what is before it: its owner
    /// may have died over it, or be this one. An owner that took over before the cause does not know it.
    mutating func note(_ marker: borrowing MarkerRecord, at offset: Int64) {
        // An owner that does not know its cluster's name has kept the positions of another one.
        if case .cluster = self.cause, marker.clusterID.isEmpty { return }
        if marker.epoch < 0, offset > self.causeOffset, self.claimOffset < 0 { self.claimOffset = offset }
        guard marker.epoch > self.causeOffset, marker.epoch < offset else { return }
        self.cause = nil
        self.before = max(self.before, marker.voidBefore)
    }

    /// Settles what was read: records below the own marker may have positions of other logs.
    /// - Parameter isOfNewLog: whether a person has moved the group into another log.
    /// - Parameter epoch: offset of the own marker.
    mutating func settle(isOfNewLog: Bool, epoch: Int64) {
        if isOfNewLog, self.cause == nil { self.cause = .newLog }
        guard let cause = self.cause else { return }
        let claimed = cause == .newLog ? -1 : self.claimOffset
        self.before = claimed < 0 ? epoch : claimed
    }
}
