import CRDKafka
import Redaction
import Synchronization

/// Owns one `rd_kafka_t`. Everything that uses the client keeps a reference to this, so the client outlives its queues
/// and topics.
///
/// `@unchecked Sendable`: librdkafka's functions may be called from any thread; the pointer itself never changes.
final class ClientHandle: @unchecked Sendable {
    let pointer: OpaquePointer
    private let context: Unmanaged<ClientContext>
    /// If `true`, `deinit` does not destroy the client. The client's threads and memory then stay until the process
    /// ends, unless `destroyAndWait` frees them.
    let isIndestructible = Atomic<Bool>(false)

    init(_ pointer: OpaquePointer, context: Unmanaged<ClientContext>) {
        self.pointer = pointer
        self.context = context
    }

    /// A text of librdkafka or of a broker, with secret values removed.
    func struck(_ text: String) -> String { self.context.takeUnretainedValue().struck(text) }

    /// Whether the client logs in with tokens that the program provides (`KafkaTokens`).
    var logsInByToken: Bool { self.context.takeUnretainedValue().tokens != nil }

    /// The error of a failed call. If no broker answered because a login token is missing, the error says that instead.
    func error(_ code: rd_kafka_resp_err_t, subject: KafkaError.Subject = .client) -> KafkaError {
        let error = KafkaError(code, subject: subject)
        guard [.timedOut, .transport, .allBrokersDown].contains(error.code) else { return error }
        return self.context.takeUnretainedValue().tokens?.failure ?? error
    }

    /// Destroys the client on a thread of its own. Destroying can hang, because librdkafka 2.0.2 waits for its own
    /// threads. The thread that releases the last reference must not hang, too. The flag skips the consumer's close,
    /// which can also hang.
    deinit {
        guard !self.isIndestructible.load(ordering: .acquiring) else { return }
        struct Parts: @unchecked Sendable {  // Handed over whole to the one thread that uses them.
            let pointer: OpaquePointer
            let context: Unmanaged<ClientContext>
        }
        let parts = Parts(pointer: self.pointer, context: self.context)
        NamedThread.start("kafka-destroy") {
            rd_kafka_destroy_flags(parts.pointer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
            parts.context.release()
        }
    }

    /// Destroys a client and waits until it is gone. Only for a client that never connected, joined no group and has no
    /// other owner. Afterwards the process may end, which is not safe while a thread is still destroying a client.
    consuming func destroyAndWait() {
        self.isIndestructible.store(true, ordering: .releasing)
        rd_kafka_destroy_flags(self.pointer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
        self.context.release()
    }

    /// The cluster's identifier; `nil` when no broker gave it within `limit`. Blocks until then.
    func clusterID(within limit: Duration) -> String? {
        guard let text = rd_kafka_clusterid(self.pointer, limit.wholeMillis) else { return nil }
        defer { rd_kafka_mem_free(self.pointer, text) }
        return String(cString: text)
    }
}

/// Owns one `rd_kafka_queue_t`.
///
/// `@unchecked Sendable`: librdkafka's queues may be used from any thread.
struct KafkaQueue: ~Copyable, @unchecked Sendable {
    let pointer: OpaquePointer
    init(_ pointer: OpaquePointer) { self.pointer = pointer }
    deinit { rd_kafka_queue_destroy(self.pointer) }

    /// Calls `wakeUp` when the queue changes from empty to non-empty, on a librdkafka thread that holds the queue's
    /// lock. `wakeUp` must stay alive until `disableWakeUp` has returned.
    func enableWakeUp(_ wakeUp: WakeUp) {
        rd_kafka_queue_cb_event_enable(
            self.pointer, { _, context in Unmanaged<WakeUp>.fromOpaque(context!).takeUnretainedValue().call() },
            Unmanaged.passUnretained(wakeUp).toOpaque())
    }

    /// Ends the wake-ups. When this method returns, no `wakeUp` is running and none will follow. This is certain
    /// because librdkafka calls `wakeUp` under the queue's lock, and this method takes that lock.
    func disableWakeUp() { rd_kafka_queue_cb_event_enable(self.pointer, nil, nil) }
}

/// A closure in an object, so that C code can hold a pointer to it.
final class WakeUp: Sendable {
    let call: @Sendable () -> Void
    init(_ call: @escaping @Sendable () -> Void) { self.call = call }
}

extension Duration {
    /// The duration in milliseconds, rounded up, for an `int` argument of librdkafka: from 0 to 1,000,000,000.
    var wholeMillis: Int32 {
        let (seconds, attoseconds) = self.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 1_000_000 else { return 1_000_000_000 }
        return Int32(seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
