import NIOCore

/// A handler that can be told what to do with its connection. It is confined to its event loop.
protocol ConnectionActor: AnyObject {
    func perform(_ action: ConnectionAction)
}

/// A handle to an open connection, usable from any thread.
struct SimulatedConnection: Sendable {
    private let handler: NIOLoopBound<any ConnectionActor>
    private let channel: any Channel

    init(_ handler: any ConnectionActor, channel: any Channel) {
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        self.channel = channel
    }

    /// - Returns: a future that is fulfilled when the action is done.
    func perform(_ action: ConnectionAction) -> EventLoopFuture<Void> {
        let handler = self.handler
        return self.channel.eventLoop.submit { handler.value.perform(action) }
    }

    /// Fulfilled once the connection is closed for good.
    var closeFuture: EventLoopFuture<Void> { self.channel.closeFuture }
}
