import HTTP2Session
import PushModel
import Testing

@Suite("HTTP/2 requests and answers")
struct RequestTests {
    /// Thousands of requests and answers have bodies of all sizes, and their bytes are cut anywhere. Every tag gets its
    /// own answer, once.
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func everyRequestGetsItsAnswer(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var settings = HTTP2ServerSettings()
        settings.concurrentStreamsMax = UInt32.random(in: 1...300, using: &random)
        settings.initialWindowByteCount = [0, 1, 100, 65_535].randomElement(using: &random) == 0 ? 16 : 65_535
        let pipe = HTTP2Pipe(server: settings, seed: seed, chunkMax: Int.random(in: 1...3_000, using: &random))
        pipe.onRequest = { server, request in
            let number = Int(request.value(":path")!.dropFirst("/3/device/".count), radix: 16)!
            #expect(request.body == [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number % 700))
            #expect(request.fields.map { $0[0] } == pushTemplate.fields.map(\.name))
            #expect(request.value("apns-expiration") == "\(1_700_000_000 + number)")
            let answer = [UInt8](
                repeating: UInt8(truncatingIfNeeded: number &* 7), count: number % 3 == 0 ? 0 : number % 900)
            server.respond(
                streamID: request.streamID, statusTemplate(200 + number % 300), values: HTTP2HeaderValues(),
                body: answer)
        }
        pipe.run()
        let count = 2_000
        var next = 0
        while next < count {
            var burst = Int.random(in: 1...400, using: &random)
            while burst > 0, next < count, pipe.submit(next, bodyByteCount: next % 700).streamID != nil {
                next += 1
                burst -= 1
            }
            pipe.run()
        }
        #expect(pipe.finalEventCounts.count == count)
        #expect(pipe.finalEventCounts.values.allSatisfy { $0 == 1 })
        for (tag, status) in pipe.statuses {
            #expect(status == 200 + UInt16(tag % 300))
            let length = tag % 3 == 0 ? 0 : Int(tag % 900)
            #expect(pipe.clientBodies[tag] == [UInt8](repeating: UInt8(truncatingIfNeeded: tag &* 7), count: length))
        }
        #expect(pipe.client.openStreamCount == 0)
        #expect(pipe.server.openStreamCount == 0)
    }

    /// Bodies are sent completely even if they are larger than a stream's window. All of them together exceed the
    /// connection's window of 65,535 bytes.
    @Test(arguments: [1, 7, 100, 265, 266, 65_535])
    func bodiesPassThroughSmallWindows(window: UInt32) {
        var settings = HTTP2ServerSettings()
        settings.initialWindowByteCount = window
        let pipe = HTTP2Pipe(server: settings)
        pipe.run()
        for number in 0..<1_000 { pipe.submit(number) }
        pipe.run()
        #expect(pipe.requests.count == 1_000)
        #expect(pipe.requests.allSatisfy { $0.body == [UInt8](repeating: $0.body[0], count: 266) })
        #expect(pipe.statuses.count == 1_000)
    }

    /// Values that differ per push are not put into the peer's table. So the last request is as small as the second.
    @Test func aRequestStaysSmall() {
        let pipe = HTTP2Pipe()
        pipe.run()
        var sizes: [Int] = []
        for number in 0..<400 {
            let before = pipe.byteCountToServer
            pipe.submit(0x10_0000 + number * 2, bodyByteCount: 0)
            pipe.run()
            sizes.append(pipe.byteCountToServer - before)
        }
        #expect(sizes[0] > sizes[1])
        #expect(Set(sizes[1...]).max()! - Set(sizes[1...]).min()! <= 16)
        #expect(sizes[399] < 300)
    }

    /// With a table of 0 bytes, nothing can be indexed and all fields still arrive. They also arrive after the table's
    /// size has changed.
    @Test func worksWithoutAHeaderTable() {
        var settings = HTTP2ServerSettings()
        settings.headerTableByteCount = 0
        var clientSettings = HTTP2ClientSettings()
        clientSettings.headerTableByteCount = 0
        let pipe = HTTP2Pipe(client: clientSettings, server: settings, chunkMax: 50)
        pipe.run()
        for round in 0..<6 {
            for number in 0..<20 { pipe.submit(round * 20 + number) }
            pipe.run()
            pipe.server.change(HTTP2SettingsChange(headerTableByteCount: [4_096, 0, 64, 100, 65_536, 0][round]))
        }
        #expect(pipe.statuses.count == 120)
        #expect(Set(pipe.requests.map(\.fields.count)) == [pushTemplate.fields.count])
    }

    @Test func aRequestWithoutABodyEndsWithItsHeaders() {
        let pipe = HTTP2Pipe()
        let template = HTTP2HeaderTemplate([
            .fixed(":method", "GET"), .fixed(":scheme", "https"), .fixed(":path", "/"), .fixed(":authority", "a"),
        ])
        let result = pipe.client.submit(template, values: HTTP2HeaderValues(), tag: 9)
        #expect(result == .submitted(streamID: 1))
        pipe.run()
        #expect(pipe.statuses == [9: 200])
        #expect(pipe.requests[0].body == [])
    }

    @Test(
        arguments: [("17", 17), ("0", 0), ("soon", -1), ("", -1), ("-5", -1), ("9999999999", -1), ("1.5", -1)]
            as [(String, Int64)])
    func readsRetryAfter(text: String, seconds: Int64) {
        let pipe = HTTP2Pipe()
        pipe.onRequest = { server, request in
            server.respond(
                streamID: request.streamID, statusTemplate(429, [.fixed("retry-after", text)]),
                values: HTTP2HeaderValues())
        }
        pipe.submit(1)
        pipe.run()
        #expect(
            pipe.clientEvents.last
                == .responseFinished(
                    tag: 1, streamID: 1, status: 429, body: 0..<0, bodyByteCount: 0, retryAfterSeconds: seconds))
    }

    @Test func keepsTheStartOfALongAnswer() {
        let pipe = HTTP2Pipe()
        let body = (0..<40_000).map { UInt8(truncatingIfNeeded: $0) }
        pipe.onRequest = { server, request in
            server.respond(streamID: request.streamID, statusTemplate(400), values: HTTP2HeaderValues(), body: body)
        }
        pipe.submit(1)
        pipe.run()
        #expect(pipe.clientBodies[1] == Array(body[..<1_024]))
        guard case .responseFinished(_, _, 400, let range, 40_000, _) = pipe.clientEvents.last else {
            Issue.record("\(pipe.clientEvents)")
            return
        }
        #expect(range.count == 1_024)
    }

    /// An answer may arrive before the whole request was sent. The answer counts, and the rest of the request is not
    /// sent (RFC 9113 §8.1).
    @Test func anEarlyAnswerEndsTheRequest() {
        var settings = HTTP2ServerSettings()
        settings.initialWindowByteCount = 10
        settings.acknowledgesData = false
        settings.announcesHeaders = true
        let pipe = HTTP2Pipe(server: settings)
        pipe.run()
        pipe.submit(5)
        pipe.clientToServer()
        #expect(pipe.serverEvents.contains { if case .requestHeaders(1, _) = $0 { true } else { false } })
        #expect(pipe.server.respond(streamID: 1, statusTemplate(413), values: HTTP2HeaderValues(), body: [1, 2]))
        pipe.run()
        #expect(pipe.statuses == [5: 413])
        #expect(pipe.clientBodies[5] == [1, 2])
        #expect(pipe.client.openStreamCount == 0)
        #expect(pipe.server.openStreamCount == 0)
        #expect(pipe.requests.isEmpty)
    }

    @Test func refusesWhatDoesNotFit() {
        let pipe = HTTP2Pipe()
        #expect(pipe.submit(1, bodyByteCount: 16_385) == .bodyTooLong(byteCountMax: 16_384))
        let result = pipe.client.submit(pushTemplate, values: HTTP2HeaderValues(), body: [1], tag: 1)
        #expect(result == .valueCountMismatch(expected: 4))
        #expect(pipe.client.openStreamCount == 0)
        #expect(pipe.submit(1, bodyByteCount: 16_384).streamID == 1)
        pipe.run()
        #expect(pipe.statuses == [1: 200])
    }

    @Test func streamIDsRunOut() {
        var settings = HTTP2ClientSettings()
        settings.firstStreamID = Int32.max - 2
        let pipe = HTTP2Pipe(client: settings)
        #expect(pipe.client.streamIDsLeft == 2)
        #expect(pipe.submit(1).streamID == Int32.max - 2)
        #expect(pipe.submit(2).streamID == Int32.max)
        #expect(pipe.client.streamIDsLeft == 0)
        #expect(pipe.client.credit == 0)
        #expect(pipe.submit(3) == .streamIDsExhausted)
        pipe.run()
        #expect(pipe.statuses == [1: 200, 2: 200])
    }

    /// The owner may release a template before its frame is written. Here every request has a template of its own.
    @Test func templatesLiveAsLongAsTheirFrames() {
        let pipe = HTTP2Pipe()
        pipe.run()
        // These are more templates than the encoder keeps plans for.
        for round in 0..<100 {
            for number in 0..<10 {
                let template = HTTP2HeaderTemplate([
                    .fixed(":method", "POST"), .fixed(":scheme", "https"), .fixed(":path", "/\(round)"),
                    .fixed(":authority", "a"),
                    .fixed("X-Number", "\(round * 10 + number)"),
                ])
                let result = pipe.client.submit(template, values: HTTP2HeaderValues(), tag: UInt32(round * 10 + number))
                #expect(result.streamID != nil)
            }
            pipe.run()
        }
        #expect(pipe.requests.map { $0.value("x-number") } == (0..<1_000).map { "\($0)" })
    }
}

@Suite("Header values")
struct HeaderValuesTests {
    private func text(_ fill: (inout HTTP2HeaderValues) -> Void) -> String? {
        let template = HTTP2HeaderTemplate([
            .fixed(":method", "GET"), .fixed(":scheme", "https"), .fixed(":path", "/"), .fixed(":authority", "a"),
            .variable("x"),
        ])
        var values = HTTP2HeaderValues()
        fill(&values)
        let pipe = HTTP2Pipe()
        _ = pipe.client.submit(template, values: values, tag: 0)
        pipe.run()
        return pipe.requests.first?.value("x")
    }

    @Test(arguments: [0, 7, 10, 1_700_000_000, -1, .max, .min] as [Int64])
    func writesDecimals(number: Int64) {
        #expect(self.text { $0.append(decimal: number) } == "\(number)")
    }

    @Test func writesUUIDs() {
        #expect(
            self.text { $0.append(uuid: (0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210)) }
                == "01234567-89ab-cdef-fedc-ba9876543210")
        #expect(self.text { $0.append(uuid: (0, 0)) } == "00000000-0000-0000-0000-000000000000")
    }

    @Test func joinsParts() {
        let text = self.text {
            $0.appendPart("/a/")
            $0.appendPart([98, 99].span)
            $0.appendPart(decimal: 12)
            $0.endValue()
        }
        #expect(text == "/a/bc12")
        #expect(self.text { $0.endValue() } == "")
    }
}
