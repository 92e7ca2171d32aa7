import CRDKafka
import Synchronization

/// Knows whether a consumer has asked to join its group and has not received its assignment yet. It watches the
/// requests that the consumer sends. Works from any thread.
final class JoinWatch: Sendable {
    private let isOpen = Atomic(false)

    /// Numbers of Kafka's requests (https://kafka.apache.org/protocol#protocol_api_keys).
    private static let joinGroup: Int16 = 11
    private static let syncGroup: Int16 = 14

    var isJoining: Bool { self.isOpen.load(ordering: .acquiring) }

    /// Lets the client that is made from `configuration` report its requests to this watch, which must outlive it.
    func install(in configuration: OpaquePointer) {
        rd_kafka_conf_interceptor_add_on_new(
            configuration, "mailboat-join",
            { client, _, watch, _, _ in
                // This runs on librdkafka's threads: it must be quick and must not call back into the client.
                rd_kafka_interceptor_add_on_request_sent(
                    client, "mailboat-join",
                    { _, _, _, _, apiKey, _, _, _, watch in
                        JoinWatch.of(watch)?.sent(apiKey)
                        return RD_KAFKA_RESP_ERR_NO_ERROR
                    }, watch)
                return rd_kafka_interceptor_add_on_response_received(
                    client, "mailboat-join",
                    { _, _, _, _, apiKey, _, _, _, _, _, watch in
                        JoinWatch.of(watch)?.sawAnswer(apiKey)
                        return RD_KAFKA_RESP_ERR_NO_ERROR
                    }, watch)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private static func of(_ watch: UnsafeMutableRawPointer?) -> JoinWatch? {
        watch.map { Unmanaged<JoinWatch>.fromOpaque($0).takeUnretainedValue() }
    }

    func sent(_ apiKey: Int16) {
        if apiKey == Self.joinGroup { self.isOpen.store(true, ordering: .releasing) }
    }

    /// Remembers an answer, or that none will come. A refused join is followed by another one, so only a sync ends the
    /// joining: by then the client has the group's new generation.
    func sawAnswer(_ apiKey: Int16) {
        if apiKey == Self.syncGroup { self.isOpen.store(false, ordering: .releasing) }
    }
}
