import CRDKafka

/// An error of Kafka or librdkafka, and the object that the error is about. Nothing that a broker sends makes this
/// module trap.
public struct KafkaError: Error, Sendable, Hashable {
    /// A value of librdkafka's `rd_kafka_resp_err_t`. Codes from -1 up come from the broker (Kafka protocol), lower
    /// ones from librdkafka.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The number as librdkafka and the Kafka protocol write it.
        public var rawValue: Int32
        public init(rawValue: Int32) { self.rawValue = rawValue }
    }

    /// The object that the error is about.
    public enum Subject: Sendable, Hashable {
        /// The client as a whole: connection, authentication, a fatal state.
        case client
        /// One librdkafka property. The value of a secret is replaced before it gets here.
        case setting(name: String, value: String)
        /// The topic of this name.
        case topic(String)
        /// One partition.
        case partition(TopicPartition)
        /// One offset of a partition.
        case position(TopicPartitionOffset)
        /// The consumer group of this name.
        case group(String)
    }

    /// The error's code, by which a program can decide what to do.
    public var code: Code
    /// The code's short name in librdkafka, such as `_TIMED_OUT` or `UNKNOWN_TOPIC_OR_PART`.
    public var name: String
    /// One sentence for an operator, without secrets.
    public var text: String
    /// Whether the same call can succeed later although nobody changes anything.
    public var isRetriable: Bool
    /// Whether the client can no longer be used: close it and make another. Idempotent producers and fenced static
    /// members can have such errors.
    public var isFatal: Bool
    /// The object that the error is about.
    public var subject: Subject
    /// The right that the refused operation needs. Kafka's authorization errors do not name it, but `remedy` does.
    public var right: KafkaRight?

    /// Makes an error with this code. The code decides the `name`. It also decides `text` and `isRetriable` where they
    /// are `nil`.
    public init(
        code: Code, text: String? = nil, isRetriable: Bool? = nil, isFatal: Bool = false, subject: Subject = .client
    ) {
        let raw = rd_kafka_resp_err_t(rawValue: code.rawValue)
        self.code = code
        self.name = String(cString: rd_kafka_err2name(raw))
        let text = text.map { Self.foreign($0) ?? $0 } ?? String(cString: rd_kafka_err2str(raw))
        // `description` adds words after the text, and some of librdkafka's reasons end with a line break.
        var sentence = text[...]
        while let last = sentence.last, last.isNewline || last == " " { sentence.removeLast() }
        self.text = String(sentence.hasSuffix(".") ? sentence.dropLast() : sentence)
        self.isRetriable = isRetriable ?? (!isFatal && code.isUsuallyRetriable)
        self.isFatal = isFatal
        self.subject = subject
    }
}

extension KafkaError.Code {
    /// librdkafka gave up waiting (`_TIMED_OUT`).
    public static let timedOut = Self(rawValue: -185)
    /// The connection broke (`_TRANSPORT`).
    public static let transport = Self(rawValue: -195)
    /// No broker can be reached (`_ALL_BROKERS_DOWN`).
    public static let allBrokersDown = Self(rawValue: -187)
    /// A message was not delivered within `message.timeout.ms` (`_MSG_TIMED_OUT`).
    public static let messageTimedOut = Self(rawValue: -192)
    /// The producer's queue is full (`_QUEUE_FULL`).
    public static let queueFull = Self(rawValue: -184)
    /// A setting or an argument is not acceptable (`_INVALID_ARG`).
    public static let invalidArgument = Self(rawValue: -186)
    /// The broker does not offer the request at all (`_UNSUPPORTED_FEATURE`). The embedded Kafka, for example, offers
    /// no administration.
    public static let unsupportedFeature = Self(rawValue: -165)
    /// The position to read from is outside the log and `auto.offset.reset` is `error` (`_AUTO_OFFSET_RESET`).
    public static let autoOffsetReset = Self(rawValue: -140)
    /// The handle is closed or closing (`_DESTROY`).
    public static let closed = Self(rawValue: -197)
    /// librdkafka reports that the login failed, without an error code of the broker (`_AUTHENTICATION`).
    public static let authentication = Self(rawValue: -169)
    /// TLS failed, or could not be set up (`_SSL`).
    public static let ssl = Self(rawValue: -181)
    /// The user lacks the right to this operation on the topic (`TOPIC_AUTHORIZATION_FAILED`).
    public static let topicAuthorizationFailed = Self(rawValue: 29)
    /// The user lacks the right to use the consumer group (`GROUP_AUTHORIZATION_FAILED`).
    public static let groupAuthorizationFailed = Self(rawValue: 30)
    /// The user lacks the right to this operation on the cluster (`CLUSTER_AUTHORIZATION_FAILED`).
    public static let clusterAuthorizationFailed = Self(rawValue: 31)
    /// The broker does not offer the SASL mechanism that was asked for.
    public static let unsupportedSASLMechanism = Self(rawValue: 33)
    /// The broker refused the user or the password (`SASL_AUTHENTICATION_FAILED`).
    public static let saslAuthenticationFailed = Self(rawValue: 58)
    /// The broker does not know the topic or the partition yet, or no longer.
    public static let unknownTopicOrPartition = Self(rawValue: 3)
    /// librdkafka reports that the topic's metadata no longer has the partition (`_UNKNOWN_PARTITION`).
    public static let unknownPartition = Self(rawValue: -190)
    /// The record is larger than the topic or the broker allows.
    public static let messageTooLarge = Self(rawValue: 10)
    /// The group is coordinated by another broker now.
    public static let notCoordinator = Self(rawValue: 16)
    /// The group has begun a new generation since the member joined.
    public static let illegalGeneration = Self(rawValue: 22)
    /// The group does not know the member, or no longer knows it.
    public static let unknownMember = Self(rawValue: 25)
    /// The group is being rebalanced: the member has to join again.
    public static let rebalanceInProgress = Self(rawValue: 27)
    /// The broker does not accept a setting's value (`INVALID_CONFIG`).
    public static let invalidConfiguration = Self(rawValue: 40)
    /// A policy of the cluster forbids the request (`POLICY_VIOLATION`).
    public static let policyViolation = Self(rawValue: 44)
    /// The group's members use another assignment strategy than this client (`INCONSISTENT_GROUP_PROTOCOL`).
    public static let inconsistentGroupProtocol = Self(rawValue: 23)
    /// The consumer group does not exist (`GROUP_ID_NOT_FOUND`).
    public static let groupIDNotFound = Self(rawValue: 69)
    /// Another process with the same `group.instance.id` has replaced this one.
    public static let fencedInstance = Self(rawValue: 82)

    /// Whether the partition has no leader now, or is led by another broker than the one that was asked. Such an error
    /// usually passes soon.
    var isOfLeader: Bool {
        // LEADER_NOT_AVAILABLE, NOT_LEADER_FOR_PARTITION, REPLICA_NOT_AVAILABLE, FENCED_LEADER_EPOCH,
        // UNKNOWN_LEADER_EPOCH, OFFSET_NOT_AVAILABLE.
        [5, 6, 9, 74, 75, 78].contains(self.rawValue)
    }

    /// Whether errors with this code are usually retriable. librdkafka itself says so only for some errors. For broker
    /// codes this table follows the "retriable" column of Kafka's protocol guide. It also has librdkafka's own codes
    /// for a state that passes.
    var isUsuallyRetriable: Bool {
        switch self.rawValue {
        case -195, -192, -187, -185, -184, -193, -190, -172, -171, -170, -167, -166: true
        case 3, 5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20, 27, 41, 56, 67, 68, 69, 70, 71, 72, 74, 75, 78, 84, 88, 91: true
        default: false
        }
    }
}

extension KafkaError: CustomStringConvertible {
    public var description: String {
        let what =
            switch self.subject {
            case .client: ""
            case .setting(let name, let value): "setting \"\(name)\" = \"\(value)\": "
            case .topic(let topic): "topic \(topic): "
            case .partition(let partition): "\(partition): "
            case .position(let position): "\(position): "
            case .group(let group): "group \(group): "
            }
        let kind = self.isFatal ? ", fatal" : self.isRetriable ? ", retriable" : ""
        return "\(what)\(self.text) (\(self.name)\(kind))" + (self.remedy.map { ": \($0)" } ?? "")
    }
}

extension KafkaError {
    init(_ raw: rd_kafka_resp_err_t, subject: Subject = .client, text: String? = nil) {
        self.init(code: Code(rawValue: raw.rawValue), text: text, subject: subject)
    }

    /// Converts `error` and destroys it.
    init(taking error: OpaquePointer, subject: Subject = .client) {
        self.init(
            code: Code(rawValue: rd_kafka_error_code(error).rawValue),
            text: String(cString: rd_kafka_error_string(error)),
            isRetriable: rd_kafka_error_is_retriable(error) != 0, isFatal: rd_kafka_error_is_fatal(error) != 0,
            subject: subject)
        rd_kafka_error_destroy(error)
    }
}

extension KafkaError.Code {
    /// Finds a code by its number or by its name in librdkafka: `7`, `REQUEST_TIMED_OUT`, `_TRANSPORT`. Upper and lower
    /// case do not matter. `nil` when no code has this name.
    public init?(text: String) {
        if let number = Int32(text) {
            self.init(rawValue: number)
            return
        }
        // librdkafka's own codes are between -200 and -100. The protocol's codes begin at -1, and 2.0.2 knows them up
        // to 97.
        guard
            let found = (Int32(-200)...200).first(where: {
                String(cString: rd_kafka_err2name(rd_kafka_resp_err_t(rawValue: $0))).uppercased() == text.uppercased()
            })
        else { return nil }
        self.init(rawValue: found)
    }
}
