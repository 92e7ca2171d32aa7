/// Keeps when something about owning partitions is due: markers that are written again, takeovers that catch up. It
/// also lists the partitions that wait for a step the loop has to hear of.
///
/// What is known of one partition is in `PartitionState`. Of the times, only the earliest of all is kept here.
struct Ownership {
    /// Partitions on their way in or out. Each waits for something that `ShardEngine.takeActions` reports.
    private(set) var watched: [PartitionIndex] = []
    /// The earliest time at which a marker is written again, steady; `Int64.max`: never.
    private(set) var nextMarkerMillis: Int64 = .max
    /// When the first partition that still reads its backlog of the assignment is no longer waited for, steady;
    /// `Int64.max`: none is.
    private(set) var catchUpEndsMillis: Int64 = .max

    var nextDeadlineMillis: Int64 { min(self.nextMarkerMillis, self.catchUpEndsMillis) }

    /// Whether a partition catches up.
    var isCatchingUp: Bool { self.catchUpEndsMillis != .max }

    mutating func noteMarkerDue(_ dueMillis: Int64) { self.nextMarkerMillis = min(self.nextMarkerMillis, dueMillis) }
    mutating func noteCatchUpEnd(_ endsMillis: Int64) {
        self.catchUpEndsMillis = min(self.catchUpEndsMillis, endsMillis)
    }

    /// Begins a round in which all markers are looked at.
    mutating func beginMarkerRound() { self.nextMarkerMillis = .max }
    /// Begins a round in which all partitions that catch up are looked at.
    mutating func beginCatchUpRound() { self.catchUpEndsMillis = .max }

    /// Watches a partition for the end of the step it has taken, which is to be reported.
    mutating func watch(_ partition: PartitionIndex) {
        if !self.watched.contains(partition) { self.watched.append(partition) }
    }

    mutating func unwatch(_ partition: PartitionIndex) { self.watched.removeAll { $0 == partition } }
}
