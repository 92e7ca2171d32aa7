import CRDKafka

extension KafkaError {
    /// Reads an `RD_KAFKA_EVENT_ERROR`. For a fatal error, asks librdkafka for the true cause, which it keeps
    /// elsewhere.
    init(event: OpaquePointer, client: ClientHandle) {
        let code = rd_kafka_event_error(event)
        let text = rd_kafka_event_error_string(event).map { client.struck(String(cString: $0)) }
        guard code == RD_KAFKA_RESP_ERR__FATAL || rd_kafka_event_error_is_fatal(event) != 0 else {
            // librdkafka calls it a refusal when a connection ends during the login, although the brokers have said
            // nothing.
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

    /// The first words of the error when a client cannot log in because nobody has brought a token.
    static let noTokenStart = "there is no token to log in with: "

    /// librdkafka's words before the reason for a missing token (`rd_kafka_oauthbearer_set_token_failure`).
    private static let libraryNoTokenStart = "Failed to acquire SASL OAUTHBEARER token: "

    /// librdkafka's words for a login that was cut short by the end of the connection
    /// (`rd_kafka_broker_handle_SaslHandshake`).
    static let cutShort = "mechanism handshake failed: Local: "

    /// The first words of the error when a broker refuses a token. A broker says only that it refuses, not which login
    /// it refuses.
    static let refusedTokenStart = "the brokers refuse the token: "

    private static func inOwnWords(_ text: String, isRefusal: Bool, _ client: ClientHandle) -> String {
        guard !text.hasPrefix(Self.libraryNoTokenStart) else {
            return Self.noTokenStart + text.dropFirst(Self.libraryNoTokenStart.count)
        }
        // Brokers that do not offer the mechanism have not looked at a token.
        let isOfToken = isRefusal && client.logsInByToken && !text.contains("mechanism handshake failed")
        return isOfToken ? Self.refusedTokenStart + text : text
    }

    /// Whether no broker was asked, because there was no token to log in with.
    public var isWithoutToken: Bool { self.code == .authentication && self.text.hasPrefix(Self.noTokenStart) }
}
