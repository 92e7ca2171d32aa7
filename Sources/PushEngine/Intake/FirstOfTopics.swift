/// Keeps the first occurrence of something in each input topic, so that there is one warning per topic.
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

/// A record whose own time is impossible (`RecordTime`). The time of the worker's clock is used instead.
public struct UntimedRecord: Sendable, Hashable {
    /// Index of the input topic.
    public var topic: UInt16
    /// The partition of the record.
    public var partition: Int32
    /// The record's offset in that partition.
    public var offset: Int64
    /// The time that the record claims, milliseconds since 1970.
    public var timestampMillis: Int64

    public init(topic: UInt16, partition: Int32, offset: Int64, timestampMillis: Int64) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestampMillis = timestampMillis
    }
}
