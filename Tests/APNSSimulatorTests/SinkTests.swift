import DeviceModel
import HTTP2Session
import PushModel
import Testing

@testable import APNSSimulator

/// Tests of the sink, a simulator that does as little work as HTTP/2 permits.
@Suite(.timeLimit(.minutes(5))) struct SinkTests {
    @Test func pushesAreAnsweredAndCountedAndNothingElseIsLookedAt() async throws {
        try await Bench.run {
            $0.mode = .sink
        } _: { bench in
            let client = try await bench.connect()
            #expect(try await client.first { $0.streamsMax } == 1_000)
            let requests = (0..<1_000).map { bench.push(token: "nonsense\($0)", body: "no JSON", jwt: "none") }
            let responses = try await client.send(requests)
            #expect(responses.allSatisfy { $0 == TestResponse(status: 200) })
            let statistics = bench.simulator.statistics()
            #expect(statistics.requests == 1_000)
            #expect(statistics.accepted == 1_000)
            #expect(statistics.devices == 0)
            try await client.ping(5)
            #expect(try await client.first { $0.pingAnswers.first } == 5)
            await client.close()
        }
    }

    @Test func bodiesBeyondTheWindowAreAcknowledged() async throws {
        try await Bench.run {
            $0.mode = .sink
        } _: { bench in
            let client = try await bench.connect()
            // The bodies are 400 KB on one connection, whose window is 65,535 bytes.
            let responses = try await client.send(
                (0..<100).map { bench.push(token: "0\($0 % 10)", body: Bodies.update(stamp: 1, byteCount: 4_096)) })
            #expect(responses.allSatisfy { $0.status == 200 })
            await client.close()
        }
    }

    @Test func aRequestWithoutBodyOrWithTooFewFieldsIsRefused() async throws {
        try await Bench.run {
            $0.mode = .sink
        } _: { bench in
            let client = try await bench.connect()
            #expect(try await client.send(bench.push(token: "01", body: "")).status == 400)
            let bare = TestRequest(
                fields: [
                    (":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", "/3/device/00"),
                ], body: [1])
            #expect(try await client.send(bare).status == 400)
            #expect(bench.simulator.statistics().refused == ["400": 2])
            await client.close()
        }
    }

    @Test func latencyHoldsAnswersBack() async throws {
        try await Bench.run {
            $0.mode = .sink
        } _: { bench in
            let client = try await bench.connect()
            bench.simulator.setLatency(Latency(fixedMillis: 15))
            let clock = ContinuousClock()
            let start = clock.now
            #expect(
                try await client.send((0..<50).map { bench.push(token: "0\($0 % 10)") }).allSatisfy { $0.status == 200 }
            )
            #expect(clock.now - start >= .milliseconds(15))
            await client.close()
        }
    }

    /// The sink finds the same requests wherever the bytes are cut into pieces.
    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func framesMayBeCutAnywhere(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let client = HTTP2ClientSession()
        var input: [UInt8] = []
        let fields = (0..<10).map {
            HTTP2Field.fixed("x-field-\($0)", String(repeating: "v", count: 1 + Int(seed) * 7))
        }
        let template = HTTP2HeaderTemplate([.fixed(":method", "POST"), .fixed(":path", "/")] + fields)
        for tag in 0..<20 as Range<UInt32> {
            _ = client.submit(
                template, values: HTTP2HeaderValues(), body: Array(repeating: 7, count: Int(tag) * 50 + 1).span,
                tag: tag)
        }
        client.drain(appendingTo: &input)
        var session = SinkSession()
        var output: [UInt8] = []
        while !input.isEmpty {
            let count = min(input.count, Int.random(in: 1...2_000, using: &random))
            let piece = Array(input[..<count])
            session.receive(piece.span, output: &output)
            input.removeFirst(count)
        }
        #expect(session.state == .open)
        #expect(session.finished == (0..<20).map { UInt32($0) * 2 + 1 })
    }

    /// No bytes can trap the sink.
    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func noiseIsAnsweredNotTrapped(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var session = SinkSession()
        var output: [UInt8] = []
        let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        session.receive(preface.span, output: &output)
        for _ in 0..<200 {
            // A frame header that the sink probably accepts, followed by noise.
            let count = Int.random(in: 0...60, using: &random)
            var frame: [UInt8] = [
                0, 0, UInt8(count), UInt8.random(in: 0...9, using: &random), UInt8.random(in: 0...255, using: &random),
                0, 0, 0,
            ]
            frame.append(UInt8.random(in: 0...9, using: &random))
            for _ in 0..<count { frame.append(UInt8.random(in: 0...255, using: &random)) }
            session.receive(frame.span, output: &output)
            if session.state != .open { session = SinkSession() }
        }
    }

    @Test func whatIsNoHTTP2EndsTheSession() {
        var output: [UInt8] = []
        var session = SinkSession()
        let text = Array("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".utf8)
        session.receive(text.span, output: &output)
        #expect(session.state == .failed("no HTTP/2 preface"))
        session = SinkSession()
        let giant = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0x40, 1, 0, 0, 0, 0, 0, 1]
        session.receive(giant.span, output: &output)
        #expect(session.state == .failed("a frame of 16385 bytes"))
    }
}
