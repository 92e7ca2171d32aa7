/// Records of one log that were read lately, by offset and time: one for each read of its queue, not one for each
/// record.
///
/// A commit reports the newest of them below its offset. They are limited: of many, every second one is forgotten.
public struct RecordSamples: Sendable {
    /// The samples by offset, ascending.
    private var samples: [PositionNote.Sample] = []
    private static let countMax = 64

    /// - Parameter first: what the former owner has reported, and was found to be true.
    public init(_ first: PositionNote.Sample? = nil) {
        if let first { self.samples.append(first) }
    }

    /// Notes the last record of one read. One without a time proves nothing.
    public mutating func note(_ sample: PositionNote.Sample) {
        guard sample.millis >= 0, sample.offset > self.samples.last?.offset ?? -1 else { return }
        if self.samples.count == Self.countMax {
            self.samples = stride(from: 0, to: self.samples.count, by: 2).map { self.samples[$0] }
        }
        self.samples.append(sample)
    }

    /// The newest record below `nextOffset`. Commits do not go back, so older ones are forgotten.
    public mutating func newest(below nextOffset: Int64) -> PositionNote.Sample? {
        guard let index = self.samples.lastIndex(where: { $0.offset < nextOffset }) else { return nil }
        if index > 0 { self.samples.removeSubrange(..<index) }
        return self.samples.first
    }

    /// The newest of all, closest to where reading continues.
    public var last: PositionNote.Sample? { self.samples.last }
}
