/// Records of one log that were read lately, by offset and time. Each read of the log's queue adds one sample.
///
/// A commit reports the newest sample below its offset. If there are too many samples, every second one is forgotten.
public struct RecordSamples: Sendable {
    /// The samples by offset, ascending.
    private var samples: [CommitMetadata.Sample] = []
    private static let countMax = 64

    /// - Parameter first: the sample that the former owner's commit contained, after it was found to be right; `nil`:
    ///   none.
    public init(_ first: CommitMetadata.Sample? = nil) {
        if let first { self.samples.append(first) }
    }

    /// Adds the last record of one read. A record without a time is ignored, because it could not be recognised.
    public mutating func add(_ sample: CommitMetadata.Sample) {
        guard sample.millis >= 0, sample.offset > self.samples.last?.offset ?? -1 else { return }
        if self.samples.count == Self.countMax {
            self.samples = stride(from: 0, to: self.samples.count, by: 2).map { self.samples[$0] }
        }
        self.samples.append(sample)
    }

    /// The newest sample below `nextOffset`. Older samples are forgotten, because later commits are not lower.
    public mutating func newest(below nextOffset: Int64) -> CommitMetadata.Sample? {
        guard let index = self.samples.lastIndex(where: { $0.offset < nextOffset }) else { return nil }
        if index > 0 { self.samples.removeSubrange(..<index) }
        return self.samples.first
    }

    /// The newest sample, which is closest to where reading continues.
    public var last: CommitMetadata.Sample? { self.samples.last }
}
