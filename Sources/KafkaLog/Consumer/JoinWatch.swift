import CRDKafka
import Synchronization

/// Knows whether a consumer has asked to join its group and has not received its assignment yet. It watches the
/// consumer's requests and their answers. Works from any thread.
final class JoinWatch: Sendable {
    private let isOpen = Atomic(false)

    /// API keys of the JoinGroup and SyncGroup requests (https://kafka.apache.org/protocol#protocol_api_keys).
    private static let joinGroup: Int16 = 11
    private static let syncGroup: Int16 = 14

    var isJoining: Bool { self.isOpen.load(ordering: .acquiring) }

    /// Adds this watch to the client that is made from `configuration`. The watch must live as long as the client.
    func install(in configuration: OpaquePointer) {
        rd_kafka_conf_interceptor_add_on_new(
            configuration, "mailboat-join",
            { client, _, watch, _, _ in
                // These closures run on librdkafka's threads, so they must be quick and must not call back into the
                // client.
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

    /// Remembers that a request has an answer, or will get none. Only SyncGroup ends the joining, because the client
    /// then has the group's new generation. A refused JoinGroup does not, because the client sends another.
    func sawAnswer(_ apiKey: Int16) {
        if apiKey == Self.syncGroup { self.isOpen.store(false, ordering: .releasing) }
    }
}
