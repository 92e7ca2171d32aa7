/// A right that an operation on a topic, a group or the cluster needs. The raw values are Kafka's names.
public enum KafkaRight: String, Sendable, Hashable {
    case read = "Read"
    case write = "Write"
    case describe = "Describe"
    case describeConfigs = "DescribeConfigs"
    case create = "Create"
    case delete = "Delete"
    case alter = "Alter"
    case alterConfigs = "AlterConfigs"
}

extension KafkaError {
    /// What an operator can do about a cause outside this process, such as a password, a certificate or a right. It is
    /// one clause without secrets; `nil` when the error's text says all there is to say.
    public var remedy: String? {
        switch self.code {
        case .authentication where self.text.contains("Unsupported SASL mechanism"), .unsupportedSASLMechanism:
            "sasl.mechanisms must be one that the brokers offer"
        // The error's text already names the source of tokens.
        case .authentication where self.isWithoutToken: nil
        case .authentication where self.text.hasPrefix(Self.refusedTokenStart):
            "check that the token is meant for these brokers (audience, scope, issuer), that this machine's clock and theirs agree, and kafka.oauth.extensions"
        case .authentication, .saslAuthenticationFailed:
            "check sasl.username, sasl.password and sasl.mechanisms, and that the brokers know this user"
        // librdkafka's names for the states of a connection during the login are AUTH_LEGACY, AUTH_HANDSHAKE and
        // AUTH_REQ.
        case .transport, .timedOut, .allBrokersDown:
            self.text.contains("in state AUTH_") || self.text.contains(Self.cutShort)
                ? "the broker closed the connection during the login: check sasl.username, sasl.password and sasl.mechanisms, and that security.protocol is the listener's"
                : self.foreignRemedy
        case .ssl:
            self.text.contains("certificate verify failed") || self.text.contains("could not be verified")
                ? "ssl.ca.location must name a PEM file with the authority that signed the brokers' certificates"
                : "check security.protocol and the ssl properties, and that the brokers' listener is one for TLS"
        case .topicAuthorizationFailed:
            "grant this client's user \(self.right ?? .describe) on the topic" + (self.topicName.map { " \($0)" } ?? "")
        case .groupAuthorizationFailed:
            "grant this client's user Read on the group" + (self.groupName.map { " \($0)" } ?? "")
        case .inconsistentGroupProtocol:
            "somebody in the group" + (self.groupName.map { " \($0)" } ?? "")
                + " uses another partition.assignment.strategy, which keeps this client out; 'mailboat doctor' says who"
        case .clusterAuthorizationFailed:
            self.right == .create
                ? "grant this client's user Create on the cluster, or on the topic"
                    + (self.topicName.map { " \($0)" } ?? "")
                : "grant this client's user Write on the topics it produces to, or IdempotentWrite on the cluster"
        default: nil
        }
    }

    private var topicName: String? {
        switch self.subject {
        case .topic(let topic): topic
        case .partition(let partition): partition.topic
        case .position(let position): position.topic
        case .client, .setting, .group: nil
        }
    }

    private var groupName: String? { if case .group(let group) = self.subject { group } else { nil } }

    /// This error, marked as the failure of an operation that needs `right`.
    public func needing(_ right: KafkaRight) -> KafkaError {
        var error = self
        error.right = right
        return error
    }

    /// Whether the brokers were reached and refuse this client, or the client refuses the brokers. Waiting does not
    /// help: a person has to act.
    public var isRefusal: Bool {
        switch self.code {
        case .authentication, .saslAuthenticationFailed, .unsupportedSASLMechanism, .ssl, .topicAuthorizationFailed,
            .groupAuthorizationFailed, .clusterAuthorizationFailed:
            true
        default: false
        }
    }
}

extension KafkaRight: CustomStringConvertible {
    public var description: String { self.rawValue }
}
