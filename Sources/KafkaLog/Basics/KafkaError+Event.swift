import CRDKafka

extension KafkaError {
    /// Reads an `RD_KAFKA_EVENT_ERROR`. The event of a fatal error lacks the cause, so this asks the client for it.
    init(event: OpaquePointer, client: ClientHandle) {
        let code = rd_kafka_event_error(event)
        let text = rd_kafka_event_error_string(event).map { client.struck(String(cString: $0)) }
        guard code == RD_KAFKA_RESP_ERR__FATAL || rd_kafka_event_error_is_fatal(event) != 0 else {
            // When a connection ends during the login, librdkafka reports a refusal, although no broker has refused
            // anything.
            let isCutShort = text?.contains(Self.cutShort) == true
            self.init(
                isCutShort ? RD_KAFKA_RESP_ERR__TRANSPORT : code,
                text: text.map {
                    Self.inOwnWords($0, isRefusal: code == RD_KAFKA_RESP_ERR__AUTHENTICATION && !isCutShort, client)
                })
            return
        }
        let reasonCapacity = 512
        var reason = [CChar](repeating: 0, count: reasonCapacity)
        let cause = rd_kafka_fatal_error(client.pointer, &reason, reasonCapacity)
        self.init(
            code: Code(rawValue: (cause == RD_KAFKA_RESP_ERR_NO_ERROR ? code : cause).rawValue),
            text: cause == RD_KAFKA_RESP_ERR_NO_ERROR
                ? text : client.struck(reason.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }),
            isRetriable: false, isFatal: true)
    }

    /// Start of the error's text when a client cannot log in because it has no token.
    static let noTokenStart = "there is no token to log in with: "

    /// librdkafka's words before the reason why there is no token (`rd_kafka_oauthbearer_set_token_failure`).
    private static let libraryNoTokenStart = "Failed to acquire SASL OAUTHBEARER token: "

    /// librdkafka's words when the connection ended during the login (`rd_kafka_broker_handle_SaslHandshake`).
    static let cutShort = "mechanism handshake failed: Local: "

    /// Start of the error's text when a broker refuses a token. The broker's own words do not mention a token.
    static let refusedTokenStart = "the brokers refuse the token: "

    private static func inOwnWords(_ text: String, isRefusal: Bool, _ client: ClientHandle) -> String {
        guard !text.hasPrefix(Self.libraryNoTokenStart) else {
            return Self.noTokenStart + text.dropFirst(Self.libraryNoTokenStart.count)
        }
        // A broker that does not offer the mechanism has not seen the token, so it has not refused the token.
        let isOfToken = isRefusal && client.logsInByToken && !text.contains("mechanism handshake failed")
        return isOfToken ? Self.refusedTokenStart + text : text
    }

    /// Whether the client has tried no login, because it had no token.
    public var isWithoutToken: Bool { self.code == .authentication && self.text.hasPrefix(Self.noTokenStart) }
}
