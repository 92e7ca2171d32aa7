import CRDKafka
import Glibc

/// Lets a client's threads that speak to brokers give way to the rest of the process (`setpriority(2)`; on Linux a nice
/// value is a thread's own).
///
/// Where processors are scarce, such a thread and an event loop share one, and the kernel divides it fairly: with a
/// thousand records to write, librdkafka keeps the loop from its sockets for ten milliseconds and more. Both have as
/// much to do either way; what matters is that nobody waits for the one and a phone waits for the other.
enum BrokerThreadNiceness {
    /// Has the threads of the client that is made of `configuration` add `niceness` (1…19) to the process's nice value.
    static func install(_ niceness: Int32, in configuration: OpaquePointer) {
        rd_kafka_conf_interceptor_add_on_new(
            configuration, self.name,
            { client, _, niceness, _, _ in
                rd_kafka_interceptor_add_on_thread_start(
                    client, BrokerThreadNiceness.name,
                    { _, type, _, niceness in
                        // On the new thread, before it does anything.
                        if type == RD_KAFKA_THREAD_BROKER {
                            BrokerThreadNiceness.give(Int32(Int(bitPattern: niceness)))
                        }
                        return RD_KAFKA_RESP_ERR_NO_ERROR
                    }, niceness)
            }, UnsafeMutableRawPointer(bitPattern: Int(niceness)))
    }

    private static let name = "mailboat-niceness"

    /// A thread may always make itself nicer; the kernel stops at 19.
    private static func give(_ niceness: Int32) {
        let process = __priority_which_t(PRIO_PROCESS.rawValue)
        setpriority(process, 0, getpriority(process, 0) + niceness)
    }
}
