import CRDKafka
import Glibc
import Synchronization

/// How many connections to brokers have come up, logged in where that is needed: of all clients of this process.
public enum ConnectionCount {
    private static let up = Atomic<UInt64>(0)

    /// Since the process began.
    public static var value: UInt64 { self.up.load(ordering: .relaxed) }

    private static let name = "mailboat-connections"

    /// Has those of the client counted that is made of `configuration`.
    static func install(in configuration: OpaquePointer) {
        rd_kafka_conf_interceptor_add_on_new(
            configuration, self.name,
            { client, _, _, _, _ in
                rd_kafka_interceptor_add_on_broker_state_change(
                    client, ConnectionCount.name,
                    { _, _, _, host, _, state, _ in
                        // On librdkafka's threads: quick, and no call back into the client. A broker without a name is its own inner one.
                        guard let state, let host, strcmp(state, "UP") == 0, host.pointee != 0 else {
                            return RD_KAFKA_RESP_ERR_NO_ERROR
                        }
                        ConnectionCount.up.add(1, ordering: .relaxed)
                        return RD_KAFKA_RESP_ERR_NO_ERROR
                    }, nil)
            }, nil)
    }
}
