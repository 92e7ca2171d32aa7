import Glibc
import HTTP2Session
import NIOCore
import TLSSession

/// One client's connection: runs TLS and HTTP/2 over the channel's bytes, and carries out the judge's rulings. It is
/// confined to its event loop.
final class ConnectionHandler: ChannelInboundHandler, ConnectionActor {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Number of bytes of plaintext taken from the HTTP/2 session at once.
    private static let plaintextByteCount = 65_536

    private let shared: SharedSimulator
    private let tls: TLSSession
    private let http: HTTP2ServerSession
    private var record: ConnectionRecord
    private var announcedStreamsMax: UInt32
    private var context: ChannelHandlerContext?

    // What the session reported in a turn; reused.
    private var events = HTTP2ServerEvents()
    private var rulings = Rulings()
    private var values = HTTP2HeaderValues()
    private let plaintext: UnsafeMutableRawBufferPointer
    private var ciphertext = ByteBuffer()

    private var delayed = DelayedAnswers()
    /// Indices of tokens whose delayed answers have just left; reused.
    private var answeredTokens: [Int32] = []
    private var timer: (scheduled: Scheduled<Void>, dueNanos: UInt64)?
    /// Whether to close after GOAWAY once nothing is left to answer.
    private var closesWhenIdle = false
    /// GOAWAYs that faults requested and that have not left yet.
    private var ordered: [GoAway] = []
    /// Whether the connection is half-dead: nothing is read or written.
    private var isSilent = false
    /// Whether no WINDOW_UPDATE is sent for received data.
    private var isStarved = false
    /// Frames written by hand. They wait until the session has nothing to write, so that they do not land inside one of
    /// the session's frames.
    private var rawFrames: [UInt8] = []
    /// Streams that are reset after `rawFrames` was written, each with its error code.
    private var rawEndings: [(streamID: Int32, errorCode: HTTP2ErrorCode)] = []
    private var slowReading: SlowReading?
    private var isClosing = false

    init(shared: SharedSimulator, number: Int, door: Door) throws(TLSError) {
        self.shared = shared
        self.record = ConnectionRecord(number: number, door: door)
        let record = self.record
        self.announcedStreamsMax = shared.withState { $0.streamsMax(of: record) }
        var settings = HTTP2ServerSettings()
        settings.concurrentStreamsMax = self.announcedStreamsMax
        settings.initialWindowByteCount = shared.configuration.initialWindowByteCount
        settings.frameByteCountMax = shared.configuration.frameByteCountMax
        settings.headerTableByteCount = shared.configuration.headerTableByteCount
        settings.headerListByteCountMax = shared.configuration.headerListByteCountMax
        // What HTTP/2 itself forbids ends in a reset (RFC 9113 §8.1.1). A repeated or odd field is for the judge to
        // refuse, as APNs would.
        settings.checksMessages = true
        // Windows are given back at the end of a turn, unless a fault forbids it.
        settings.acknowledgesData = false
        self.isSilent = shared.withState { $0.isMute }
        self.http = HTTP2ServerSession(settings: settings)
        self.tls = try TLSSession(server: shared.tls)
        self.plaintext = .allocate(byteCount: Self.plaintextByteCount, alignment: 16)
    }

    deinit { self.plaintext.deallocate() }

    // MARK: The channel's events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if self.isSilent { self.beSilent(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isSilent, !self.isClosing else { return }
        let buffer = self.unwrapInboundIn(data)
        var failure: String?
        let state = self.tls.receive(buffer.readableBytesSpan) { plaintext in
            if case .failed(let detail) = self.http.receive(plaintext) { failure = detail }
        }
        if case .failed(let error) = state { self.recordViolation(.tls, error.detail) }
        if let failure { self.recordViolation(.http2, failure) }
    }

    func channelReadComplete(context: ChannelHandlerContext) { self.turn(context) }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { self.turn(context) }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.timer?.scheduled.cancel()
        self.timer = nil
        self.slowReading?.stop()
        self.isClosing = true
        self.record.statistics.isOpen = false
        self.shared.delayedEnded(self.delayed.count, tokens: self.delayed.tokens)
        self.shared.closed(self.record.statistics)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // For example, the client has reset the connection. The statistics already have everything that matters.
        context.close(promise: nil)
    }

    // A turn: take what arrived, judge it under one lock, answer, write everything with one flush.

    private func turn(_ context: ChannelHandlerContext) {
        guard !self.isSilent, !self.isClosing else { return }
        self.judge()
        self.carryOut(context)
        guard !self.isSilent, !self.isClosing else { return }
        self.sendDue()
        if !self.isStarved { self.http.releaseWindows() }
        self.flush(context)
        // The session reports a breach of the protocol only after its answer to the breach was written.
        if self.http.isFinished || self.http.hasMalformedRequests { self.judge() }
        self.scheduleTimer(context)
        self.closeIfDone(context)
    }

    private func judge() {
        self.http.takeEvents(into: &self.events)
        self.rulings.removeAll()
        guard !self.events.events.isEmpty else { return }
        let nowMillis = self.shared.nowMillis()
        let openStreamCount = self.http.openStreamCount
        var (wasAsked, wasMalformed) = (false, false)
        self.shared.judge { state in
            for event in self.events.events {
                switch event {
                case .request(let request):
                    wasAsked = true
                    state.judge(
                        request, in: self.events, on: &self.record, nowMillis: nowMillis, rulings: &self.rulings)
                case .goAwaySent(_, let errorCode, let debugData):
                    guard !self.isOurs(errorCode, self.events.bytes[debugData]) else { continue }
                    // The session sent this GOAWAY itself: the client broke the protocol, and the debug data says how.
                    let words = String(decoding: self.events.bytes[debugData], as: UTF8.self)
                    state.record(
                        .http2, "\(errorCode): \(words)", connection: self.record.statistics.number,
                        nowMillis: nowMillis)
                case .requestMalformed(_, let detail):
                    wasMalformed = true
                    let words = String(decoding: self.events.bytes[detail], as: UTF8.self)
                    state.record(
                        .http2, "malformed request: \(words)", connection: self.record.statistics.number,
                        nowMillis: nowMillis)
                case .streamClosed, .requestHeaders, .settingsAcknowledged, .goAwayReceived, .pingAcknowledged:
                    continue
                }
            }
            if wasAsked {
                self.record.statistics.inFlightPeak = max(self.record.statistics.inFlightPeak, openStreamCount)
                state.counters.connections[self.record.statistics.number] = self.record.statistics
            }
            state.answered(self.rulings.answeredTokens)
            self.rulings.concurrentStreamsMax = state.streamsMax(of: self.record)
        }
        if self.rulings.concurrentStreamsMax != self.announcedStreamsMax {
            self.announce(self.rulings.concurrentStreamsMax)
        }
        if wasAsked || wasMalformed { self.shared.changed() }
    }

    /// Whether a GOAWAY that left is one that a fault asked for.
    private func isOurs(_ errorCode: HTTP2ErrorCode, _ debugData: ArraySlice<UInt8>) -> Bool {
        let index = self.ordered.firstIndex { $0.errorCode == errorCode && $0.debugData.elementsEqual(debugData) }
        guard let index else { return false }
        self.ordered.remove(at: index)
        return true
    }

    private func announce(_ streamsMax: UInt32) {
        self.announcedStreamsMax = streamsMax
        self.http.change(HTTP2SettingsChange(concurrentStreamsMax: streamsMax))
    }

    private func carryOut(_ context: ChannelHandlerContext) {
        let now = NIODeadline.now().uptimeNanoseconds
        for (answer, delayNanos) in self.rulings.answers {
            if delayNanos == 0 {
                self.respond(answer)
            } else {
                self.delayed.add(answer, dueNanos: now + UInt64(delayNanos))
            }
        }
        for effect in self.rulings.effects {
            switch effect {
            case .reset(let streamID, let code): self.http.reset(streamID: streamID, errorCode: code)
            case .goAway(let goAway): self.send(goAway)
            case .cut: self.close(context)
            case .half(let streamID, let odd):
                self.rawFrames += odd.frames(streamID: streamID)
                switch odd.ending {
                case .complete: self.rawEndings.append((streamID, .noError))
                case .stall: break
                case .reset(let code): self.rawEndings.append((streamID, code))
                }
            case .then(let action): self.carryOut(action, context)
            }
        }
    }

    private func respond(_ answer: Answer) {
        self.values.removeAll()
        if answer.prepared?.sendsMessageID ?? true { self.values.append(uuid: answer.messageID) }
        let hasPage = self.appendPage(answer)
        if let prepared = answer.prepared {
            let body = prepared.body
            let template = prepared.template(isAboutChannels: answer.isAboutChannels, hasPage: hasPage)
            self.http.respond(streamID: answer.streamID, template, values: self.values, body: body.span)
        } else if let reason = answer.reason {
            let form = AnswerForms.refusal(
                reason, isAboutChannels: answer.isAboutChannels, hasPage: hasPage,
                timestampMillis: answer.timestampMillis)
            self.http.respond(streamID: answer.streamID, form.template, values: self.values, body: form.body.span)
        } else {
            self.succeed(answer.streamID, answer.success, hasPage: hasPage)
        }
    }

    /// Appends the address of the push's page, after the push's id. Returns whether the push has such a page.
    private func appendPage(_ answer: Answer) -> Bool {
        guard let pageOfPush = self.shared.configuration.pageOfPush, !answer.isAboutChannels, !answer.isPassedOver,
            let page = pageOfPush(MessageID.text(answer.messageID))
        else { return false }
        self.values.append(Array(page.utf8))
        return true
    }

    /// Sends a successful answer. `values` holds the answer's id already, and then the address of the push's page if
    /// there is one.
    private func succeed(_ streamID: Int32, _ success: Success, hasPage: Bool) {
        switch success {
        case .push:
            let template = hasPage ? AnswerForms.acceptedWithPage : AnswerForms.accepted
            self.http.respond(streamID: streamID, template, values: self.values, body: Span())
        case .broadcast(let uniqueID):
            self.values.append(uuid: uniqueID)
            self.http.respond(streamID: streamID, AnswerForms.broadcast, values: self.values, body: Span())
        case .created(let channelID):
            self.values.append(channelID)
            self.http.respond(streamID: streamID, AnswerForms.created, values: self.values, body: Span())
        case .body(let body):
            self.http.respond(streamID: streamID, AnswerForms.channelsBody, values: self.values, body: body.span)
        case .deleted:
            self.http.respond(streamID: streamID, AnswerForms.deleted, values: self.values, body: Span())
        }
    }

    private func send(_ goAway: GoAway) {
        let asked: Int32
        switch goAway.lastStream {
        case .highest, .current: asked = self.http.lastStreamID
        // A client's stream ids are odd, so the ids of two neighbours differ by 2.
        case .below(let count): asked = max(0, self.http.lastStreamID &- Int32(clamping: min(count, 1 << 29)) * 2)
        case .id(let id): asked = max(0, id)
        }
        // A later GOAWAY must not name a higher stream than the previous one (RFC 9113 §6.8).
        self.record.lastStreamIDMax = min(self.record.lastStreamIDMax, asked)
        self.ordered.append(goAway)
        self.http.goAway(
            lastStreamID: self.record.lastStreamIDMax, errorCode: goAway.errorCode, debugData: goAway.debugData)
        if goAway.closes { self.closesWhenIdle = true }
    }

    private func sendDue() {
        guard self.delayed.count > 0 else { return }
        let now = NIODeadline.now().uptimeNanoseconds
        let countBefore = self.delayed.count
        self.answeredTokens.removeAll(keepingCapacity: true)
        while let answer = self.delayed.take(nowNanos: now) {
            self.respond(answer)
            if answer.token >= 0 { self.answeredTokens.append(answer.token) }
        }
        self.shared.delayedEnded(countBefore - self.delayed.count, tokens: self.answeredTokens)
    }

    private func flush(_ context: ChannelHandlerContext) {
        if case .established = self.tls.state {
            self.drainSession(context)
            if !self.rawFrames.isEmpty, !self.http.wantsWrite {
                self.tls.write(self.rawFrames.span.bytes)
                self.rawFrames.removeAll()
                for ending in self.rawEndings {
                    self.http.reset(streamID: ending.streamID, errorCode: ending.errorCode)
                }
                self.rawEndings.removeAll()
                self.drainSession(context)
            }
        }
        self.writeCiphertext(context)
        context.flush()
    }

    /// Writes what the session has, until the channel is full. The rest waits in the session, where the number of
    /// streams bounds it.
    private func drainSession(_ context: ChannelHandlerContext) {
        while context.channel.isWritable {
            let count = self.http.drain(into: self.plaintext)
            guard count > 0 else { return }
            self.tls.write(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(self.plaintext)[..<count]))
            self.writeCiphertext(context)
        }
    }

    private func writeCiphertext(_ context: ChannelHandlerContext) {
        guard self.tls.ciphertextByteCount > 0 else { return }
        self.ciphertext.clear()
        self.tls.takeCiphertext { _ = self.ciphertext.writeBytes($0) }
        context.write(self.wrapOutboundOut(self.ciphertext), promise: nil)
    }

    private func scheduleTimer(_ context: ChannelHandlerContext) {
        guard let due = self.delayed.nextDueNanos else { return }
        if let timer = self.timer, timer.dueNanos <= due { return }
        self.timer?.scheduled.cancel()
        let scheduled = context.eventLoop.assumeIsolated().scheduleTask(deadline: .uptimeNanoseconds(due)) {
            self.timer = nil
            if let context = self.context { self.turn(context) }
        }
        self.timer = (scheduled, due)
    }

    private func closeIfDone(_ context: ChannelHandlerContext) {
        switch self.tls.state {
        case .handshaking:
            return
        case .failed, .peerClosed:
            self.close(context)
        case .established:
            if self.http.isFinished || (self.closesWhenIdle && self.http.openStreamCount == 0 && !self.http.wantsWrite)
            {
                self.shutDown(context)
            }
        }
    }

    /// Ends the connection in good order: first close_notify, then the end of TCP.
    private func shutDown(_ context: ChannelHandlerContext) {
        self.tls.shutdown()
        self.writeCiphertext(context)
        context.flush()
        self.close(context)
    }

    private func close(_ context: ChannelHandlerContext) {
        guard !self.isClosing else { return }
        self.isClosing = true
        context.close(promise: nil)
    }

    private func recordViolation(_ kind: Violation.Kind, _ detail: String) {
        let (number, now) = (self.record.statistics.number, self.shared.nowMillis())
        self.shared.withState { $0.record(kind, detail, connection: number, nowMillis: now) }
    }

    // MARK: On demand

    func perform(_ action: ConnectionAction) {
        guard let context = self.context, !self.isClosing else { return }
        self.carryOut(action, context)
        self.turn(context)
    }

    /// Carries out the action, except for what the next flush writes.
    private func carryOut(_ action: ConnectionAction, _ context: ChannelHandlerContext) {
        guard !self.isClosing else { return }
        switch action {
        case .goAway(let goAway):
            self.send(goAway)
        case .cut:
            self.close(context)
        case .reset:
            // Without lingering, closing discards unsent bytes and resets the connection (socket(7)). The option is set
            // at once, because this code runs on the channel's loop.
            let noLinger = linger(l_onoff: 1, l_linger: 0)
            _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(noLinger)
            self.close(context)
        case .close:
            self.shutDown(context)
        case .cutMidRecord:
            self.cutMidRecord(context)
        case .settings(let change):
            if let streamsMax = change.concurrentStreamsMax { self.announcedStreamsMax = streamsMax }
            self.http.change(change)
        case .silence:
            self.beSilent(context)
        case .slowReads(let bytesPerSecond):
            self.slowReading?.stop()
            self.slowReading = SlowReading(context, bytesPerSecond: bytesPerSecond)
        case .starve:
            self.isStarved = true
        case .resume:
            self.slowReading?.stop()
            self.slowReading = nil
            self.isSilent = false
            self.isStarved = false
            try? context.channel.syncOptions?.setOption(.autoRead, value: true)
        case .ping:
            self.http.ping(payload: UInt64(self.record.statistics.number))
        case .frames(let frames):
            self.rawFrames += frames.bytes
        }
    }

    private func beSilent(_ context: ChannelHandlerContext) {
        self.isSilent = true
        self.timer?.scheduled.cancel()
        self.timer = nil
        self.slowReading?.stop()
        self.slowReading = nil
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
    }

    /// Sends the first half of a TLS record, and closes the connection.
    private func cutMidRecord(_ context: ChannelHandlerContext) {
        self.http.ping(payload: 0)
        let count = self.http.drain(into: self.plaintext)
        self.tls.write(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(self.plaintext)[..<count]))
        self.ciphertext.clear()
        self.tls.takeCiphertext { _ = self.ciphertext.writeBytes($0) }
        if let half = self.ciphertext.readSlice(length: self.ciphertext.readableBytes / 2) {
            context.writeAndFlush(self.wrapOutboundOut(half), promise: nil)
        }
        self.close(context)
    }
}
