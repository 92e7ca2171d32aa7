import CRDKafka
import Glibc

/// Threads for blocking calls, above all librdkafka's. They belong neither on an event loop nor on Swift's own pool.
public enum NamedThread {
    /// Runs `body` on a new detached thread of that name (Linux shows its first 15 bytes).
    public static func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let work = Unmanaged.passRetained(Work(name: name, body: body))
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { context in
                // Balances `passRetained`: this function runs exactly once.
                let work = Unmanaged<Work>.fromOpaque(context!).takeRetainedValue()
                mailboat_name_thread(work.name)
                work.body()
                return nil
            }, work.toOpaque())
        // Without its threads the process cannot continue, and running `body` here could block an event loop for good.
        guard failure == 0 else { fatalError("cannot start the thread \(name): error \(failure)") }
        pthread_detach(thread)
    }

    /// Runs a blocking `body` on a thread of its own and waits for its result without blocking the caller's thread.
    public static func run<Result: Sendable>(
        _ name: String, _ body: @escaping @Sendable () -> Result
    ) async -> Result {
        await withCheckedContinuation { continuation in
            Self.start(name) { continuation.resume(returning: body()) }
        }
    }

    private final class Work: Sendable {
        let name: String
        let body: @Sendable () -> Void
        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}
