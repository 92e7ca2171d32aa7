public import PushEngine
import PushModel

/// Gathers offsets that may be committed, until they are handed over together.
public struct CommitGathering: Sendable {
    private var positions: [CommitPosition] = []
    /// New offsets during a call. Empty between two calls, and kept to reuse its memory.
    private var newer: [CommitPosition] = []
    /// When the offsets must be handed over, on the steady clock; `nil` if none wait.
    private(set) var dueMillis: Int64?

    /// A gathering without offsets.
    public init() {}

    /// Sets when the offsets must be handed over, unless a time is already set.
    mutating func wait(untilMillis: Int64) {
        if self.dueMillis == nil { self.dueMillis = untilMillis }
    }

    /// Takes from the engine the offsets that may be committed now.
    mutating func gather(from engine: inout ShardEngine, now: EngineTime) {
        engine.takeCommits(into: &self.newer, now: now)
        self.add(self.newer)
        self.newer.removeAll(keepingCapacity: true)
    }

    /// Adds offsets. A newer offset of a topic's partition replaces an older one.
    public mutating func add(_ newer: [CommitPosition]) {
        for commit in newer {
            if let index = self.positions.firstIndex(where: {
                $0.topic == commit.topic && $0.partition == commit.partition
            }) {
                self.positions[index] = commit
            } else {
                self.positions.append(commit)
            }
        }
    }

    /// The last commit of partitions that leave.
    /// - Parameters:
    ///   - waiting: offsets that had been gathered for them and not been sent.
    ///   - released: offsets that their shards gave at the end, which are newer.
    public static func last(waiting: [CommitPosition], released: [CommitPosition]) -> [CommitPosition] {
        var gathering = CommitGathering()
        gathering.add(waiting)
        gathering.add(released)
        return gathering.takeAll()
    }

    /// Removes and returns all gathered offsets.
    public mutating func takeAll() -> [CommitPosition] {
        self.dueMillis = nil
        defer { self.positions = [] }
        return self.positions
    }

    /// Removes and returns the offsets of partitions that leave. They are committed apart from the others.
    mutating func take(of partitions: [Int32]) -> [CommitPosition] {
        let taken = self.positions.filter { partitions.contains($0.partition) }
        self.positions.removeAll { partitions.contains($0.partition) }
        return taken
    }
}
