import APNSProtocol
import PushEngine
import PushTransport
import ShardLoop

/// The loop's port to APNs: the shard's transport. Confined to the shard's event loop.
final class TransportPushSide: PushSide {
    private let transport: ShardTransport

    init(_ transport: ShardTransport) { self.transport = transport }

    func takeAnswers(into answers: inout [PushAnswer]) { self.transport.takeAnswers(into: &answers) }

    func submit(route: UInt16, max: Int, fill: (inout PushRequest) -> Bool) -> Int {
        self.transport.submit(route: route, max: max, fill: fill)
    }

    func wantsCredit(route: UInt16) { self.transport.wantsCredit(route: route) }

    func flush() { self.transport.endTurn() }
}
