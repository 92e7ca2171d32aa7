import PushModel

/// What a slot has taken of the topic `routed`. Few slots take anything.
struct RoutedPositions: Equatable {
    /// Offset of the last record taken; -1: none.
    var appliedOffset: Int64 = -1
    /// Where the last record taken first lay.
    var appliedOrigin = Self.nowhere
    /// Where the last record from another partition first lay: a publisher changes partitions when somebody adds some.
    var formerOrigin = Self.nowhere

    static let nowhere = SourcePosition(topic: 0, partition: -1, offset: -1)

    /// Whether the record that first lay there was taken, or a later one of that log.
    func covers(_ origin: SourcePosition) -> Bool {
        (self.appliedOrigin.isOfSameLog(as: origin) && origin.offset <= self.appliedOrigin.offset)
            || (self.formerOrigin.isOfSameLog(as: origin) && origin.offset <= self.formerOrigin.offset)
    }

    /// Notes where the record just taken first lay.
    mutating func note(_ origin: SourcePosition) {
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
