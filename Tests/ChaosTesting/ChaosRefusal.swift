import KafkaLog

/// A period in which Kafka refuses some records for good.
struct ChaosRefusal: Equatable {
    enum Way: Equatable {
        /// Kafka refuses batches of more than `byteCountMax` bytes, because `max.message.bytes` was lowered.
        case size
        /// Kafka refuses records without a key, because the topic was declared compacted.
        case keyless
        /// The embedded Kafka refuses the first `count` requests, with one of Kafka's error codes.
        case anything(code: Int, count: Int)
    }

    /// Topics that refuse records, all of them in the same way.
    var topics: [TopicRole]
    var way: Way
    /// When the refusal began, milliseconds since 1970.
    var fromMillis: Int64 = 0
    /// When the refusal ended, milliseconds since 1970. `.max` means that its end is not known.
    var toMillis = Int64.max

    /// A limit in bytes that only the largest events of `ChaosTraffic` exceed.
    static let byteCountMax = 2_000
    /// A record that was written this long before the refusal may still be refused. A broker may also refuse records
    /// for this long after the refusal ended.
    private static let slackMillis: Int64 = 30_000

    /// The refusal that a random number chooses.
    static func drawn(_ choice: Int, kafkaIsEmbedded: Bool) -> ChaosRefusal {
        if kafkaIsEmbedded {
            // Code 10 is Kafka's MESSAGE_TOO_LARGE, and 87 is its INVALID_RECORD. Each topic that is chosen here has
            // its own leading broker, so its requests can fail alone.
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

    /// Whether a record that was written at `millis`, milliseconds since 1970, may have met the refusal.
    func covers(_ millis: Int64) -> Bool {
        millis >= self.fromMillis - Self.slackMillis && millis - Self.slackMillis <= self.toMillis
    }
}
