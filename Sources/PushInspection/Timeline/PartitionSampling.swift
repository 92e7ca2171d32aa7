import PushModel

/// The partitions that are read of the events topic and of the outcomes topic, which have as many.
public struct ReadPartitions: Equatable, Sendable {
    /// Partitions of the events topic.
    public var events: Set<Int32>
    /// Partitions of the outcomes topic.
    public var outcomes: Set<Int32>
}

/// Which partitions are read while a flood is sampled: those of a few activities. A key lies in the same partition of the events and of the
/// outcomes, so that what is said of an activity is read whole.
struct PartitionSampling: Sendable {
    /// Number of partitions of either topic. 1: there is nothing to choose.
    let partitionCount: Int32
    /// Those of the sample.
    private(set) var chosen: Set<Int32> = []
    /// What is read when nobody looks at anything.
    private var home: Int32?
    /// Partitions with events of the sample whose keys belong to others, and until when these are read.
    private var strayUntilMillis: [Int32: Int64] = [:]
    /// By the partition of their outcomes.
    private var awaited: [Int32: Awaited] = [:]

    /// Events that are listed and have no outcome yet.
    private struct Awaited {
        var count = 0
        /// When one of them was listed last.
        var listedMillis: Int64 = .min
    }

    /// How long a partition is read in which an event was found whose key belongs to another, milliseconds.
    static let strayMillis: Int64 = 30_000
    /// How long outcomes are read for events that were listed before their partition was left, milliseconds. An event may wait for a token for a day.
    static let outcomeMillis: Int64 = 10_000

    init(partitionCount: Int) { self.partitionCount = Int32(clamping: max(1, partitionCount)) }

    /// Where a producer that partitions as Java's clients do puts a key.
    func partition(ofKey key: [UInt8]) -> Int32 { Murmur2.partition(key: key.span, count: self.partitionCount) }

    func partition(of activity: String) -> Int32 { self.partition(ofKey: Array(activity.utf8)) }

    /// Whether an activity lies in a chosen partition.
    func holds(_ activity: String) -> Bool { self.chosen.contains(self.partition(of: activity)) }

    // MARK: Choosing

    /// The partitions of what somebody looks at; where nobody does, that of the newest phone.
    /// - Parameter phones: the activities of the phones that are known, the newest last.
    mutating func choose(looked: Set<String>, phones: [String]) {
        self.chosen = Set(looked.map { self.partition(of: $0) })
        guard self.chosen.isEmpty else { return }
        // It stays as long as it has phones: where many register, each second has another newest one, and of none the whole way would be seen.
        let phonePartitions = phones.map { self.partition(of: $0) }
        if self.home.map({ !phonePartitions.contains($0) }) ?? true {
            self.home = phonePartitions.last ?? self.home ?? 0
        }
        if let home = self.home { self.chosen = [home] }
    }

    /// All is read: the next choice begins anew.
    mutating func chooseAll() { (self.chosen, self.home) = ([], nil) }

    /// An event of the sample lay in another partition than its outcome. Its producer partitions in another way, and puts the next one there, too.
    mutating func strayed(event: Int32, outcome: Int32, nowMillis: Int64) {
        guard event != outcome, (0..<self.partitionCount).contains(event) else { return }
        self.strayUntilMillis[event] = nowMillis + Self.strayMillis
    }

    // MARK: Waiting for outcomes

    /// The number of listed events without an outcome yet has changed.
    mutating func count(awaited key: [UInt8], by difference: Int) {
        self.awaited[self.partition(ofKey: key), default: Awaited()].count += difference
    }

    mutating func listed(_ key: [UInt8], nowMillis: Int64) {
        self.awaited[self.partition(ofKey: key), default: Awaited()].listedMillis = nowMillis
    }

    func awaits(outcomesIn partition: Int32) -> Bool { (self.awaited[partition]?.count ?? 0) > 0 }

    // MARK: What is read

    func read(nowMillis: Int64) -> ReadPartitions {
        let strays = self.strayUntilMillis.filter { $0.value > nowMillis }.keys
        let awaited = self.awaited.filter {
            $0.value.count > 0 && nowMillis - $0.value.listedMillis < Self.outcomeMillis
        }.keys
        return ReadPartitions(events: self.chosen.union(strays), outcomes: self.chosen.union(awaited))
    }
}
