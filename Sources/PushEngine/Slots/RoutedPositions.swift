import PushModel

/// What a slot has taken of the routed topic: few slots take anything.
struct RoutedPositions: Equatable {
    /// Offset of the last one taken; -1: none.
    var appliedOffset: Int64 = -1
    /// Where it first lay.
    var appliedOrigin = Self.nowhere
    /// Where the last one from another partition than that first lay: a publisher goes over when somebody adds partitions.
    var formerOrigin = Self.nowhere

    static let nowhere = SourcePosition(topic: 0, partition: -1, offset: -1)

    /// Whether the record that first lay there was taken, or one that lay behind it.
    func covers(_ origin: SourcePosition) -> Bool {
        (self.appliedOrigin.isOfSameLog(as: origin) && origin.offset <= self.appliedOrigin.offset)
            || (self.formerOrigin.isOfSameLog(as: origin) && origin.offset <= self.formerOrigin.offset)
    }

    /// Notes where the record first lay that has just been taken.
    mutating func note(_ origin: SourcePosition) {
        if !self.appliedOrigin.isOfSameLog(as: origin) { self.formerOrigin = self.appliedOrigin }
        self.appliedOrigin = origin
    }
}

extension SourcePosition {
    /// Whether offsets of the two can be compared.
    func isOfSameLog(as other: SourcePosition) -> Bool {
        self.topic == other.topic && self.partition == other.partition
    }
}
