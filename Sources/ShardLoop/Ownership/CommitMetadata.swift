/// The metadata of a commit. The metadata describes the logs that the commit is about, so that the next owner can check
/// whether its logs are the same. The type is pure.
///
/// The text is like `mailboat at=20:1764196000000 state=57 from=0 released=1764196001234`. Unknown values are left out,
/// and words that a later release adds are ignored. The text `mailboat-released=…` of the former release is read, too.
/// The former release ignores the present text.
public struct CommitMetadata: Equatable, Sendable {
    /// A record that this group has read, by its offset and its time.
    public struct Sample: Equatable, Sendable {
        /// The record's offset. It is below the committed offset, usually by one.
        public var offset: Int64
        /// The record's time, milliseconds since 1970.
        public var millis: Int64

        public init(offset: Int64, millis: Int64) {
            self.offset = offset
            self.millis = millis
        }
    }

    /// A record of the same log; `nil` if none is known.
    public var sample: Sample?
    /// The offset after the newest acknowledged record of `state`; `nil` if there was none. Owners' first markers do
    /// not count: only a later record shows that an owner has worked.
    public var stateEnd: Int64?
    /// The offset at which `state` began when its owner took the partition over; `nil` if it is unknown. Compaction
    /// does not change this offset.
    public var stateStart: Int64?
    /// When the owner that released the partition stopped sending, by its wall clock, in milliseconds since 1970. Only
    /// the next owner may use this time, and replaces it at once. Otherwise it could be taken for the time of a later
    /// owner that wrote nothing.
    public var releasedWallMillis: Int64?
    /// Whether a person has moved the offset into another log. The positions in `state` do not apply to that log.
    public var isOfNewLog = false

    /// One record of each of the partition's other input topics, by the topic's name. These samples are kept in the
    /// metadata of other topics, because Kafka deletes the group's offsets of a topic together with the topic.
    public var others: [String: Sample] = [:]

    /// Metadata without any value.
    public init() {}

    /// Number of bytes of `text` beyond which samples of other topics are left out. Brokers accept 4,096 bytes of
    /// metadata.
    private static let byteCountMax = 3_000

    private static let mark = "mailboat"
    private static let formerPrefix = "mailboat-released="

    /// Reads the metadata of a commit. The result is `nil` if there is no metadata, or if another program wrote it.
    public init?(metadata: String?) {
        guard let metadata else { return nil }
        if metadata.hasPrefix(Self.formerPrefix) {
            guard let millis = Self.number(metadata.dropFirst(Self.formerPrefix.count)) else { return nil }
            self.releasedWallMillis = millis
            return
        }
        var words = metadata.split(separator: " ")[...]
        guard words.popFirst().map({ $0 == Self.mark }) ?? false else { return nil }
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            switch (parts[0], parts.count > 1 ? parts[1] : "") {
            case ("at", let text):
                let numbers = text.split(separator: ":", maxSplits: 1).map { Self.number($0) }
                if numbers.count == 2, let offset = numbers[0], let millis = numbers[1] {
                    self.sample = Sample(offset: offset, millis: millis)
                }
            case ("of", let text):
                let parts = text.split(separator: ":")
                if parts.count == 3, let offset = Self.number(parts[1]), let millis = Self.number(parts[2]) {
                    self.others[String(parts[0])] = Sample(offset: offset, millis: millis)
                }
            case ("state", let text): self.stateEnd = Self.number(text)
            case ("from", let text): self.stateStart = Self.number(text)
            case ("released", let text): self.releasedWallMillis = Self.number(text)
            case ("new-log", _): self.isOfNewLog = true
            default: break
            }
        }
    }

    private static func number(_ text: Substring) -> Int64? { Int64(text).flatMap { $0 >= 0 ? $0 : nil } }

    /// The metadata as text: about 100 bytes, and 100 more for each other topic.
    public var text: String {
        var text = Self.mark
        if let sample { text += " at=\(sample.offset):\(sample.millis)" }
        if let stateEnd { text += " state=\(stateEnd)" }
        if let stateStart { text += " from=\(stateStart)" }
        if let releasedWallMillis { text += " released=\(releasedWallMillis)" }
        if self.isOfNewLog { text += " new-log" }
        for (topic, sample) in self.others.sorted(by: { $0.key < $1.key }) {
            let word = " of=\(topic):\(sample.offset):\(sample.millis)"
            if text.utf8.count + word.utf8.count <= Self.byteCountMax { text += word }
        }
        return text
    }
}
