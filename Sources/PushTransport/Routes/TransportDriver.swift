public import APNSProtocol
import PushModel

/// Gives a transport its turns where its event loop has nothing else to do. A shard of a worker takes turns of its own.
/// Confined to the transport's event loop.
public final class TransportDriver {
    /// The transport it drives.
    public let transport: ShardTransport
    private let body: ([PushAnswer]) -> Void
    private var turns: TurnScheduler?
    private var answers: [PushAnswer] = []

    /// Nothing happens before `start`.
    ///
    /// - Parameter body: called in each turn, with the answers that have come: takes them, then submits what it has. What it captures is held
    ///   as long as the driver.
    public init(_ transport: ShardTransport, body: @escaping ([PushAnswer]) -> Void) {
        self.transport = transport
        self.body = body
    }

    /// Begins to turn. The driver is held by its turns until `close`.
    public func start() {
        let turns = TurnScheduler(eventLoop: self.transport.eventLoop) { self.turn() }
        self.turns = turns
        self.transport.onWork = { turns.soon() }
        self.transport.start()
    }

    /// There is something to submit.
    public func wake() { self.turns?.soon() }

    private func turn() {
        let now = self.transport.beginTurn()
        self.transport.takeAnswers(into: &self.answers)
        self.body(self.answers)
        self.answers.removeAll(keepingCapacity: true)
        self.transport.endTurn()
        guard let dueMillis = self.transport.deadlineMillis else { return }
        self.turns?.at(steadyMillis: dueMillis, now: now.steadyMillis)
    }

    /// Closes the transport and turns no more. The answers of what was in flight can still be taken from the transport.
    public func close() {
        self.transport.close()
        self.turns?.end()
        self.turns = nil
    }
}
