import HTTP2Session
import Testing

@Suite("HTTP/2 connection events")
struct ConnectionTests {
    /// The peer lowers the stream limit to 1, and raises it again. The client's credit follows at once.
    @Test func followsTheStreamLimit() {
        let pipe = HTTP2Pipe()
        pipe.run()
        #expect(pipe.client.remoteSettingsReceived)
        #expect(pipe.client.remoteConcurrentStreamsMax == 1_000)
        #expect(pipe.client.credit == 1_000)
        pipe.server.change(HTTP2SettingsChange(concurrentStreamsMax: 1))
        pipe.run()
        #expect(pipe.clientEvents.last == .settingsChanged(concurrentStreamsMax: 1))
        #expect(pipe.serverEvents.last == .settingsAcknowledged)
        #expect(pipe.client.credit == 1)
        #expect(pipe.submit(1).streamID != nil)
        #expect(pipe.client.credit == 0)
        #expect(pipe.submit(2) == .noCredit)
        pipe.run()
        #expect(pipe.client.credit == 1)
        pipe.server.change(HTTP2SettingsChange(concurrentStreamsMax: 0))
        pipe.run()
        #expect(pipe.submit(2) == .noCredit)
        pipe.server.change(HTTP2SettingsChange(concurrentStreamsMax: 500))
        pipe.run()
        #expect(pipe.client.credit == 500)
        #expect(pipe.submit(2).streamID != nil)
        pipe.run()
        #expect(pipe.statuses == [1: 200, 2: 200])
    }

    @Test func ourOwnLimitHoldsToo() {
        var settings = HTTP2ClientSettings()
        settings.concurrentStreamsMax = 3
        let pipe = HTTP2Pipe(client: settings)
        pipe.run()
        for number in 0..<3 { #expect(pipe.submit(number).streamID != nil) }
        #expect(pipe.submit(3) == .noCredit)
    }

    /// The peer lowers the limit while requests are on their way. Requests above the limit are answered with
    /// REFUSED_STREAM: they were not processed.
    @Test func requestsOverALoweredLimitAreRefused() {
        let pipe = HTTP2Pipe()
        pipe.onRequest = { _, _ in }
        pipe.run()
        for number in 0..<10 { pipe.submit(number) }
        pipe.server.change(HTTP2SettingsChange(concurrentStreamsMax: 4))
        var settings: [UInt8] = []
        pipe.server.drain(appendingTo: &settings)
        pipe.clientToServer()
        pipe.client.receive(settings.span.bytes)
        pipe.run()
        #expect(pipe.failures.count == 6)
        #expect(pipe.failures.values.allSatisfy { $0 == .resetByPeer(.refusedStream) && $0.isKnownUnprocessed })
        #expect(pipe.client.openStreamCount == 4)
        #expect(pipe.client.credit == 0)
        for request in pipe.requests {
            pipe.server.respond(streamID: request.streamID, statusTemplate(200), values: HTTP2HeaderValues())
        }
        pipe.run()
        #expect(pipe.statuses.count == 4)
    }

    /// If the peer lowers the limit before requests have left, the requests wait in the session and can be taken back.
    @Test func unsentRequestsCanBeWithdrawn() {
        let pipe = HTTP2Pipe()
        pipe.run()
        pipe.server.change(HTTP2SettingsChange(concurrentStreamsMax: 1))
        for number in 0..<10 { pipe.submit(number) }
        pipe.serverToClient()
        #expect(pipe.client.credit == 0)
        pipe.client.withdrawUnsent()
        pipe.takeClientEvents()
        #expect(pipe.failures.count == 10)
        #expect(pipe.failures.values.allSatisfy { $0 == .requestIncomplete && $0.isKnownUnprocessed })
        pipe.run()
        #expect(pipe.requests.isEmpty)
        #expect(pipe.client.openStreamCount == 0)
        #expect(pipe.client.credit == 1)
        #expect(pipe.submit(11).streamID != nil)
        pipe.run()
        #expect(pipe.statuses == [11: 200])
        #expect(pipe.finalEventCounts.values.allSatisfy { $0 == 1 })
    }

    @Test func goAwaySeparatesProcessedFromUnprocessed() {
        let pipe = HTTP2Pipe()
        pipe.onRequest = { _, _ in }
        pipe.run()
        for number in 0..<10 { pipe.submit(number) }
        pipe.run()
        let reason = Array(#"{"reason":"Shutdown"}"#.utf8)
        pipe.server.goAway(lastStreamID: 7, errorCode: .noError, debugData: reason)
        pipe.run()
        guard
            case .goAwayReceived(lastStreamID: 7, errorCode: .noError, _)? = pipe.clientEvents.first(where: {
                if case .goAwayReceived = $0 { true } else { false }
            })
        else {
            Issue.record("\(pipe.clientEvents)")
            return
        }
        #expect(pipe.clientDebugData == [reason])
        // Streams 1, 3, 5 and 7 continue. Streams 9 to 19 were not processed.
        #expect(Set(pipe.failures.keys) == Set(4...9))
        #expect(pipe.failures.values.allSatisfy { $0 == .aboveGoAway && $0.isKnownUnprocessed })
        #expect(pipe.submit(99) == .closing)
        #expect(pipe.client.credit == 0)
        #expect(!pipe.client.isFinished)
        for streamID: Int32 in [1, 3, 5, 7] {
            pipe.server.respond(streamID: streamID, statusTemplate(200), values: HTTP2HeaderValues())
        }
        pipe.run()
        #expect(pipe.statuses.keys.sorted() == [0, 1, 2, 3])
        #expect(pipe.client.isFinished)
        #expect(pipe.server.isFinished)
    }

    /// If GOAWAY arrives while requests are still queued, they are never sent.
    @Test func goAwayStopsQueuedRequests() {
        let pipe = HTTP2Pipe()
        pipe.run()
        for number in 0..<5 { pipe.submit(number) }
        pipe.server.goAway(lastStreamID: 0, errorCode: .enhanceYourCalm)
        pipe.serverToClient()
        pipe.run()
        #expect(pipe.requests.isEmpty)
        #expect(pipe.failures.count == 5)
        #expect(pipe.failures.values.allSatisfy { $0.isKnownUnprocessed })
    }

    @Test func twoGoAwaysNarrowDown() {
        let pipe = HTTP2Pipe()
        pipe.onRequest = { _, _ in }
        pipe.run()
        for number in 0..<3 { pipe.submit(number) }
        pipe.run()
        pipe.server.goAway(lastStreamID: .max)
        pipe.run()
        #expect(pipe.failures.isEmpty)
        #expect(pipe.submit(9) == .closing)
        pipe.server.goAway(lastStreamID: 2, errorCode: .internalError)
        pipe.run()
        #expect(pipe.failures == [1: .aboveGoAway, 2: .aboveGoAway])
    }

    @Test func ourGoAwayLetsOpenStreamsFinish() {
        let pipe = HTTP2Pipe()
        pipe.run()
        pipe.submit(1)
        pipe.client.goAway(debugData: [1, 2, 3])
        #expect(pipe.submit(2) == .closing)
        pipe.run()
        #expect(pipe.statuses == [1: 200])
        #expect(pipe.serverDebugData == [[1, 2, 3]])
        #expect(pipe.client.isFinished)
    }

    @Test func terminateEndsTheSession() {
        let pipe = HTTP2Pipe()
        pipe.onRequest = { _, _ in }
        pipe.run()
        pipe.submit(1)
        pipe.run()
        pipe.client.terminate()
        #expect(!pipe.client.isFinished)
        pipe.run()
        #expect(pipe.client.isFinished)
        #expect(pipe.failures.isEmpty)
        pipe.client.connectionLost()
        pipe.takeClientEvents()
        #expect(pipe.failures == [1: .connectionEnded])
    }

    @Test(arguments: [
        HTTP2ErrorCode.refusedStream, .cancel, .internalError, .enhanceYourCalm, .noError,
        HTTP2ErrorCode(rawValue: 0x1234),
    ])
    func aResetIsReported(code: HTTP2ErrorCode) {
        let pipe = HTTP2Pipe()
        pipe.onRequest = { server, request in server.reset(streamID: request.streamID, errorCode: code) }
        pipe.run()
        pipe.submit(1)
        pipe.run()
        #expect(pipe.failures == [1: .resetByPeer(code)])
        #expect(pipe.failures[1]?.isKnownUnprocessed == (code == .refusedStream))
        #expect(pipe.client.openStreamCount == 0)
    }

    /// A complete answer counts, even if RST_STREAM follows it.
    @Test func aResetAfterTheAnswerChangesNothing() {
        var settings = HTTP2ServerSettings()
        settings.initialWindowByteCount = 5
        settings.acknowledgesData = false
        settings.announcesHeaders = true
        let pipe = HTTP2Pipe(server: settings)
        pipe.run()
        pipe.submit(1)
        pipe.clientToServer()
        pipe.server.respond(streamID: 1, statusTemplate(400), values: HTTP2HeaderValues())
        var answer: [UInt8] = []
        pipe.server.drain(appendingTo: &answer)
        pipe.server.reset(streamID: 1, errorCode: .noError)
        pipe.server.drain(appendingTo: &answer)
        pipe.client.receive(answer.span.bytes)
        pipe.run()
        #expect(pipe.statuses == [1: 400])
        #expect(pipe.finalEventCounts == [1: 1])
    }

    @Test func resettingAStreamGivesItsEventAtOnce() throws {
        let pipe = HTTP2Pipe()
        pipe.onRequest = { _, _ in }
        pipe.run()
        let sent = try #require(pipe.submit(1).streamID)
        pipe.run()
        let queued = try #require(pipe.submit(2).streamID)
        pipe.client.reset(streamID: sent)
        pipe.client.reset(streamID: queued)
        pipe.client.reset(streamID: sent)
        pipe.client.reset(streamID: 99)
        pipe.takeClientEvents()
        #expect(pipe.failures == [1: .resetLocally(.cancel), 2: .requestIncomplete])
        pipe.run()
        #expect(pipe.client.openStreamCount == 0)
        #expect(pipe.serverEvents.contains(.streamClosed(streamID: sent, errorCode: .cancel)))
        #expect(pipe.requests.count == 1)
        #expect(pipe.finalEventCounts == [1: 1, 2: 1])
    }

    /// An answer that arrives after our RST_STREAM has left is dropped. The stream's entry is reused for the next
    /// request.
    @Test func anAnswerCrossingOurResetIsIgnored() throws {
        let pipe = HTTP2Pipe()
        pipe.run()
        let streamID = try #require(pipe.submit(1).streamID)
        pipe.clientToServer()
        pipe.client.reset(streamID: streamID)
        pipe.run()
        #expect(pipe.submit(2).streamID != nil)
        pipe.run()
        #expect(pipe.failures == [1: .resetLocally(.cancel)])
        #expect(pipe.statuses == [2: 200])
    }

    @Test func pingsAreAnswered() {
        let pipe = HTTP2Pipe()
        pipe.client.ping(payload: 0x0102_0304_0506_0708)
        pipe.server.ping(payload: .max)
        pipe.run()
        #expect(pipe.clientEvents.contains(.pingAcknowledged(payload: 0x0102_0304_0506_0708)))
        #expect(pipe.serverEvents.contains(.pingAcknowledged(payload: .max)))
    }

    /// After a lost connection, a request that had completely left may have been processed. Any other request cannot
    /// have been processed.
    @Test func aLostConnectionTellsUnsentFromUnknown() {
        let pipe = HTTP2Pipe()
        pipe.onRequest = { _, _ in }
        pipe.run()
        for number in 0..<4 { pipe.submit(number) }
        pipe.clientToServer()
        for number in 4..<8 { pipe.submit(number) }
        // Only 100 bytes of the second four requests are taken. None of these requests has completely left, so all four
        // count as not sent.
        var piece: [UInt8] = []
        pipe.client.drain(appendingTo: &piece, byteCountMax: 100)
        #expect(piece.count == 100)
        pipe.client.connectionLost()
        pipe.client.connectionLost()
        pipe.takeClientEvents()
        #expect(pipe.failures.filter { $0.value == .connectionEnded }.keys.sorted() == [0, 1, 2, 3])
        #expect(pipe.failures.filter { $0.value == .requestIncomplete }.keys.sorted() == [4, 5, 6, 7])
        #expect(pipe.finalEventCounts.values.allSatisfy { $0 == 1 })
        #expect(pipe.submit(9) == .closing)
        #expect(pipe.client.isFinished)
        #expect(!pipe.clientToServer())
        guard case .failed = pipe.client.receive([0].span.bytes) else {
            Issue.record("a lost connection took bytes")
            return
        }
    }
}
