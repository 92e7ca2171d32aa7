import CRDKafka
import Glibc

/// Makes a client's broker threads, those that talk to brokers, give way to the rest of the process. It uses
/// `setpriority(2)`: on Linux each thread has a nice value of its own.
///
/// With few processors, a broker thread and an event loop may share one. The kernel then gives each of them an equal
/// share of time. While the thread writes a thousand records, the loop cannot serve its sockets for ten milliseconds or
/// more. The total work is the same either way, but phones wait for the loop, and nobody waits for the broker thread.
enum BrokerThreadNiceness {
    /// Adds `niceness` (1…19) to the nice value of each broker thread of the client that is made from `configuration`.
    static func install(_ niceness: Int32, in configuration: OpaquePointer) {
        rd_kafka_conf_interceptor_add_on_new(
            configuration, self.name,
            { client, _, niceness, _, _ in
                rd_kafka_interceptor_add_on_thread_start(
                    client, BrokerThreadNiceness.name,
                    { _, type, _, niceness in
                        // This runs on the new thread before anything else does.
                        if type == RD_KAFKA_THREAD_BROKER {
                            BrokerThreadNiceness.give(Int32(Int(bitPattern: niceness)))
                        }
                        return RD_KAFKA_RESP_ERR_NO_ERROR
                    }, niceness)
            }, UnsafeMutableRawPointer(bitPattern: Int(niceness)))
    }

    private static let name = "mailboat-niceness"

    /// Raises the calling thread's nice value, which needs no right. The kernel limits it to 19.
    private static func give(_ niceness: Int32) {
        let process = __priority_which_t(PRIO_PROCESS.rawValue)
        setpriority(process, 0, getpriority(process, 0) + niceness)
    }
}
