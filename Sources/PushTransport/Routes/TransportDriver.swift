public import APNSProtocol
import PushModel

/// Runs the turns of a transport on an event loop that has no other work. A worker's shard needs no driver, because it
/// runs its own turns. The driver is confined to the transport's event loop.
public final class TransportDriver {
    /// The transport that gets the turns.
    public let transport: ShardTransport
    private let body: ([PushAnswer]) -> Void
    private var turns: TurnScheduler?
    private var answers: [PushAnswer] = []

    /// A driver that does nothing before `start`.
    ///
    /// - Parameter body: called in each turn with the answers that have arrived. It uses the answers, and then submits
    ///   new requests. The driver holds what `body` captures.
    public init(_ transport: ShardTransport, body: @escaping ([PushAnswer]) -> Void) {
        self.transport = transport
        self.body = body
    }

    /// Begins to run turns. The turns hold the driver until `close`.
    public func start() {
        let turns = TurnScheduler(eventLoop: self.transport.eventLoop) { self.turn() }
        self.turns = turns
        self.transport.onWork = { turns.soon() }
        self.transport.start()
    }

    /// Requests a turn, because there is something to submit.
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

    /// Closes the transport and ends the turns. The answers of requests in flight can still be taken from the
    /// transport.
    public func close() {
        self.transport.close()
        self.turns?.end()
        self.turns = nil
    }
}
