/// The pushes that brought one version to the members of an audience.
public struct AudienceRound: Equatable, Sendable {
    /// `aps.timestamp` of the version, seconds since 1970; `nil`: its pushes cannot be read.
    public let stampSeconds: Int64?
    /// `aps.event` of the first push.
    public let event: String
    /// When the first of the pushes arrived, milliseconds since 1970.
    public let firstMillis: Int64
    /// When the last of them came, milliseconds since 1970.
    public private(set) var lastMillis: Int64
    /// Pushes by what became of them.
    public private(set) var counts: [PushVerdict.Word: Int] = [:]

    init(stampSeconds: Int64?, event: String, atMillis: Int64) {
        self.stampSeconds = stampSeconds
        self.event = event
        (self.firstMillis, self.lastMillis) = (atMillis, atMillis)
    }

    mutating func count(_ word: PushVerdict.Word, atMillis: Int64) {
        self.counts[word, default: 0] += 1
        self.lastMillis = max(self.lastMillis, atMillis)
    }
}

extension AudienceRound {
    /// For the page and the API.
    public var json: JSONTree {
        [
            "stamp": self.stampSeconds.map { .integer($0) } ?? .null, "event": .string(self.event),
            "firstMillis": .integer(self.firstMillis), "tookMillis": .integer(self.lastMillis - self.firstMillis),
            "pushes": .integer(self.counts.values.reduce(0, +)),
            "verdicts": .array(
                PushVerdict.Word.allCases.compactMap { word in
                    self.counts[word].map { ["word": .string(word.rawValue), "count": .integer($0)] }
                }),
        ]
    }
}
