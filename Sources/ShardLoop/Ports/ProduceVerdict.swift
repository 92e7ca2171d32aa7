/// The kind of Kafka's answer to a record that it did not take: a closed set, for decisions, lines and metrics.
public enum ProduceError: UInt8, Sendable, CaseIterable {
    /// The record, or the batch that it came in, is larger than a topic, a segment or the client takes.
    case size
    /// The topic does not take such a record: one without a key, where it is compacted.
    case invalidRecord
    /// The record's time is too far from the broker's.
    case invalidTimestamp
    /// The client's user may not write there.
    case notAuthorized
    /// A rule of the cluster's operator forbids it.
    case policyViolation
    /// The topic or the partition is not there.
    case unknownTopic
    /// The broker does not speak this version of the request, or of its records.
    case unsupportedVersion
    /// Anything else, such as a broker that is away.
    case other

    /// Its name in lines and metrics.
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

    /// By the number of the Kafka protocol, or librdkafka's own below zero.
    public init(code: Int32) {
        self =
            switch code {
            // MESSAGE_TOO_LARGE, which librdkafka says as well; RECORD_LIST_TOO_LARGE: larger than a segment.
            case 10, 18: .size
            case 87: .invalidRecord
            case 32: .invalidTimestamp
            // Topic, cluster, transactional id.
            case 29, 31, 53: .notAuthorized
            case 44: .policyViolation
            // By the broker; by librdkafka: topic, partition.
            case 3, -188, -190: .unknownTopic
            // UNSUPPORTED_VERSION, UNSUPPORTED_FOR_MESSAGE_FORMAT, UNSUPPORTED_COMPRESSION_TYPE, librdkafka's _UNSUPPORTED_FEATURE.
            case 35, 43, 76, -165: .unsupportedVersion
            default: .other
            }
    }

    /// What one record alone can be refused for, however often it is handed over.
    public var isOfTheRecord: Bool {
        switch self {
        case .size, .invalidRecord, .invalidTimestamp: true
        case .notAuthorized, .policyViolation, .unknownTopic, .unsupportedVersion, .other: false
        }
    }
}

/// What an answer of Kafka to one record means. This is the one table that tells deliveries apart.
public enum ProduceVerdict: Sendable, Equatable {
    /// It lies in the log.
    case taken
    /// It is handed over again as it is, after a pause.
    case forNow
    /// It is handed over again in a request of its own: others may have been refused with it.
    case alone
    /// It is handed over again with the present time.
    case withPresentTime
    /// It is never taken as it is.
    case forGood(ProduceError)
    /// The producer takes nothing from now on.
    case fatal

    /// - Parameters:
    ///   - error: `nil`: Kafka took it.
    ///   - isFatal: the producer is finished.
    ///   - isAlone: no other record was in its request.
    ///   - hasPresentTime: its time is that of the moment at which it was handed over again.
    public init(_ error: ProduceError?, isFatal: Bool, isAlone: Bool, hasPresentTime: Bool) {
        guard let error else {
            self = .taken
            return
        }
        self =
            switch (error.isOfTheRecord, error) {
            case _ where isFatal: .fatal
            // Waiting helps, or a person does: a right, a policy, a topic, a broker may come.
            case (false, _): .forNow
            case (true, _) where !isAlone: .alone
            case (true, .invalidTimestamp) where !hasPresentTime: .withPresentTime
            case (true, _): .forGood(error)
            }
    }
}

/// Kafka, or its library before it, did not take a record.
public struct ProduceFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// For a person: what failed, why, and what to do.
    public var description: String
    /// What kind of answer it was.
    public var error: ProduceError
    /// The producer is finished: every record fails from here on.
    public var isFatal: Bool

    public init(_ description: String, _ error: ProduceError, isFatal: Bool = false) {
        self.description = description
        self.error = error
        self.isFatal = isFatal
    }
}
