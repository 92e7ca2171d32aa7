import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Keeps one connection of the admin port within `AdminLimits`. It comes after the HTTP decoder; confined to its event
/// loop.
final class AdminConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private enum Phase {
        /// No byte of a request has arrived.
        case idle
        /// Part of a request has arrived.
        case receiving
        /// A whole request has arrived. Its answer has not yet been written to the client's socket completely.
        case answering
        /// The last answer of the connection has been written. The client still has to close the connection.
        case parting
    }

    private let limits: AdminLimits
    private let connections: NIOLoopBoundBox<AdminConnections>
    private var context: ChannelHandlerContext?
    private var phase = Phase.idle
    private var timer: Scheduled<Void>?
    /// Since when we wait for the client; `nil` while the client waits for us.
    private(set) var waitsSince: NIODeadline?
    private var requestCount = 0
    private var answerCount = 0
    private var bodyByteCount = 0
    /// Whether a request to `/channels` waits for its answer.
    private var asksForChannels = false
    /// Whether all further bytes from the client are ignored.
    private var isDeaf = false

    init(limits: AdminLimits, connections: NIOLoopBoundBox<AdminConnections>) {
        self.limits = limits
        self.connections = connections
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // The HTTP decoder passes on only complete heads. A `ByteWatch` before the decoder sees parts of a head, too.
        let watch = ByteWatch { [weak self] in self?.bytesCame() ?? false }
        try? context.pipeline.syncOperations.addHandler(watch, position: .first)
        self.enter(.idle, within: self.limits.idleDurationMax)
        self.connections.value.add(self, max: self.limits.connectionsMax)
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.end() }

    func channelInactive(context: ChannelHandlerContext) {
        self.end()
        context.fireChannelInactive()
    }

    func close() { self.context?.close(promise: nil) }

    // MARK: The client's side

    /// Remembers that bytes have arrived.
    /// - Returns: whether they should be decoded.
    private func bytesCame() -> Bool {
        if case .idle = self.phase { self.enter(.receiving, within: self.limits.requestDurationMax) }
        return !self.isDeaf
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isDeaf else { return }
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            self.requestCount += 1
            self.bodyByteCount = 0
            self.asksForChannels = head.path?.hasPrefix("/channels") == true
            // The next request of a pipeline arrives while the previous one is answered.
            if self.answerCount == self.requestCount - 1 {
                self.enter(.receiving, within: self.limits.requestDurationMax)
            }
        case .body(let bytes):
            self.bodyByteCount += bytes.readableBytes
            guard self.bodyByteCount <= self.limits.bodyByteCountMax else {
                self.isDeaf = true
                return self.close()
            }
        case .end:
            self.enter(.answering, within: self.answerDurationMax)
            self.isDeaf = self.requestCount >= self.limits.requestsPerConnectionMax
        }
        context.fireChannelRead(data)
    }

    // MARK: Our side

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch self.unwrapOutboundIn(data) {
        case .head(var head):
            guard self.answerCount + 1 >= self.limits.requestsPerConnectionMax else { break }
            head.headerFields[.connection] = "close"
            return context.write(self.wrapOutboundOut(.head(head)), promise: promise)
        case .body: break
        case .end:
            let written = promise ?? context.eventLoop.makePromise()
            written.futureResult.assumeIsolated().whenSuccess { self.answerWritten() }
            return context.write(data, promise: written)
        }
        context.write(data, promise: promise)
    }

    /// Remembers that an answer has been written to the client's socket.
    private func answerWritten() {
        self.answerCount += 1
        guard self.answerCount < self.limits.requestsPerConnectionMax else {
            self.enter(.parting, within: self.limits.partingDurationMax)
            self.context?.close(mode: .output, promise: nil)
            return
        }
        guard self.answerCount == self.requestCount else {
            return self.enter(.answering, within: self.answerDurationMax)
        }
        self.enter(.idle, within: self.limits.idleDurationMax)
    }

    // MARK: Time

    private var answerDurationMax: TimeAmount {
        self.asksForChannels ? self.limits.channelAnswerDurationMax : self.limits.answerDurationMax
    }

    private func enter(_ phase: Phase, within limit: TimeAmount) {
        guard let context = self.context else { return }
        self.phase = phase
        switch phase {
        case .idle, .receiving, .parting: self.waitsSince = self.waitsSince ?? .now()
        case .answering: self.waitsSince = nil
        }
        self.timer?.cancel()
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: limit) { self.close() }
    }

    private func end() {
        self.timer?.cancel()
        self.timer = nil
        self.context = nil
        self.connections.value.remove(self)
    }
}

/// Reports arriving bytes, and passes them on if they should be decoded.
private final class ByteWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let bytesCame: () -> Bool

    init(_ bytesCame: @escaping () -> Bool) { self.bytesCame = bytesCame }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if self.bytesCame() { context.fireChannelRead(data) }
    }
}

/// The connections of one admin port, all of them on one event loop.
final class AdminConnections {
    private var guards: [ObjectIdentifier: AdminConnectionGuard] = [:]

    /// Makes room for one more connection. It closes the connection that has kept us waiting longest, or the new one if
    /// none keeps us waiting.
    func add(_ added: AdminConnectionGuard, max: Int) {
        if self.guards.count >= max {
            let longest = self.guards.values.compactMap { one in one.waitsSince.map { (one, $0) } }
                .min { $0.1 < $1.1 }
            guard let longest else { return added.close() }
            self.guards.removeValue(forKey: ObjectIdentifier(longest.0))
            longest.0.close()
        }
        self.guards[ObjectIdentifier(added)] = added
    }

    func remove(_ one: AdminConnectionGuard) { self.guards.removeValue(forKey: ObjectIdentifier(one)) }
}
