import Synchronization
import UnixSignals

/// SIGHUPs, each a wish that the configuration be read again. It ends nothing from here on. However many come while one is being followed, one more
/// follows.
public final class HangUps: Sendable {
    private let signals: UnixSignalsSequence
    private let hasCome = Atomic(false)
    /// One element for each time that the configuration is to be read. One task may wait for them.
    let wishes: AsyncStream<Void>
    private let wishing: AsyncStream<Void>.Continuation

    /// From its return on no SIGHUP is missed.
    public init() async {
        self.signals = await UnixSignalsSequence(trapping: .sighup)
        (self.wishes, self.wishing) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Whether one has been taken in.
    var isWished: Bool { self.hasCome.load(ordering: .acquiring) }

    /// Takes them in, until the task is cancelled.
    func gather() async {
        for await _ in self.signals {
            self.wishing.yield()
            self.hasCome.store(true, ordering: .releasing)
        }
    }
}
