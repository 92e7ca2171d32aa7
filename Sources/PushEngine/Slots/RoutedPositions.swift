import PushModel

/// What a slot has taken of the topic `routed`. Few slots take records of this topic. A record's first position is
/// where it was stored before it was forwarded.
struct RoutedPositions: Equatable {
    /// Offset of the last record taken; -1: none.
    var appliedOffset: Int64 = -1
    /// First position of the last record taken.
    var appliedOrigin = Self.nowhere
    /// First position of the last record that came from another log than `appliedOrigin`. A publisher may choose
    /// another partition for a key after partitions were added.
    var formerOrigin = Self.nowhere

    static let nowhere = SourcePosition(topic: 0, partition: -1, offset: -1)

    /// Whether the slot has taken the record with this first position, or a later record of the same log.
    func covers(_ origin: SourcePosition) -> Bool {
        (self.appliedOrigin.isOfSameLog(as: origin) && origin.offset <= self.appliedOrigin.offset)
            || (self.formerOrigin.isOfSameLog(as: origin) && origin.offset <= self.formerOrigin.offset)
    }

    /// Remembers the first position of the record just taken.
    mutating func add(_ origin: SourcePosition) {
        if !self.appliedOrigin.isOfSameLog(as: origin) { self.formerOrigin = self.appliedOrigin }
        self.appliedOrigin = origin
    }
}

extension SourcePosition {
    /// Whether the offsets of the two positions can be compared.
    func isOfSameLog(as other: SourcePosition) -> Bool {
        self.topic == other.topic && self.partition == other.partition
    }
}
