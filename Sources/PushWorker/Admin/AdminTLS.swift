import LocalFiles
import Logging
import NIOCore
import NIOPosix
import PushModel
import PushTransport
import Synchronization
import TLSSession

/// The certificate of the admin port. Its files are looked at again now and then, so that a renewed one is taken for new connections. Any thread.
final class AdminTLS: Sendable {
    private struct State {
        var context: TLSContext
        var files: [[UInt8]]
        var lookedAtMillis: Int64
    }

    /// The least time between two looks at the files.
    static let lookDistanceMillis: Int64 = 60_000

    private let state: Mutex<State>
    private let configuration: WorkerConfiguration.Admin.TLS
    private let logger: Logger

    /// What is wrong with one of the files.
    struct Fault: Error {
        /// The setting.
        var setting: String
        var text: String
    }

    /// Blocks on the disk.
    init(_ configuration: WorkerConfiguration.Admin.TLS, logger: Logger) throws(Fault) {
        let files = try Self.read(configuration)
        self.configuration = configuration
        self.logger = logger
        self.state = Mutex(
            State(
                context: try Self.context(files, configuration), files: files,
                lookedAtMillis: MachineClock.now().steadyMillis))
    }

    private static func read(_ configuration: WorkerConfiguration.Admin.TLS) throws(Fault) -> [[UInt8]] {
        var files: [[UInt8]] = []
        for (setting, path) in [
            ("admin.tls.certificate-file", configuration.certificateFile),
            ("admin.tls.key-file", configuration.keyFile),
        ] {
            do throws(FileFailure) { files.append(try InputFile.read(path)) } catch {
                throw Fault(setting: setting, text: "\(error)")
            }
        }
        return files
    }

    private static func context(
        _ files: [[UInt8]], _ configuration: WorkerConfiguration.Admin.TLS
    ) throws(Fault) -> TLSContext {
        do throws(TLSError) {
            return try TLSContext.server(
                certificateChainPEM: files[0], privateKeyPEM: files[1], applicationProtocols: [])
        } catch {
            throw Fault(
                setting: "admin.tls",
                text:
                    "\(configuration.certificateFile) and \(configuration.keyFile) are no certificate and key: \(error)"
            )
        }
    }

    /// For a connection that begins.
    func session() throws(TLSError) -> TLSSession {
        let now = MachineClock.now().steadyMillis
        let (context, isLookDue) = self.state.withLock { state in
            let isDue = now - state.lookedAtMillis >= Self.lookDistanceMillis
            if isDue { state.lookedAtMillis = now }
            return (state.context, isDue)
        }
        if isLookDue { NIOThreadPool.singleton.submit { _ in self.look() } }
        return try TLSSession(server: context)
    }

    /// Takes another certificate, if there is one. Blocks on the disk.
    func look() {
        do throws(Fault) {
            let files = try Self.read(self.configuration)
            guard self.state.withLock({ $0.files != files }) else { return }
            let context = try Self.context(files, self.configuration)
            self.state.withLock { state in
                state.context = context
                state.files = files
            }
            self.logger.notice("the admin port has another certificate for new connections")
        } catch {
            // One of the two may have been written and the other not yet.
            self.logger.warning(
                "the admin port keeps its certificate",
                metadata: ["setting": "\(error.setting)", "cause": "\(error.text)"])
        }
    }
}

/// TLS of one connection of the admin port, in front of everything that reads HTTP. Confined to its event loop.
final class AdminTLSHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let session: TLSSession
    /// Written before the handshake was over.
    private var early: [(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)] = []

    init(_ session: TLSSession) { self.session = session }

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
        case .failed: context.close(promise: nil)
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

    /// What the handshake says, and what was waiting for its end.
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
