/// Records of one log that were read lately, by place and time: one for each time that its queue was read, not one for each record.
///
/// A commit tells the newest of them below its offset. Bounded: of many, every second one is forgotten.
public struct RecordSamples: Sendable {
    /// By offset, ascending.
    private var samples: [PositionNote.Sample] = []
    private static let countMax = 64

    /// - Parameter first: what the former owner has told, and was found to be true.
    public init(_ first: PositionNote.Sample? = nil) {
        if let first { self.samples.append(first) }
    }

    /// The last record of those that one read brought. One without a time is no sign.
    public mutating func note(_ sample: PositionNote.Sample) {
        guard sample.millis >= 0, sample.offset > self.samples.last?.offset ?? -1 else { return }
        if self.samples.count == Self.countMax {
            self.samples = stride(from: 0, to: self.samples.count, by: 2).map { self.samples[$0] }
        }
        self.samples.append(sample)
    }

    /// The newest record below `nextOffset`. Commits do not go back, so that older ones are forgotten.
    public mutating func newest(below nextOffset: Int64) -> PositionNote.Sample? {
        guard let index = self.samples.lastIndex(where: { $0.offset < nextOffset }) else { return nil }
        if index > 0 { self.samples.removeSubrange(..<index) }
        return self.samples.first
    }

    /// The newest of all: what lies closest to where reading goes on.
    public var last: PositionNote.Sample? { self.samples.last }
}
