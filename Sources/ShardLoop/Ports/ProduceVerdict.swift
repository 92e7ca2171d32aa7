/// The kind of Kafka's answer to a record that it did not take. Decisions, log lines and metrics use it. Every answer
/// has one of these kinds.
public enum ProduceError: UInt8, Sendable, CaseIterable {
    /// The record, or its batch, is larger than a topic, a segment or the client allows.
    case size
    /// The topic does not accept the record, for example because it is compacted and the record has no key.
    case invalidRecord
    /// The record's time is too far from the broker's.
    case invalidTimestamp
    /// The client's user may not write to the topic.
    case notAuthorized
    /// A rule of the cluster forbids the record.
    case policyViolation
    /// The topic or the partition does not exist.
    case unknownTopic
    /// The broker does not support this version of the request, or of its records.
    case unsupportedVersion
    /// Anything else, such as a broker that is down.
    case other

    /// The kind's name in log lines and metrics.
    public var label: String {
        switch self {
        case .size: "size"
        case .invalidRecord: "invalid-record"
        case .invalidTimestamp: "invalid-timestamp"
        case .notAuthorized: "not-authorized"
        case .policyViolation: "policy-violation"
        case .unknownTopic: "unknown-topic"
        case .unsupportedVersion: "unsupported-version"
        case .other: "other"
        }
    }

    /// The kind that belongs to an error number of the Kafka protocol. Negative numbers are librdkafka's own.
    public init(code: Int32) {
        self =
            switch code {
            // MESSAGE_TOO_LARGE, which librdkafka uses as well; RECORD_LIST_TOO_LARGE: larger than a segment.
            case 10, 18: .size
            case 87: .invalidRecord
            case 32: .invalidTimestamp
            // The user has no right to a topic, to the cluster, or to a transactional id.
            case 29, 31, 53: .notAuthorized
            case 44: .policyViolation
            // The broker's number for an unknown topic or partition, then librdkafka's two numbers for these.
            case 3, -188, -190: .unknownTopic
            // UNSUPPORTED_VERSION, UNSUPPORTED_FOR_MESSAGE_FORMAT, UNSUPPORTED_COMPRESSION_TYPE, librdkafka's _UNSUPPORTED_FEATURE.
            case 35, 43, 76, -165: .unsupportedVersion
            default: .other
            }
    }

    /// Whether the cause is in the record itself, so that Kafka refuses it each time.
    public var isOfTheRecord: Bool {
        switch self {
        case .size, .invalidRecord, .invalidTimestamp: true
        case .notAuthorized, .policyViolation, .unknownTopic, .unsupportedVersion, .other: false
        }
    }
}

/// What an answer of Kafka to one record means. This is the only table that classifies deliveries.
public enum ProduceVerdict: Sendable, Equatable {
    /// The record is in the log.
    case taken
    /// The record is tried again as it is, after a pause.
    case forNow
    /// The record is tried again in a request of its own, because another record may have been the cause.
    case alone
    /// The record is tried again with the present time.
    case withPresentTime
    /// Kafka will never take the record as it is.
    case forGood(ProduceError)
    /// The producer takes no record from now on.
    case fatal

    /// - Parameters:
    ///   - error: the kind of answer; `nil` if Kafka took the record.
    ///   - isFatal: whether the producer has ended.
    ///   - isAlone: whether no other record was in the request.
    ///   - hasPresentTime: whether the record was tried again with the present time.
    public init(_ error: ProduceError?, isFatal: Bool, isAlone: Bool, hasPresentTime: Bool) {
        guard let error else {
            self = .taken
            return
        }
        self =
            switch (error.isOfTheRecord, error) {
            case _ where isFatal: .fatal
            // The cause is outside the record. It may disappear by itself, or a person may change a policy, or add a
            // right, a topic or a broker.
            case (false, _): .forNow
            case (true, _) where !isAlone: .alone
            case (true, .invalidTimestamp) where !hasPresentTime: .withPresentTime
            case (true, _): .forGood(error)
            }
    }
}

/// Why Kafka, or librdkafka, did not take a record.
public struct ProduceFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// What failed, why, and what to do, for a person.
    public var description: String
    /// The kind of failure.
    public var error: ProduceError
    /// Whether the producer has ended, so that every further record fails.
    public var isFatal: Bool

    public init(_ description: String, _ error: ProduceError, isFatal: Bool = false) {
        self.description = description
        self.error = error
        self.isFatal = isFatal
    }
}
