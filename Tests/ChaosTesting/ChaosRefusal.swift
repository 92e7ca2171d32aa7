import KafkaLog

/// A time in which Kafka refused some records for good.
struct ChaosRefusal: Equatable {
    enum Way: Equatable {
        /// Records of more than `byteCountMax` with their batch: `max.message.bytes` was lowered.
        case size
        /// Records without a key: the topic was said to be compacted.
        case keyless
        /// The first requests to come, up to a number: the embedded Kafka was told to refuse them, with one of Kafka's error codes.
        case anything(code: Int, count: Int)
    }

    /// What was refused is refused by all of these.
    var topics: [TopicRole]
    var way: Way
    /// Milliseconds since 1970.
    var fromMillis: Int64 = 0
    /// When it was taken away, or `.max`.
    var toMillis = Int64.max

    /// Below what the largest events of `ChaosTraffic` need, above all others.
    static let byteCountMax = 2_000
    /// A record may be on its way that long before, and be judged by a limit that was read before for so long after.
    private static let slackMillis: Int64 = 30_000

    /// What is refused, by a number.
    static func drawn(_ choice: Int, kafkaIsEmbedded: Bool) -> ChaosRefusal {
        if kafkaIsEmbedded {
            // Kafka's MESSAGE_TOO_LARGE and INVALID_RECORD. A broker of its own leads each of these topics.
            let code = choice / 2 % 2 == 0 ? 10 : 87
            return ChaosRefusal(
                topics: [choice % 2 == 0 ? .deadLetters : .state], way: .anything(code: code, count: 4 + choice % 9))
        }
        let all: [ChaosRefusal] = [
            .init(topics: [.routed], way: .size), .init(topics: [.routed, .deadLetters], way: .size),
            .init(topics: [.deadLetters], way: .size), .init(topics: [.state], way: .size),
            .init(topics: [.outcomes], way: .keyless), .init(topics: [.deadLetters], way: .keyless),
        ]
        return all[choice % all.count]
    }

    /// Whether it may have been met by what was written then, milliseconds since 1970.
    func covers(_ millis: Int64) -> Bool {
        millis >= self.fromMillis - Self.slackMillis && millis - Self.slackMillis <= self.toMillis
    }
}
