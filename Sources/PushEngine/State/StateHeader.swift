public import PushModel

/// The header of a record of `state` that a restore needs. All other headers are ignored.
public enum StateHeader: Equatable, Sendable {
    /// `RecordHeader.epoch`, which only a tombstone has.
    case epoch(Int64)
    /// `RecordHeader.takeovers`, of a marker that confirms its owner's first one, or that repairs a gap.
    case takeovers(Int64)
    /// `RecordHeader.acceptedEnd`, of a marker with which a person has accepted that `state` is lost.
    case acceptedEnd(Int64)
    /// `RecordHeader.released`, of the last marker of an owner that gave the partition back in good order.
    case released

    /// Reads the header of a record; `nil`: the record has none of these headers, or its value is not a number.
    /// - Parameters:
    ///   - isTombstone: whether the record's value is null.
    ///   - number: returns the number in a header; `nil`: the record does not have the header.
    public init?(isTombstone: Bool, number: (RecordHeader) -> Int64?) {
        if isTombstone {
            guard let epoch = number(.epoch) else { return nil }
            self = .epoch(epoch)
        } else if let takeovers = number(.takeovers) {
            self = .takeovers(takeovers)
        } else if number(.released) != nil {
            self = .released
        } else if let end = number(.acceptedEnd) {
            self = .acceptedEnd(end)
        } else {
            return nil
        }
    }
}
