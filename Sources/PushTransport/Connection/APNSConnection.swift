import APNSPool
import APNSProtocol
import HTTP2Session
import NIOCore
import TLSSession

/// One connection to APNs: TLS and an HTTP/2 session in one channel handler. It moves bytes, passes events to its route
/// and decides nothing. It is added to a channel that is already connected.
final class APNSConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The pool's number for this connection.
    let number: Int
    let session: HTTP2ClientSession
    /// Whether this connection is among the shard's connections to flush.
    var isDirty = false
    /// Whether the peer's SETTINGS have arrived.
    var isReady = false
    private(set) var isEnded = false
    /// The peer's IP address; `nil` before the channel is connected.
    private(set) var remoteAddress: String?

    private let route: RouteRunner
    let tls: TLSSession
    private var events = HTTP2ClientEvents()
    private var context: ChannelHandlerContext?
    private var outgoing = ByteBuffer()
    private var isEstablished = false
    private var isFlushing = false

    init(number: Int, route: RouteRunner, tls: TLSSession, session: HTTP2ClientSession) {
        self.number = number
        self.route = route
        self.tls = tls
        self.session = session
    }

    // MARK: Beginning

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.remoteAddress = context.channel.remoteAddress?.ipAddress
        self.route.transportConnected(self, remote: context.channel.remoteAddress)
        self.tls.start()
        self.writeCiphertext(context)
        context.flush()
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    // MARK: Bytes in

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isEnded else { return }
        let buffer = self.unwrapInboundIn(data)
        self.route.counters.bytesInTotal += buffer.readableBytes
        // If the bytes are wrong, `channelReadComplete` sees it in `tls.state`, or `flush` sees it in
        // `session.isFinished`.
        let session = self.session
        self.tls.receive(buffer.readableBytesSpan) { plaintext in _ = session.receive(plaintext) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard !self.isEnded else { return }
        self.route.bytesReceived(self)
        switch self.tls.state {
        case .handshaking:
            self.writeCiphertext(context)
            context.flush()
        case .established:
            self.handshakeFinished()
            self.collectEvents()
            self.route.shard.markDirty(self)
        case .peerClosed:
            self.collectEvents()
            self.end("the peer closed the TLS session")
        case .failed(let error):
            self.collectEvents()
            // TLS may have an alert to send, which tells the peer the reason.
            self.writeCiphertext(context)
            context.flush()
            self.end("TLS: \(error)", fault: ConnectFault(error))
        }
        self.route.shard.wantTurn()
    }

    private func handshakeFinished() {
        guard !self.isEstablished else { return }
        guard self.tls.applicationProtocol == "h2" else {
            self.end(
                "TLS: the peer does not speak HTTP/2 (ALPN \(self.tls.applicationProtocol ?? "missing"))",
                fault: .notAPNs)
            return
        }
        self.isEstablished = true
    }

    private func collectEvents() {
        self.session.takeEvents(into: &self.events)
        guard !self.events.events.isEmpty else { return }
        // The events are moved into a local variable, because the route may access this connection while it reads them.
        var events = HTTP2ClientEvents()
        swap(&events, &self.events)
        self.route.handle(events, of: self)
        swap(&events, &self.events)
    }

    // MARK: Bytes out

    /// Maximum number of bytes of frames that are encrypted and written at a time. The channel holds at most one such
    /// piece. The rest stays in the session until the socket takes more, and counts as not sent.
    static let pieceByteCount = 64 * 1024

    /// Writes the session's output piece by piece, until the socket takes no more.
    func flush() {
        guard let context = self.context, self.isEstablished, !self.isEnded, !self.isFlushing else { return }
        self.writeOut(context)
        self.route.outputBlocked(self, !context.channel.isWritable)
        self.collectEvents()
        if case .failed(let error) = self.tls.state {
            self.end("TLS: \(error)")
        } else if self.session.isFinished {
            // The peer has broken the protocol and our GOAWAY has left, or the peer has sent GOAWAY and no stream is
            // open.
            self.close("the HTTP/2 session has ended", fault: .notAPNs)
        }
    }

    private func writeOut(_ context: ChannelHandlerContext) {
        self.isFlushing = true
        defer { self.isFlushing = false }
        while context.channel.isWritable {
            let tls = self.tls
            let wasTaken = self.session.takeOutput(byteCountMax: Self.pieceByteCount) { tls.write($0) }
            // TLS may also have bytes to send when the session has none: an answer to a key update, or an alert.
            guard self.tls.ciphertextByteCount > 0 else { return }
            self.writeCiphertext(context)
            context.flush()
            guard wasTaken == true else { return }
        }
    }

    /// Passes the bytes that TLS has ready to the channel, without a flush.
    private func writeCiphertext(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>? = nil) {
        guard self.tls.ciphertextByteCount > 0 else {
            promise?.succeed()
            return
        }
        // `clear` reuses the memory, unless the channel still holds it.
        self.outgoing.clear()
        self.tls.takeCiphertext { ciphertext in _ = self.outgoing.writeBytes(ciphertext) }
        self.route.counters.bytesOutTotal += self.outgoing.readableBytes
        context.write(self.wrapOutboundOut(self.outgoing), promise: promise)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // `writeOut` itself makes the channel unwritable and writable again, which needs no reaction.
        guard !self.isEnded, !self.isFlushing else { return }
        self.route.shard.readClockOutsideTurn()
        self.route.outputBlocked(self, !context.channel.isWritable)
        guard context.channel.isWritable else { return }
        self.flush()
        self.route.shard.wantTurn()
    }

    // MARK: Ending

    /// Maximum time for which the channel stays open after `close`, so that its last bytes can leave.
    static let lingerMillis: Int64 = 1_000

    /// Closes the connection with GOAWAY and close_notify if it is established; otherwise at once.
    func close(_ reason: String, fault: ConnectFault = .network) {
        guard self.isEstablished, !self.isEnded, let context = self.context else {
            return self.end(reason, fault: fault)
        }
        self.session.goAway()
        self.writeOut(context)
        self.tls.shutdown()
        guard self.tls.ciphertextByteCount > 0 else { return self.end(reason, fault: fault) }
        // The connection is ended before the flush. If the channel ended during the flush, it would look as if the peer
        // had closed it.
        self.finish(reason, fault: fault)
        // The channel stays open until GOAWAY and close_notify have left, so that the peer sees a regular end.
        let channel = context.channel
        let hasLeft = context.eventLoop.makePromise(of: Void.self)
        let linger = context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Self.lingerMillis)) {
            channel.close(promise: nil)
        }
        hasLeft.futureResult.assumeIsolated().whenComplete { _ in
            linger.cancel()
            channel.close(promise: nil)
        }
        self.writeCiphertext(context, promise: hasLeft)
        context.flush()
    }

    /// Ends a connection that is broken or given up. Each remaining request gets its final answer, the connection's
    /// number becomes free, and the channel is closed. `fault` matters only for a connection that was not ready yet. It
    /// says whether the peer is not APNs, or the network failed.
    func end(_ cause: String, fault: ConnectFault = .network) {
        guard !self.isEnded else { return }
        let context = self.context
        self.finish(cause, fault: fault)
        context?.close(promise: nil)
    }

    private func finish(_ cause: String, fault: ConnectFault = .network) {
        self.isEnded = true
        self.context = nil
        self.session.connectionLost()
        self.collectEvents()
        self.route.ended(self, cause: cause, fault: fault)
    }

    func channelInactive(context: ChannelHandlerContext) {
        guard !self.isEnded else { return }
        self.route.shard.readClockOutsideTurn()
        self.tls.transportClosed()
        self.end("the connection was closed by the peer")
        self.route.shard.wantTurn()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.route.shard.readClockOutsideTurn()
        self.end("\(error)")
        self.route.shard.wantTurn()
    }
}
