public import PushEngine
import PushModel

/// Offsets that may be committed, until they are handed on together.
public struct CommitGathering: Sendable {
    private var positions: [CommitPosition] = []
    /// Empty between two calls, and filled again and again.
    private var newer: [CommitPosition] = []
    /// When they are due, steady; `nil`: nothing has happened since the last.
    private(set) var dueMillis: Int64?

    /// Nothing gathered.
    public init() {}

    /// Something happened: offsets that became free by it wait so long for others.
    mutating func wait(untilMillis: Int64) {
        if self.dueMillis == nil { self.dueMillis = untilMillis }
    }

    /// Takes over what has become possible.
    mutating func gather(from engine: inout ShardEngine, now: EngineTime) {
        engine.takeCommits(into: &self.newer, now: now)
        self.add(self.newer)
        self.newer.removeAll(keepingCapacity: true)
    }

    /// The newest of a partition's topic counts.
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
    ///   - waiting: what had been gathered for them and not been sent.
    ///   - released: what their shards gave at the end, which is newer.
    public static func last(waiting: [CommitPosition], released: [CommitPosition]) -> [CommitPosition] {
        var gathering = CommitGathering()
        gathering.add(waiting)
        gathering.add(released)
        return gathering.takeAll()
    }

    /// Hands over everything gathered, and is empty then.
    public mutating func takeAll() -> [CommitPosition] {
        self.dueMillis = nil
        defer { self.positions = [] }
        return self.positions
    }

    /// Those of partitions that leave; they are not handed on with the others.
    mutating func take(of partitions: [Int32]) -> [CommitPosition] {
        let taken = self.positions.filter { partitions.contains($0.partition) }
        self.positions.removeAll { partitions.contains($0.partition) }
        return taken
    }
}
