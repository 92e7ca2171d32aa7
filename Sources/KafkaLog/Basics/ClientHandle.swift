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
    /// While set, letting go of the client does not destroy it: its threads and memory stay until the process ends.
    let isIndestructible = Atomic<Bool>(false)

    init(_ pointer: OpaquePointer, context: Unmanaged<ClientContext>) {
        self.pointer = pointer
        self.context = context
    }

    /// What librdkafka or a broker says, without the values that nobody may see.
    func struck(_ text: String) -> String { self.context.takeUnretainedValue().struck(text) }

    /// Whether somebody brings the tokens of its login.
    var logsInByToken: Bool { self.context.takeUnretainedValue().tokens != nil }

    /// What a call failed for: that there is no token to log in with says more than that nobody answered.
    func error(_ code: rd_kafka_resp_err_t, subject: KafkaError.Subject = .client) -> KafkaError {
        let error = KafkaError(code, subject: subject)
        guard [.timedOut, .transport, .allBrokersDown].contains(error.code) else { return error }
        return self.context.takeUnretainedValue().tokens?.failure ?? error
    }

    /// `rd_kafka_destroy` joins librdkafka's threads and, in 2.0.2, can hang (kafka.md: hazard 7 is the consumer's
    /// close). The thread that lets go of the last reference must not hang with it, so it runs on a thread of its own.
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

    /// For a client that has connected to nobody and joined nothing, and that nobody else has: it is gone when this returns. The process may end
    /// then, which is not safe while another thread destroys a client.
    consuming func destroyAndWait() {
        self.isIndestructible.store(true, ordering: .releasing)
        rd_kafka_destroy_flags(self.pointer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
        self.context.release()
    }

    /// The cluster's identifier, waiting for metadata at most this long; `nil` when the broker gave none in time.
    /// Blocks.
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

    /// Calls `wakeUp` when the queue turns from empty to non-empty, on a librdkafka thread that holds the queue's lock.
    /// `wakeUp` must outlive the call of `disableWakeUp`.
    func enableWakeUp(_ wakeUp: WakeUp) {
        rd_kafka_queue_cb_event_enable(
            self.pointer, { _, context in Unmanaged<WakeUp>.fromOpaque(context!).takeUnretainedValue().call() },
            Unmanaged.passUnretained(wakeUp).toOpaque())
    }

    /// After this returns no call is running or will come: librdkafka calls under the queue's lock, and this takes it.
    func disableWakeUp() { rd_kafka_queue_cb_event_enable(self.pointer, nil, nil) }
}

/// A closure that C can point at.
final class WakeUp: Sendable {
    let call: @Sendable () -> Void
    init(_ call: @escaping @Sendable () -> Void) { self.call = call }
}

extension Duration {
    /// Milliseconds, rounded up, within what librdkafka's `int` arguments take.
    var wholeMillis: Int32 {
        let (seconds, attoseconds) = self.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 1_000_000 else { return 1_000_000_000 }
        return Int32(seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
