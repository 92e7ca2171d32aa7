import NIOCore
import TLSSession

/// One client's connection in sink mode. It is confined to its event loop. It supports latency (without jitter) and the
/// actions that end a connection or send nothing. Other faults need the full mode.
final class SinkHandler: ChannelInboundHandler, ConnectionActor {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let shared: SharedSimulator
    private let tls: TLSSession
    private var session = SinkSession()
    private var statistics = SimulatorStatistics.Connection()
    private var context: ChannelHandlerContext?
    private var output: [UInt8] = []
    private var ciphertext = ByteBuffer()
    /// Delayed answers, in the order in which they are sent. Answers before `delayedStart` have left.
    private var delayed: [(dueNanos: UInt64, finished: UInt32)] = []
    private var delayedStart = 0
    private var timerIsSet = false
    private var isSilent = false
    private var isClosing = false

    init(shared: SharedSimulator, number: Int) throws(TLSError) {
        self.shared = shared
        self.statistics.number = number
        self.tls = try TLSSession(server: shared.tls)
        SinkSession.appendSettings(concurrentStreamsMax: shared.configuration.concurrentStreamsMax, to: &self.output)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isSilent, !self.isClosing else { return }
        let buffer = self.unwrapInboundIn(data)
        self.tls.receive(buffer.readableBytesSpan) { plaintext in
            self.session.receive(Span(_bytes: plaintext), output: &self.output)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) { self.turn(context) }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { self.turn(context) }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.isClosing = true
        self.shared.delayedEnded(self.delayed.count - self.delayedStart)
        self.shared.closed(self.statistics)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func turn(_ context: ChannelHandlerContext) {
        guard !self.isSilent, !self.isClosing else { return }
        self.answer(context)
        self.flush(context)
        switch (self.tls.state, self.session.state) {
        case (.failed, _), (.peerClosed, _), (_, .failed):
            self.isClosing = true
            context.close(promise: nil)
        case (.handshaking, .open), (.established, .open):
            break
        }
    }

    private func answer(_ context: ChannelHandlerContext) {
        if !self.session.finished.isEmpty {
            let latencyMillis = self.count()
            let due = NIODeadline.now().uptimeNanoseconds + UInt64(latencyMillis) * 1_000_000
            for finished in self.session.finished {
                if latencyMillis == 0 {
                    SinkSession.appendAnswer(finished, to: &self.output)
                } else {
                    self.delayed.append((due, finished))
                }
            }
            self.session.finished.removeAll(keepingCapacity: true)
        }
        guard self.delayedStart < self.delayed.count else { return }
        let startBefore = self.delayedStart
        let now = NIODeadline.now().uptimeNanoseconds
        while self.delayedStart < self.delayed.count, self.delayed[self.delayedStart].dueNanos <= now {
            SinkSession.appendAnswer(self.delayed[self.delayedStart].finished, to: &self.output)
            self.delayedStart += 1
        }
        self.shared.delayedEnded(self.delayedStart - startBefore)
        if self.delayedStart == self.delayed.count {
            self.delayed.removeAll(keepingCapacity: true)
            self.delayedStart = 0
        } else {
            self.setTimer(context)
        }
    }

    /// Adds the finished requests to the counters and returns the current latency in milliseconds.
    private func count() -> Int64 {
        let faulty = self.session.finished.count { $0 & SinkSession.faultyBit != 0 }
        let all = self.session.finished.count
        self.statistics.requests += all
        self.statistics.accepted += all - faulty
        self.statistics.inFlightPeak = max(self.statistics.inFlightPeak, all)
        let statistics = self.statistics
        let latency = self.shared.withState { state in
            state.counters.requests += all
            state.counters.accepted += all - faulty
            if faulty > 0 { state.counters.countRefusals("400", faulty) }
            if state.latency.fixedMillis > 0 { state.counters.delayed += all }
            state.counters.connections[statistics.number] = statistics
            return state.latency.fixedMillis
        }
        self.shared.changed()
        return latency
    }

    private func setTimer(_ context: ChannelHandlerContext) {
        guard !self.timerIsSet else { return }
        self.timerIsSet = true
        let deadline = NIODeadline.uptimeNanoseconds(self.delayed[self.delayedStart].dueNanos)
        context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.timerIsSet = false
            if let context = self.context { self.turn(context) }
        }
    }

    private func flush(_ context: ChannelHandlerContext) {
        if case .established = self.tls.state, !self.output.isEmpty {
            self.tls.write(self.output.span.bytes)
            self.output.removeAll(keepingCapacity: true)
        }
        guard self.tls.ciphertextByteCount > 0 else { return }
        self.ciphertext.clear()
        self.tls.takeCiphertext { _ = self.ciphertext.writeBytes($0) }
        context.writeAndFlush(self.wrapOutboundOut(self.ciphertext), promise: nil)
    }

    func perform(_ action: ConnectionAction) {
        guard let context = self.context, !self.isClosing else { return }
        switch action {
        case .cut, .reset, .cutMidRecord:
            self.isClosing = true
            context.close(promise: nil)
        case .close:
            self.tls.shutdown()
            self.flush(context)
            self.isClosing = true
            context.close(promise: nil)
        case .silence:
            self.isSilent = true
        case .goAway, .settings, .ping, .slowReads, .starve, .resume, .frames:
            break
        }
    }
}
