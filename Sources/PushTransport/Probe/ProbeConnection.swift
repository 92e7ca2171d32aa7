import HTTP2Session
import NIOCore
import TLSSession

/// The connection of an `APNSProbe`: TLS and an HTTP/2 session in one channel handler. It records how far it gets. It
/// is confined to its loop.
final class ProbeConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private(set) var isEnded = false
    private let tls: TLSSession
    private let session: HTTP2ClientSession
    private let authority: String
    /// Whether the connection goes through a proxy.
    private let isProxied: Bool
    private let request: APNSProbe.Request?
    private let promise: EventLoopPromise<APNSProbe.Report>
    private var report = APNSProbe.Report()
    private var events = HTTP2ClientEvents()
    private var context: ChannelHandlerContext?
    private var sentAtMicros: Int64 = 0

    init(
        tls: TLSSession, authority: String, isProxied: Bool, request: APNSProbe.Request?,
        promise: EventLoopPromise<APNSProbe.Report>
    ) {
        self.tls = tls
        self.session = HTTP2ClientSession()
        self.authority = authority
        self.isProxied = isProxied
        self.request = request
        self.promise = promise
    }

    // MARK: The channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.report.step = .connected
        self.report.address = context.channel.remoteAddress?.ipAddress
        self.tls.start()
        self.writeOut()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isEnded else { return }
        let buffer = self.unwrapInboundIn(data)
        let session = self.session
        self.tls.receive(buffer.readableBytesSpan) { plaintext in _ = session.receive(plaintext) }
        switch self.tls.state {
        case .handshaking: self.writeOut()
        case .established:
            self.secured()
            self.collectEvents()
            self.writeOut()
        case .peerClosed:
            self.secured()
            self.collectEvents()
            self.end("the peer closed the TLS session")
        case .failed(let error):
            self.report.certificates = self.tls.peerCertificates
            self.report.tlsError = error
            // TLS may have an alert to send, which tells the peer the reason.
            self.writeOut()
            self.end("\(error)")
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if self.tls.state == .handshaking { self.report.tlsError = Self.error(self.tls.transportClosed()) }
        self.end("the connection was closed by the peer")
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { self.end(ConnectError.text(error)) }

    /// Ends the probe because no channel could be connected.
    func connectFailed(_ error: any Error) {
        guard !self.isEnded else { return }
        self.report.proxyFailure = error as? ProxyFailure
        self.end(self.report.proxyFailure?.text ?? ConnectError.text(error))
    }

    private static func error(_ state: TLSSession.State) -> TLSError? {
        if case .failed(let error) = state { error } else { nil }
    }

    // MARK: Steps

    private func secured() {
        guard self.report.step < .secured else { return }
        self.report.step = .secured
        self.report.tlsVersion = self.tls.protocolVersion
        self.report.certificates = self.tls.peerCertificates
    }

    private func collectEvents() {
        self.session.takeEvents(into: &self.events)
        let events = self.events
        for event in events.events {
            switch event {
            case .settingsChanged(let streamsMax):
                self.report.streamsMax = streamsMax
                guard self.report.step < .ready else { continue }
                self.report.step = .ready
                self.send()
            case .responseFinished(_, _, let status, let body, _, _):
                self.report.step = .answered
                self.report.answer = APNSProbe.Answer(
                    status: status, body: Array(events.bytes[body]),
                    keptField: events.keptFields.first.flatMap {
                        $0.value.isEmpty ? nil : String(decoding: events.bytes[$0.value], as: UTF8.self)
                    }, micros: MachineClock.steadyMicros() - self.sentAtMicros)
                self.end("")
            case .streamFailed(_, _, let failure): self.end("the request failed: \(failure)")
            case .goAwayReceived(_, let code, let debugData):
                let text = String(decoding: events.bytes[debugData], as: UTF8.self)
                self.end("the peer ended the connection (GOAWAY \(code))\(text.isEmpty ? "" : ": \(text)")")
            case .goAwaySent(let code, _): self.end("the peer does not speak HTTP/2 as it should (\(code))")
            case .pingAcknowledged: break
            }
            guard !self.isEnded else { return }
        }
    }

    private func send() {
        guard let request = self.request else { return self.end("") }
        let template = HTTP2HeaderTemplate(
            [
                .fixed(":method", request.method), .fixed(":scheme", "https"), .fixed(":authority", self.authority),
                .fixed(":path", request.path),
            ]
                + request.fields.map {
                    .fixed($0.name, $0.value, indexing: $0.name == "authorization" ? .never : .allowed)
                })
        let result = self.session.submit(
            template, values: HTTP2HeaderValues(), body: request.body.span, tag: 1,
            keeping: HTTP2AnswerKeeping(
                fieldName: Array(request.keptField.utf8), bodyByteCountMax: APNSProbe.answerByteCountMax))
        guard case .submitted = result else { return self.end("the request cannot be sent: \(result)") }
        self.sentAtMicros = MachineClock.steadyMicros()
        self.report.requestLeft = true
    }

    // MARK: Bytes out

    private func writeOut() {
        guard let context = self.context else { return }
        if self.tls.state == .established {
            let tls = self.tls
            while self.session.takeOutput(byteCountMax: APNSConnection.pieceByteCount, { tls.write($0) }) == true {}
        }
        guard self.tls.ciphertextByteCount > 0 else { return }
        var buffer = context.channel.allocator.buffer(capacity: self.tls.ciphertextByteCount)
        self.tls.takeCiphertext { ciphertext in _ = buffer.writeBytes(ciphertext) }
        context.writeAndFlush(self.wrapOutboundOut(buffer), promise: nil)
    }

    // MARK: The end

    /// Ends the probe at its time limit. The report says what it was waiting for.
    func limitReached(_ limit: String) {
        switch self.report.step {
        case .connecting:
            self.end(
                "no \(self.isProxied ? "tunnel" : "TCP connection") within \(limit), the lookup of the name included")
        case .connected: self.end("no end of the TLS handshake within \(limit)")
        case .secured: self.end("no HTTP/2 SETTINGS within \(limit)")
        case .ready, .answered: self.end("no answer within \(limit)")
        }
    }

    /// Reports the result, and closes the connection. Further calls do nothing.
    /// - Parameter failure: empty if all went well.
    func end(_ failure: String) {
        guard !self.isEnded else { return }
        self.isEnded = true
        self.report.failure = failure
        if self.tls.state == .established {
            self.session.goAway()
            self.writeOut()
            self.tls.shutdown()
            self.writeOut()
        }
        let context = self.context
        self.context = nil
        context?.close(promise: nil)
        self.promise.succeed(self.report)
    }
}
