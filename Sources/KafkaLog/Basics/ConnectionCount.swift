import CRDKafka
import Glibc
import Synchronization

/// Counts the connections to brokers that the clients of this process have opened. A connection that needs a login
/// counts after its login.
public enum ConnectionCount {
    private static let up = Atomic<UInt64>(0)

    /// Number of connections opened since the process began, including those closed since.
    public static var value: UInt64 { self.up.load(ordering: .relaxed) }

    private static let name = "mailboat-connections"

    /// Counts the connections of the client that is made from `configuration`.
    static func install(in configuration: OpaquePointer) {
        rd_kafka_conf_interceptor_add_on_new(
            configuration, self.name,
            { client, _, _, _, _ in
                rd_kafka_interceptor_add_on_broker_state_change(
                    client, ConnectionCount.name,
                    { _, _, _, host, _, state, _ in
                        // This runs on librdkafka's threads, so it must be quick and must not call back into the
                        // client. A broker without a host is internal to librdkafka and not counted.
                        guard let state, let host, strcmp(state, "UP") == 0, host.pointee != 0 else {
                            return RD_KAFKA_RESP_ERR_NO_ERROR
                        }
                        ConnectionCount.up.add(1, ordering: .relaxed)
                        return RD_KAFKA_RESP_ERR_NO_ERROR
                    }, nil)
            }, nil)
    }
}
