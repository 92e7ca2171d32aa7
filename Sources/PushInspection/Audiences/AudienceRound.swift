/// The pushes that brought one version to the members of an audience.
public struct AudienceRound: Equatable, Sendable {
    /// Number of the round, counted from 1.
    let number: Int
    /// `aps.timestamp` of the version, seconds since 1970; `nil`: its pushes cannot be read.
    public let stampSeconds: Int64?
    /// `aps.event` of the first push.
    public let event: String
    /// When the first of the pushes arrived, milliseconds since 1970.
    public let firstMillis: Int64
    /// When the last of the pushes arrived, milliseconds since 1970.
    public private(set) var lastMillis: Int64
    /// Number of pushes. A push that waited for its phone is counted once.
    public private(set) var pushCount = 0
    /// Number of pushes by their verdict, without pushes that wait for their phones: see `SimulatedAudience.verdicts`.
    public private(set) var counts: [PushVerdict.Word: Int] = [:]

    init(number: Int, stampSeconds: Int64?, event: String, atMillis: Int64) {
        self.number = number
        self.stampSeconds = stampSeconds
        self.event = event
        (self.firstMillis, self.lastMillis) = (atMillis, atMillis)
    }

    /// Counts what became of a push.
    /// - Parameter isNew: whether the push is counted for the first time. `false` if it was counted as waiting before.
    mutating func count(_ word: PushVerdict.Word, atMillis: Int64, isNew: Bool) {
        if word != .waiting { self.counts[word, default: 0] += 1 }
        guard isNew else { return }
        self.pushCount += 1
        self.lastMillis = max(self.lastMillis, atMillis)
    }
}

extension AudienceRound {
    /// The round as JSON for the page and the API.
    /// - Parameter verdicts: number of pushes by their verdict, with those that wait for their phones now.
    func json(_ verdicts: [PushVerdict.Word: Int]) -> JSONTree {
        [
            "stamp": self.stampSeconds.map { .integer($0) } ?? .null, "event": .string(self.event),
            "firstMillis": .integer(self.firstMillis), "tookMillis": .integer(self.lastMillis - self.firstMillis),
            "pushes": .integer(self.pushCount),
            "verdicts": .array(
                PushVerdict.Word.allCases.compactMap { word in
                    verdicts[word].map { ["word": .string(word.rawValue), "count": .integer($0)] }
                }),
            // Pushes that waited for a phone and never reached it: a newer push replaced them, or they expired.
            "dropped": .integer(self.pushCount - verdicts.values.reduce(0, +)),
        ]
    }
}
