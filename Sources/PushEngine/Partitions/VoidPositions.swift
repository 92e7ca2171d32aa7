/// Which records of a partition's `state` have positions of other logs. These logs are another cluster's, or existed
/// before the topics were created again.
///
/// Each owner states the limit (`before`) in its markers. A successor therefore never takes an event for a replay
/// because of such a position, no matter when the previous owner died.
struct VoidPositions {
    /// Why positions read so far have no meaning in the input logs. `nil`: they have a meaning, or an owner that knew
    /// the cause has recorded which of them are void (`before`).
    private(set) var cause: VoidCause?
    /// Positions in records of `state` below this offset are void. They are from another cluster, or from before the
    /// topics were made anew. -1: no positions are void.
    private(set) var before: Int64 = -1
    /// Offset of the record that gives the cause; -1: none. Owners that took over after this record know the cause.
    private var causeOffset: Int64 = -1
    /// Offset of the first claim that follows the record at `causeOffset`; -1: none. Records after this claim have
    /// positions of the present input logs.
    private var claimOffset: Int64 = -1
    /// Events that this owner has taken although their first positions may be of other logs. Several workers in this
    /// cluster may have forwarded the same event, one after another, because each died before its commit. The next
    /// owner does not know these events, and takes a second copy again.
    private var takenCopies: Set<ForwardedCopy> = []
    /// Maximum number of events that `takenCopies` remembers. A second copy of any other event is taken once more.
    static var takenCopiesMax: Int { 16_384 }

    /// Treats all records read up to here as having positions of another log.
    mutating func begin(_ cause: VoidCause, at offset: Int64) {
        self.causeOffset = offset
        self.claimOffset = -1
        if case .accepted = cause, self.cause != nil { return }
        self.cause = cause
    }

    /// Learns from an owner's marker which positions are of other logs. A first marker says nothing about the records
    /// before it. Its owner may have died right after writing it, or may be this owner. An owner that took over before
    /// the cause does not know the cause.
    mutating func take(_ marker: borrowing MarkerRecord, at offset: Int64) {
        // An owner that does not know its cluster's name cannot notice positions of another cluster, so its marker
        // decides nothing.
        if case .cluster = self.cause, marker.clusterID.isEmpty { return }
        if marker.epoch < 0, offset > self.causeOffset, self.claimOffset < 0 { self.claimOffset = offset }
        guard marker.epoch > self.causeOffset, marker.epoch < offset else { return }
        self.cause = nil
        self.before = max(self.before, marker.voidBefore)
    }

    /// Sets `before` if there is a cause. The value is the offset of the first claim after the cause. Without such a
    /// claim, or in a new log, the value is this owner's epoch.
    /// - Parameter isOfNewLog: whether a person has moved the group into another log.
    /// - Parameter epoch: offset of this owner's marker.
    mutating func settle(isOfNewLog: Bool, epoch: Int64) {
        if isOfNewLog, self.cause == nil { self.cause = .newLog }
        guard let cause = self.cause else { return }
        let claimed = cause == .newLog ? -1 : self.claimOffset
        self.before = claimed < 0 ? epoch : claimed
    }

    /// Whether this owner has taken another copy of the event.
    func hasTaken(_ copy: ForwardedCopy) -> Bool { self.takenCopies.contains(copy) }
    /// Remembers an event that was taken.
    mutating func took(_ copy: ForwardedCopy) {
        if self.takenCopies.count < Self.takenCopiesMax { self.takenCopies.insert(copy) }
    }
}
