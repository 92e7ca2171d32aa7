import HTTP2Session
import Testing

@Suite("HTTP/2 server session")
struct ServerTests {
    @Test func givesFieldsInOrderWithDuplicates() {
        let template = HTTP2HeaderTemplate([
            .fixed(":method", "POST"), .fixed(":scheme", "https"), .fixed(":path", "/3/device/ab"),
            .fixed(":authority", "a"),
            .fixed("apns-topic", "one"), .fixed("apns-topic", "two"), .fixed("apns-id", ""),
            .fixed("apns-topic", "one"),
        ])
        let pipe = HTTP2Pipe(chunkMax: 3)
        _ = pipe.client.submit(template, values: HTTP2HeaderValues(), body: [1, 2, 3], tag: 1)
        pipe.run()
        #expect(
            pipe.requests.first?.fields == [
                [":method", "POST"], [":scheme", "https"], [":path", "/3/device/ab"], [":authority", "a"],
                ["apns-topic", "one"],
                ["apns-topic", "two"], ["apns-id", ""], ["apns-topic", "one"],
            ])
        #expect(pipe.requests.first?.body == [1, 2, 3])
    }

    @Test func flagsABodyOverTheLimit() {
        var settings = HTTP2ServerSettings()
        settings.requestBodyByteCountMax = 100
        let pipe = HTTP2Pipe(server: settings)
        pipe.submit(1, bodyByteCount: 100)
        pipe.submit(2, bodyByteCount: 16_000)
        pipe.run()
        #expect(pipe.requests.map(\.bodyByteCount) == [100, 16_000])
        #expect(pipe.requests.map(\.body.count) == [100, 100])
    }

    @Test func flagsFieldsOverTheLimit() {
        var settings = HTTP2ServerSettings()
        settings.requestFieldsByteCountMax = 100
        let pipe = HTTP2Pipe(server: settings)
        pipe.submit(1)
        pipe.run()
        #expect(pipe.requests[0].fieldsTruncated)
        #expect(pipe.requests[0].value(":method") == "POST")
        #expect(pipe.requests[0].value("apns-topic") == nil)
        #expect(pipe.statuses == [1: 200])
    }

    /// Header fields that HTTP forbids end the stream but not the connection. Without checks the server accepts them.
    @Test(arguments: [true, false])
    func checksMessagesIfTold(checks: Bool) {
        var settings = HTTP2ServerSettings()
        settings.checksMessages = checks
        let pipe = HTTP2Pipe(server: settings)
        let template = HTTP2HeaderTemplate([
            .fixed(":method", "POST"), .fixed("connection", "close"), .fixed(":path", "/"),
        ])
        _ = pipe.client.submit(template, values: HTTP2HeaderValues(), tag: 1)
        pipe.submit(2)
        pipe.run()
        #expect(pipe.statuses == (checks ? [2: 200] : [1: 200, 2: 200]))
        #expect(pipe.failures == (checks ? [1: .resetByPeer(.protocolError)] : [:]))
    }

    /// The client's body stops when the window is used up, until the server releases the window.
    @Test func canStallAClient() {
        var settings = HTTP2ServerSettings()
        settings.initialWindowByteCount = 100
        settings.acknowledgesData = false
        let pipe = HTTP2Pipe(server: settings)
        pipe.run()
        pipe.submit(1)
        pipe.run()
        #expect(pipe.requests.isEmpty)
        #expect(pipe.client.openStreamCount == 1)
        pipe.server.releaseWindows()
        pipe.run()
        #expect(pipe.requests.isEmpty)
        pipe.server.releaseWindows()
        pipe.run()
        #expect(pipe.requests.count == 1)
        #expect(pipe.statuses == [1: 200])
    }

    @Test func answersOnlyOnce() {
        let pipe = HTTP2Pipe()
        var results: [Bool] = []
        pipe.onRequest = { server, request in
            results.append(server.respond(streamID: request.streamID, acceptedTemplate, values: HTTP2HeaderValues()))
            var values = HTTP2HeaderValues()
            values.append(uuid: (1, 2))
            results.append(server.respond(streamID: request.streamID, acceptedTemplate, values: values))
            results.append(server.respond(streamID: request.streamID, acceptedTemplate, values: values))
            results.append(server.respond(streamID: 77, acceptedTemplate, values: values))
        }
        pipe.submit(1)
        pipe.run()
        #expect(results == [false, true, false, false])
        #expect(pipe.statuses == [1: 200])
        #expect(!pipe.server.respond(streamID: 1, statusTemplate(200), values: HTTP2HeaderValues()))
        #expect(pipe.serverEvents.contains(.streamClosed(streamID: 1, errorCode: .noError)))
    }

    @Test func answersLaterAndInAnyOrder() {
        let pipe = HTTP2Pipe()
        pipe.onRequest = { _, _ in }
        pipe.run()
        for number in 0..<100 { pipe.submit(number) }
        pipe.run()
        for request in pipe.requests.reversed() {
            pipe.server.respond(
                streamID: request.streamID, statusTemplate(410), values: HTTP2HeaderValues(), body: request.body)
        }
        pipe.run()
        #expect(pipe.statuses.count == 100)
        #expect(pipe.clientBodies[42] == [UInt8](repeating: 42, count: 266))
    }

    @Test(arguments: [
        (HTTP2SettingsChange(initialWindowByteCount: 1 << 31), false),
        (HTTP2SettingsChange(frameByteCountMax: 1), false),
        (HTTP2SettingsChange(concurrentStreamsMax: 0), true), (HTTP2SettingsChange(), true),
    ])
    func refusesSettingsOutOfRange(change: HTTP2SettingsChange, taken: Bool) {
        #expect(HTTP2ServerSession().change(change) == taken)
    }

    @Test func aLargeConnectionWindowIsAnnounced() {
        var settings = HTTP2ServerSettings()
        settings.connectionWindowByteCount = 10_000_000
        settings.acknowledgesData = false
        let pipe = HTTP2Pipe(server: settings)
        pipe.run()
        for number in 0..<900 { pipe.submit(number) }
        pipe.run()
        // The bodies, 240 KB in total, arrived without a WINDOW_UPDATE.
        #expect(pipe.requests.count == 900)
    }

    /// The server takes any number of resets. A client whose requests time out may reset all of them at once.
    @Test func takesAnyNumberOfResets() {
        let pipe = HTTP2Pipe()
        pipe.onRequest = { _, _ in }
        pipe.run()
        for round in 0..<5 {
            for number in 0..<900 { pipe.submit(900 * round + number) }
            pipe.run()
            for request in pipe.requests { pipe.client.reset(streamID: request.streamID) }
            pipe.requests.removeAll()
            pipe.run()
        }
        #expect(pipe.failures.count == 4_500)
        #expect(pipe.serverDebugData.isEmpty, "the server sent GOAWAY")
        #expect(!pipe.server.isFinished)
    }

    @Test(arguments: ["GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"])
    func refusesAClientThatSpeaksNoHTTP2(text: String) {
        let server = HTTP2ServerSession()
        let result = server.receive(Array(text.utf8).span.bytes)
        guard case .failed(let detail) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(!detail.isEmpty)
        #expect(server.isFinished)
    }
}
