/// A record that its producer's client put on another partition than the one its key belongs to (contract §1).
public struct Misplacement: Sendable, Hashable {
    /// Index of the input topic.
    public var topic: UInt16
    /// Where it lay.
    public var partition: Int32
    /// The record's offset in that partition.
    public var offset: Int64
    /// Where records of its key belong.
    public var properPartition: Int32

    public init(topic: UInt16, partition: Int32, offset: Int64, properPartition: Int32) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.properPartition = properPartition
    }
}

/// Keeps the first misplaced record of each input topic, to be warned about once.
struct PlacementWatch {
    private var isKnown: [Bool] = []
    private(set) var waiting: [Misplacement] = []

    mutating func saw(_ misplacement: Misplacement) {
        let topic = Int(misplacement.topic)
        while self.isKnown.count <= topic { self.isKnown.append(false) }
        guard !self.isKnown[topic] else { return }
        self.isKnown[topic] = true
        self.waiting.append(misplacement)
    }

    mutating func take() -> [Misplacement] {
        defer { self.waiting = [] }
        return self.waiting
    }
}
