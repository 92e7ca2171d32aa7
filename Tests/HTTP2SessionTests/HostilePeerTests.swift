import HTTP2Session
import PushModel
import Testing

/// HTTP/2 frames that the test writes itself, because a correct session would not send them.
struct Frames {
    var bytes: [UInt8] = []

    mutating func add(type: UInt8, flags: UInt8 = 0, streamID: Int32 = 0, announced: Int? = nil, _ payload: [UInt8]) {
        let count = announced ?? payload.count
        self.bytes += [
            UInt8(truncatingIfNeeded: count >> 16), UInt8(truncatingIfNeeded: count >> 8),
            UInt8(truncatingIfNeeded: count),
        ]
        self.bytes += [type, flags]
        self.bytes += (0..<4).map { UInt8(truncatingIfNeeded: streamID >> (24 - 8 * Int32($0))) }
        self.bytes += payload
    }

    mutating func settings(_ entries: [(id: UInt16, value: UInt32)] = []) {
        self.add(
            type: 4,
            entries.flatMap { entry in
                [UInt8(entry.id >> 8), UInt8(entry.id & 255)]
                    + (0..<4).map { UInt8(truncatingIfNeeded: entry.value >> (24 - 8 * UInt32($0))) }
            })
    }

    /// Adds HEADERS whose fields are literals without indexing.
    mutating func headers(_ streamID: Int32, endStream: Bool, _ fields: [(String, String)]) {
        var block: [UInt8] = []
        for (name, value) in fields {
            block += [0, UInt8(name.utf8.count)] + Array(name.utf8)
            block += [UInt8(value.utf8.count)] + Array(value.utf8)
        }
        self.add(type: 1, flags: 4 | (endStream ? 1 : 0), streamID: streamID, block)
    }
}

@Suite("HTTP/2 with a peer that misbehaves")
struct HostilePeerTests {
    /// Returns a client that has sent one request and received these frames as the answer.
    private func client(_ build: (inout Frames) -> Void) -> HTTP2Pipe {
        let pipe = HTTP2Pipe()
        pipe.submit(1)
        var request: [UInt8] = []
        pipe.client.drain(appendingTo: &request)
        var frames = Frames()
        frames.settings()
        build(&frames)
        pipe.client.receive(frames.bytes.span.bytes)
        // The client's output is not needed.
        var output: [UInt8] = []
        pipe.client.drain(appendingTo: &output)
        pipe.takeClientEvents()
        return pipe
    }

    @Test func interimAnswersAndTrailersAreNotTheAnswer() {
        let pipe = self.client {
            $0.headers(1, endStream: false, [(":status", "103")])
            $0.headers(1, endStream: false, [(":status", "200"), ("apns-id", "x")])
            $0.add(type: 0, streamID: 1, [1, 2])
            $0.headers(1, endStream: true, [("x-trailer", "y")])
        }
        #expect(pipe.statuses == [1: 200])
        #expect(pipe.clientBodies[1] == [1, 2])
    }

    /// A `retry-after` of an interim answer does not count for the final answer. Trailers change neither the status nor
    /// the seconds.
    @Test(
        arguments: [
            // Cases: interim fields, final fields, trailers, and the expected status and seconds.
            ([(":status", "103"), ("retry-after", "900")], [(":status", "503")], [], 503, -1),
            ([(":status", "103"), ("retry-after", "900")], [(":status", "503"), ("retry-after", "7")], [], 503, 7),
            ([], [(":status", "200")], [(":status", "500"), ("retry-after", "60")], 200, -1),
            ([], [(":status", "429"), ("retry-after", "5")], [("retry-after", "900")], 429, 5),
            ([(":status", "100"), ("retry-after", "1")], [(":status", "200")], [(":status", "100")], 200, -1),
        ] as [([(String, String)], [(String, String)], [(String, String)], UInt16, Int64)])
    func onlyTheFinalFieldsCount(
        interim: [(String, String)], final: [(String, String)], trailers: [(String, String)], status: UInt16,
        seconds: Int64
    ) {
        let pipe = self.client {
            if !interim.isEmpty { $0.headers(1, endStream: false, interim) }
            $0.headers(1, endStream: trailers.isEmpty, final)
            if !trailers.isEmpty { $0.headers(1, endStream: true, trailers) }
        }
        let answers = pipe.clientEvents.compactMap { event -> (UInt16, Int64)? in
            guard case .responseFinished(_, _, let status, _, _, let retryAfterSeconds) = event else { return nil }
            return (status, retryAfterSeconds)
        }
        #expect(answers.count == 1 && answers[0] == (status, seconds), "\(answers)")
    }

    @Test(arguments: [
        [], [("status", "200")], [(":status", "20")], [(":status", "2000")], [(":status", "abc")], [(":status", "103")],
        [(":status", "")],
    ])
    func anAnswerWithoutAStatusIsMalformed(fields: [(String, String)]) {
        let pipe = self.client { $0.headers(1, endStream: true, fields) }
        #expect(pipe.failures == [1: .malformedResponse])
        #expect(pipe.client.openStreamCount == 0)
    }

    /// Each of these frames ends the connection with GOAWAY and the given code. `receive` itself reports no error.
    @Test(
        arguments: [
            (
                "DATA on stream 0", HTTP2ErrorCode.protocolError,
                { @Sendable (frames: inout Frames) in frames.add(type: 0, [1]) }
            ),
            (
                "a frame over the size limit", .frameSizeError,
                { frames in frames.add(type: 0, streamID: 1, [UInt8](repeating: 0, count: 16_385)) }
            ),
            (
                "a frame that announces 16 MB", .frameSizeError,
                { frames in frames.add(type: 0, streamID: 1, announced: 0xff_ffff, [0]) }
            ),
            (
                "broken HPACK", .compressionError,
                { frames in frames.add(type: 1, flags: 5, streamID: 1, [0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]) }
            ),
            ("SETTINGS of 5 bytes", .frameSizeError, { frames in frames.add(type: 4, [0, 0, 0, 0, 0]) }),
            ("SETTINGS on a stream", .protocolError, { frames in frames.add(type: 4, streamID: 1, []) }),
            ("a window past 2^31-1", .flowControlError, { frames in frames.settings([(4, 0x8000_0000)]) }),
            ("a window update of 0", .protocolError, { frames in frames.add(type: 8, [0, 0, 0, 0]) }),
            (
                "a window update past 2^31-1", .flowControlError,
                { frames in frames.add(type: 8, [0x7f, 0xff, 0xff, 0xff]) }
            ),
            (
                "PUSH_PROMISE after it acknowledged that we want none", .protocolError,
                { frames in
                    frames.add(type: 4, flags: 1, [])
                    frames.add(type: 5, flags: 4, streamID: 1, [0, 0, 0, 2, 0x88])
                }
            ),
            (
                "CONTINUATION without HEADERS", .protocolError,
                { frames in frames.add(type: 9, flags: 4, streamID: 1, []) }
            ),
            ("PING of 7 bytes", .frameSizeError, { frames in frames.add(type: 6, [UInt8](repeating: 0, count: 7)) }),
            (
                "GOAWAY that raises its last stream", .protocolError,
                { frames in
                    frames.add(type: 7, [0, 0, 0, 1, 0, 0, 0, 0])
                    frames.add(type: 7, [0, 0, 0, 9, 0, 0, 0, 0])
                }
            ),
            (
                "RST_STREAM of a stream never opened", .protocolError,
                { frames in frames.add(type: 3, streamID: 99, [0, 0, 0, 0]) }
            ),
            (
                "padding longer than the frame", .protocolError,
                { frames in frames.add(type: 0, flags: 8, streamID: 1, [200, 1]) }
            ),
        ] as [(String, HTTP2ErrorCode, @Sendable (inout Frames) -> Void)])
    func protocolErrorsEndTheConnection(name: String, code: HTTP2ErrorCode, build: @Sendable (inout Frames) -> Void) {
        let pipe = self.client(build)
        let sent = pipe.clientEvents.compactMap { event -> HTTP2ErrorCode? in
            if case .goAwaySent(let code, _) = event { code } else { nil }
        }
        #expect(sent == [code], "\(name): \(pipe.clientEvents)")
        #expect(pipe.client.isFinished, "\(name)")
        #expect(pipe.submit(2) == .closing, "\(name)")
        pipe.client.connectionLost()
        pipe.takeClientEvents()
        #expect(pipe.finalEventCounts == [1: 1], "\(name)")
    }

    @Test func unknownFramesAndSettingsAreIgnored() {
        let pipe = self.client {
            $0.add(type: 0xbe, flags: 0xff, streamID: 1, [1, 2, 3])
            $0.settings([(0x4242, 7)])
            $0.add(type: 6, flags: 1, [UInt8](repeating: 9, count: 8))
            $0.headers(1, endStream: true, [(":status", "200")])
        }
        #expect(pipe.statuses == [1: 200])
    }

    /// Random bytes trap neither side, and each stream gets exactly one final event.
    @Test(arguments: 1...300 as ClosedRange<UInt64>)
    func garbageEndsQuietly(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let pipe = HTTP2Pipe(seed: seed)
        if Bool.random(using: &random) { pipe.run() }
        for number in 0..<5 { pipe.submit(number) }
        let garbage = (0..<Int.random(in: 1...40_000, using: &random)).map { _ in
            UInt8.random(in: 0...255, using: &random)
        }
        pipe.client.receive(garbage.span.bytes)
        pipe.server.receive(garbage.span.bytes)
        pipe.run()
        pipe.client.connectionLost()
        pipe.takeClientEvents()
        #expect(pipe.finalEventCounts == [0: 1, 1: 1, 2: 1, 3: 1, 4: 1])
    }

    /// If bytes are flipped, dropped or doubled on the way, nothing traps, and no tag gets two final events. After the
    /// connection has ended, each tag has exactly one final event.
    @Test(arguments: 1...300 as ClosedRange<UInt64>)
    func damagedTrafficLosesNoTag(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let pipe = HTTP2Pipe(seed: seed, chunkMax: 500)
        pipe.onRequest = { server, request in
            server.respond(
                streamID: request.streamID, statusTemplate(400), values: HTTP2HeaderValues(), body: request.body)
        }
        pipe.run()
        var damage = SplitMix64(seed: seed &+ 1_000)
        pipe.tamper = { bytes, _ in
            guard Int.random(in: 0..<3, using: &damage) == 0 else { return }
            let place = Int.random(in: 0..<bytes.count, using: &damage)
            switch Int.random(in: 0..<3, using: &damage) {
            case 0: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &damage)
            case 1: bytes.removeSubrange(place..<min(place + 9, bytes.count))
            default: bytes.insert(contentsOf: bytes[place..<min(place + 20, bytes.count)], at: place)
            }
        }
        var submitted: Set<UInt32> = []
        for number in 0..<200 {
            if pipe.submit(number, bodyByteCount: number).streamID != nil { submitted.insert(UInt32(number)) }
            if Int.random(in: 0..<10, using: &random) == 0 { pipe.run() }
        }
        pipe.run()
        pipe.client.connectionLost()
        pipe.takeClientEvents()
        #expect(Set(pipe.finalEventCounts.keys) == submitted)
        #expect(pipe.finalEventCounts.values.allSatisfy { $0 == 1 })
    }
}
