/// Keeps the first of something seen in each input topic, to be warned about once.
struct FirstOfTopics<Sighting> {
    private var isKnown: [Bool] = []
    private(set) var waiting: [Sighting] = []

    mutating func saw(_ sighting: Sighting, in topic: UInt16) {
        while self.isKnown.count <= Int(topic) { self.isKnown.append(false) }
        guard !self.isKnown[Int(topic)] else { return }
        self.isKnown[Int(topic)] = true
        self.waiting.append(sighting)
    }

    mutating func take() -> [Sighting] {
        defer { self.waiting = [] }
        return self.waiting
    }
}

/// A record whose own time cannot be one (`RecordTime`): the worker's clock stands in for it.
public struct UntimedRecord: Sendable, Hashable {
    /// Index of the input topic.
    public var topic: UInt16
    /// Where it lay.
    public var partition: Int32
    /// The record's offset in that partition.
    public var offset: Int64
    /// What it says its time is, milliseconds since 1970.
    public var timestampMillis: Int64

    public init(topic: UInt16, partition: Int32, offset: Int64, timestampMillis: Int64) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestampMillis = timestampMillis
    }
}
