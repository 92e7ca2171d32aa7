import CRDKafka

extension KafkaError {
    /// Reads an `RD_KAFKA_EVENT_ERROR`. For a fatal one librdkafka keeps the true cause aside.
    init(event: OpaquePointer, client: ClientHandle) {
        let code = rd_kafka_event_error(event)
        let text = rd_kafka_event_error_string(event).map { client.struck(String(cString: $0)) }
        guard code == RD_KAFKA_RESP_ERR__FATAL || rd_kafka_event_error_is_fatal(event) != 0 else {
            self.init(code, text: text)
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
}
