import PushModel

/// The partitions of the events topic and of the outcomes topic that are read. Both topics have the same number of
/// partitions.
public struct ReadPartitions: Equatable, Sendable {
    /// Partitions of the events topic.
    public var events: Set<Int32>
    /// Partitions of the outcomes topic.
    public var outcomes: Set<Int32>
}

/// Chooses the partitions that are read while a flood is sampled: those of a few activities. A key has the same
/// partition in both topics, so everything about such an activity is read.
struct PartitionSampling: Sendable {
    /// Number of partitions of each topic. With 1, there is no choice.
    let partitionCount: Int32
    /// Partitions of the sample.
    private(set) var chosen: Set<Int32> = []
    /// The partition that is read when nobody looks at anything.
    private var home: Int32?
    /// Partitions in which events of the sample were found although the events' keys belong to other partitions. The
    /// values say until when each is read.
    private var strayUntilMillis: [Int32: Int64] = [:]
    /// Events that wait for outcomes, by the partition of their outcomes.
    private var awaited: [Int32: Awaited] = [:]

    /// Events that are listed and have no outcome yet.
    private struct Awaited {
        var count = 0
        /// When the last of the awaited events was listed.
        var listedMillis: Int64 = .min
    }

    /// How long to read a partition in which an event was found whose key belongs to another partition, in
    /// milliseconds.
    static let strayMillis: Int64 = 30_000
    /// How long to read the outcomes of a partition that has left the sample, in milliseconds. Its listed events may
    /// get no outcome in that time: an event may wait for a token for a day.
    static let outcomeMillis: Int64 = 10_000

    init(partitionCount: Int) { self.partitionCount = Int32(clamping: max(1, partitionCount)) }

    /// The partition of a key for a producer that partitions as Java's clients do.
    func partition(ofKey key: [UInt8]) -> Int32 { Murmur2.partition(key: key.span, count: self.partitionCount) }

    func partition(of activity: String) -> Int32 { self.partition(ofKey: Array(activity.utf8)) }

    /// Whether an activity's partition is chosen.
    func holds(_ activity: String) -> Bool { self.chosen.contains(self.partition(of: activity)) }

    // MARK: Choosing

    /// Chooses the partitions of the activities that somebody looks at. If nobody looks, chooses the partition
    /// of one phone, and keeps it while it has phones.
    /// - Parameter phones: the activities of the known phones, the newest last.
    mutating func choose(looked: Set<String>, phones: [String]) {
        self.chosen = Set(looked.map { self.partition(of: $0) })
        guard self.chosen.isEmpty else { return }
        // Keep the partition while it has phones. Where many phones register, the newest one changes every second, and
        // no activity would be seen from beginning to end.
        let phonePartitions = phones.map { self.partition(of: $0) }
        if self.home.map({ !phonePartitions.contains($0) }) ?? true {
            self.home = phonePartitions.last ?? self.home ?? 0
        }
        if let home = self.home { self.chosen = [home] }
    }

    /// Chooses all partitions. The next choice starts over.
    mutating func chooseAll() { (self.chosen, self.home) = ([], nil) }

    /// Remembers an event of the sample that was in another partition than its outcome. Its producer partitions
    /// differently, and will put the next event there, too.
    mutating func strayed(event: Int32, outcome: Int32, nowMillis: Int64) {
        guard event != outcome, (0..<self.partitionCount).contains(event) else { return }
        self.strayUntilMillis[event] = nowMillis + Self.strayMillis
    }

    // MARK: Waiting for outcomes

    /// Changes the number of listed events without an outcome.
    mutating func count(awaited key: [UInt8], by difference: Int) {
        self.awaited[self.partition(ofKey: key), default: Awaited()].count += difference
    }

    mutating func listed(_ key: [UInt8], nowMillis: Int64) {
        self.awaited[self.partition(ofKey: key), default: Awaited()].listedMillis = nowMillis
    }

    func awaits(outcomesIn partition: Int32) -> Bool { (self.awaited[partition]?.count ?? 0) > 0 }

    // MARK: Choice of partitions

    func read(nowMillis: Int64) -> ReadPartitions {
        let strays = self.strayUntilMillis.filter { $0.value > nowMillis }.keys
        let awaited = self.awaited.filter {
            $0.value.count > 0 && nowMillis - $0.value.listedMillis < Self.outcomeMillis
        }.keys
        return ReadPartitions(events: self.chosen.union(strays), outcomes: self.chosen.union(awaited))
    }
}
