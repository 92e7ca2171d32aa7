/// Keeps the times at which work on ownership is due: markers have to be written again, or partitions catch up. It also
/// lists the partitions that wait for a step that has to be reported to the loop.
///
/// What is known of a single partition is in `PartitionState`. Only the earliest of all times is kept here.
struct Ownership {
    /// Partitions on their way in or out. Each waits for something that `ShardEngine.takeActions` reports.
    private(set) var watched: [PartitionIndex] = []
    /// The earliest time at which a marker is written again (steady clock); `Int64.max`: never.
    private(set) var nextMarkerMillis: Int64 = .max
    /// When the first partition stops waiting for the backlog that its logs had at assignment (steady clock);
    /// `Int64.max`: none waits.
    private(set) var catchUpEndsMillis: Int64 = .max

    var nextDeadlineMillis: Int64 { min(self.nextMarkerMillis, self.catchUpEndsMillis) }

    /// Whether a partition catches up.
    var isCatchingUp: Bool { self.catchUpEndsMillis != .max }

    mutating func scheduleMarker(_ dueMillis: Int64) { self.nextMarkerMillis = min(self.nextMarkerMillis, dueMillis) }
    mutating func scheduleCatchUpEnd(_ endsMillis: Int64) {
        self.catchUpEndsMillis = min(self.catchUpEndsMillis, endsMillis)
    }

    /// Begins a round in which all markers are looked at.
    mutating func beginMarkerRound() { self.nextMarkerMillis = .max }
    /// Begins a round in which all partitions that catch up are looked at.
    mutating func beginCatchUpRound() { self.catchUpEndsMillis = .max }

    /// Watches a partition for the end of its present step, so that the end is reported.
    mutating func watch(_ partition: PartitionIndex) {
        if !self.watched.contains(partition) { self.watched.append(partition) }
    }

    mutating func unwatch(_ partition: PartitionIndex) { self.watched.removeAll { $0 == partition } }
}
