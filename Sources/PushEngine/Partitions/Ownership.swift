/// When something is due about owning partitions: markers that are written again, takeovers that catch up. And which partitions wait for a
/// step that the loop has to be told of.
///
/// What is known of one partition stands in `PartitionState`; of the times only the earliest of all stands here.
struct Ownership {
    /// Partitions on their way in or out: each waits for what `ShardEngine.takeActions` tells of.
    private(set) var watched: [PartitionIndex] = []
    /// The earliest time at which a marker is written again, steady; `Int64.max`: never.
    private(set) var nextMarkerMillis: Int64 = .max
    /// The first time at which a partition that still reads what lay in the log at assignment is not waited for any more, steady;
    /// `Int64.max`: none does.
    private(set) var catchUpEndsMillis: Int64 = .max

    var nextDeadlineMillis: Int64 { min(self.nextMarkerMillis, self.catchUpEndsMillis) }

    /// A partition catches up.
    var isCatchingUp: Bool { self.catchUpEndsMillis != .max }

    mutating func noteMarkerDue(_ dueMillis: Int64) { self.nextMarkerMillis = min(self.nextMarkerMillis, dueMillis) }
    mutating func noteCatchUpEnd(_ endsMillis: Int64) {
        self.catchUpEndsMillis = min(self.catchUpEndsMillis, endsMillis)
    }

    /// All markers are looked at now.
    mutating func beginMarkerRound() { self.nextMarkerMillis = .max }
    /// All that catch up are looked at now.
    mutating func beginCatchUpRound() { self.catchUpEndsMillis = .max }

    /// The partition has taken a step whose end is to be told.
    mutating func watch(_ partition: PartitionIndex) {
        if !self.watched.contains(partition) { self.watched.append(partition) }
    }

    mutating func unwatch(_ partition: PartitionIndex) { self.watched.removeAll { $0 == partition } }
}
