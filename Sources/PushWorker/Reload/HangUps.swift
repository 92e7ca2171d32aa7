import Synchronization
import UnixSignals

/// Catches SIGHUP, which then no longer ends the process. Each SIGHUP requests that the configuration is read again.
/// Several that arrive during a reload cause one more reload.
public final class HangUps: Sendable {
    private let signals: UnixSignalsSequence
    private let hasCome = Atomic(false)
    /// One element for each reload that is requested. One task may wait for them.
    let wishes: AsyncStream<Void>
    private let wishing: AsyncStream<Void>.Continuation

    /// Starts to catch SIGHUP. No signal is missed after this has returned.
    public init() async {
        self.signals = await UnixSignalsSequence(trapping: .sighup)
        (self.wishes, self.wishing) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Whether a SIGHUP has arrived.
    var isWished: Bool { self.hasCome.load(ordering: .acquiring) }

    /// Takes in SIGHUPs until the task is cancelled.
    func gather() async {
        for await _ in self.signals {
            self.wishing.yield()
            self.hasCome.store(true, ordering: .releasing)
        }
    }
}
