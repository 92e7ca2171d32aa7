import NIOCore
import TLSSession

/// TLS of one connection, on either side, in front of the handlers that read HTTP. Confined to its event loop.
final class TLSChannelHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let session: TLSSession
    /// Whether the HTTP handlers get the reason for a session's failure before its connection ends.
    private let reportsFailure: Bool
    /// Bytes that were written before the handshake was over.
    private var early: [(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)] = []

    init(_ session: TLSSession, reportsFailure: Bool = false) {
        self.session = session
        self.reportsFailure = reportsFailure
    }

    /// Starts the handshake for a client; a server's session does nothing here.
    func channelActive(context: ChannelHandlerContext) {
        self.session.start()
        self.sendWaiting(context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let received = self.unwrapInboundIn(data)
        var plaintext = context.channel.allocator.buffer(capacity: received.readableBytes)
        let state = self.session.receive(received.readableBytesSpan) { bytes in
            bytes.withUnsafeBytes { _ = plaintext.writeBytes($0) }
        }
        self.sendWaiting(context)
        if plaintext.readableBytes > 0 { context.fireChannelRead(self.wrapInboundOut(plaintext)) }
        switch state {
        case .handshaking, .established: break
        case .peerClosed: context.close(mode: .output, promise: nil)
        case .failed(let error):
            if self.reportsFailure { context.fireErrorCaught(error) }
            context.close(promise: nil)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let bytes = self.unwrapOutboundIn(data)
        switch self.session.state {
        case .handshaking: self.early.append((bytes, promise))
        case .established, .peerClosed:
            self.session.write(bytes.readableBytesSpan)
            context.write(self.wrapOutboundOut(self.ciphertext(context)), promise: promise)
        case .failed: promise?.fail(ChannelError.ioOnClosedChannel)
        }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode != .input {
            self.session.shutdown()
            self.sendWaiting(context)
        }
        context.close(mode: mode, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        for (_, promise) in self.early { promise?.fail(ChannelError.ioOnClosedChannel) }
        self.early = []
        context.fireChannelInactive()
    }

    /// Sends the handshake's bytes, and what was waiting for its end.
    private func sendWaiting(_ context: ChannelHandlerContext) {
        if self.session.state == .established {
            for (bytes, promise) in self.early {
                self.session.write(bytes.readableBytesSpan)
                promise?.succeed()
            }
            self.early = []
        }
        guard self.session.ciphertextByteCount > 0 else { return }
        context.writeAndFlush(self.wrapOutboundOut(self.ciphertext(context)), promise: nil)
    }

    private func ciphertext(_ context: ChannelHandlerContext) -> ByteBuffer {
        var buffer = context.channel.allocator.buffer(capacity: self.session.ciphertextByteCount)
        self.session.takeCiphertext { bytes in bytes.withUnsafeBytes { _ = buffer.writeBytes($0) } }
        return buffer
    }
}
