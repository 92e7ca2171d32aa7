/// The kind of Kafka's answer to a record that it did not take. The set is closed, and used for decisions, log lines
/// and metrics.
public enum ProduceError: UInt8, Sendable, CaseIterable {
    /// The record, or its batch, is larger than a topic, a segment or the client allows.
    case size
    /// The topic does not allow such a record: it is compacted, and the record has no key.
    case invalidRecord
    /// The record's time is too far from the broker's.
    case invalidTimestamp
    /// The client's user may not write there.
    case notAuthorized
    /// A rule of the cluster's operator forbids the record.
    case policyViolation
    /// The topic or the partition does not exist.
    case unknownTopic
    /// The broker does not speak this version of the request, or of its records.
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

    /// The kind of an error number of the Kafka protocol, or of librdkafka's own below zero.
    public init(code: Int32) {
        self =
            switch code {
            // MESSAGE_TOO_LARGE, which librdkafka uses as well; RECORD_LIST_TOO_LARGE: larger than a segment.
            case 10, 18: .size
            case 87: .invalidRecord
            case 32: .invalidTimestamp
            // Topic, cluster, transactional id.
            case 29, 31, 53: .notAuthorized
            case 44: .policyViolation
            // The broker's error; librdkafka's for a topic and for a partition.
            case 3, -188, -190: .unknownTopic
            // UNSUPPORTED_VERSION, UNSUPPORTED_FOR_MESSAGE_FORMAT, UNSUPPORTED_COMPRESSION_TYPE, librdkafka's _UNSUPPORTED_FEATURE.
            case 35, 43, 76, -165: .unsupportedVersion
            default: .other
            }
    }

    /// Whether the cause is in the record itself, so that it is refused each time.
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
    /// The record is tried again in a request of its own: it may have been refused because of others.
    case alone
    /// The record is tried again with the present time.
    case withPresentTime
    /// The record is never taken as it is.
    case forGood(ProduceError)
    /// The producer takes nothing from now on.
    case fatal

    /// - Parameters:
    ///   - error: `nil` if Kafka took the record.
    ///   - isFatal: the producer is finished.
    ///   - isAlone: no other record was in its request.
    ///   - hasPresentTime: its time is that of the moment at which it was tried again.
    public init(_ error: ProduceError?, isFatal: Bool, isAlone: Bool, hasPresentTime: Bool) {
        guard let error else {
            self = .taken
            return
        }
        self =
            switch (error.isOfTheRecord, error) {
            case _ where isFatal: .fatal
            // Waiting may help, or a person may: a right, a policy, a topic or a broker may be added.
            case (false, _): .forNow
            case (true, _) where !isAlone: .alone
            case (true, .invalidTimestamp) where !hasPresentTime: .withPresentTime
            case (true, _): .forGood(error)
            }
    }
}

/// Kafka, or its library before it, did not take a record.
public struct ProduceFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// What failed, why, and what to do, for a person.
    public var description: String
    /// The kind of failure.
    public var error: ProduceError
    /// Whether the producer is finished: every record fails from now on.
    public var isFatal: Bool

    public init(_ description: String, _ error: ProduceError, isFatal: Bool = false) {
        self.description = description
        self.error = error
        self.isFatal = isFatal
    }
}
