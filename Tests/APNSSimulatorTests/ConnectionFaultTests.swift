import DeviceModel
import HTTP2Session
import NIOCore
import NIOPosix
import Testing

@testable import APNSSimulator

/// Tests of faults that affect whole connections, and of the violations that are found when a client breaks HTTP/2.
@Suite(.timeLimit(.minutes(5))) struct ConnectionFaultTests {
    // MARK: Breaches by the client

    /// A HEADERS frame that begins a request and leaves its stream open.
    private static func request(streamID: Int32) -> [UInt8] {
        var frames = FrameBytes()
        // POST, https and "/" come from HPACK's static table. The authority is a literal.
        frames.append(
            type: .headers, flags: FrameBytes.endHeaders, streamID: streamID,
            [0x83, 0x87, 0x84, 0x01, 9] + Array("localhost".utf8))
        return frames.bytes
    }

    @Test func aStreamAboveTheLimitIsAViolation() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            // The limit is one stream until APNs has accepted a push. The answered PING shows that the client has
            // acknowledged the limit.
            try await client.ping(1)
            _ = try await client.first { $0.pingAnswers.isEmpty ? nil : true }
            try await client.sendRaw(Self.request(streamID: 1) + Self.request(streamID: 3))
            try await client.closed()
            let violations = bench.simulator.violations()
            #expect(violations.map(\.kind) == [.http2])
            #expect(violations.first?.detail.hasPrefix("PROTOCOL_ERROR: ") == true, "\(violations)")
            #expect(violations.first?.connection == 1)
        }
    }

    @Test func brokenFramesAreAViolation() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            var frames = FrameBytes()
            frames.append(type: .ping, streamID: 0, [])
            try await client.sendRaw(frames.bytes)
            try await client.closed()
            #expect(bench.simulator.violations().map(\.kind) == [.http2])
            #expect(bench.simulator.violations().first?.detail.hasPrefix("FRAME_SIZE_ERROR") == true)
        }
    }

    /// If a client breaks HTTP/2 after a GOAWAY from a fault, the breach counts as a violation. The GOAWAY itself does
    /// not.
    @Test func aBreachAfterAnOrderedGoAwayIsAViolation() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            // An open request keeps the connection open after the GOAWAY.
            bench.simulator.add(Fault(.stall(applied: false), count: 1))
            async let stalled = client.send(bench.push(token: "01"))
            _ = try await bench.simulator.wait { $0.unanswered == 1 }
            await bench.simulator.performAndWait(.goAway(GoAway(errorCode: .internalError, closes: false)))
            _ = try await client.first { $0.goAway }
            #expect(bench.simulator.violations().isEmpty)
            var frames = FrameBytes()
            frames.append(type: .ping, streamID: 0, [])
            try await client.sendRaw(frames.bytes)
            try await client.closed()
            #expect(bench.simulator.violations().map(\.kind) == [.http2])
            #expect(try await stalled.status == 0)
        }
    }

    // MARK: GOAWAY

    /// A later GOAWAY must not name a higher last stream (RFC 9113 §6.8).
    @Test func laterGoAwaysNeverNameAHigherStream() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            bench.simulator.setLatency(Latency(fixedMillis: Latency.millisMax))
            async let responses = client.send((1...6).map { bench.push(token: "0\($0)") })
            _ = try await bench.simulator.wait { $0.requests == 7 }
            let storm: [GoAway.LastStream] = [.below(highestBy: 3), .highest, .id(Int32.max), .below(highestBy: 1)]
            for last in storm {
                await bench.simulator.performAndWait(
                    .goAway(GoAway(reason: "Shutdown", lastStream: last, closes: false)))
            }
            // The client answers this PING only if the server has kept to HTTP/2. Otherwise it would end the
            // connection.
            bench.simulator.perform(.ping)
            try await client.ping(5)
            #expect(try await client.first { $0.pingAnswers.first } == 5)
            #expect(try await client.first { $0.goAway }.lastStreamID == 7)
            bench.simulator.perform(.cut)
            let failures = try await responses.map(\.failure)
            #expect(failures.suffix(3) == [.aboveGoAway, .aboveGoAway, .aboveGoAway])
            #expect(failures.prefix(3) == [.connectionEnded, .connectionEnded, .connectionEnded])
            #expect(bench.simulator.violations().isEmpty)
        }
    }

    @Test func whatCameAfterAGoAwaysRequestIsNotProcessed() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            bench.simulator.add(Fault(.goAway(GoAway(reason: "Shutdown", lastStream: .current)), tokenPrefix: "03"))
            let failures = try await client.send((1...6).map { bench.push(token: "0\($0)") }).map(\.failure)
            #expect(failures == [nil, nil, nil, .aboveGoAway, .aboveGoAway, .aboveGoAway])
            #expect(bench.simulator.device(token: "03")?.accepted == 1)
            #expect(bench.simulator.device(token: "04") == nil)
            try await client.closed()
        }
    }

    @Test func aGoAwayIsNotBelowWhatWasJudged() async throws {
        try await Bench.run {
            $0.initialWindowByteCount = 200
        } _: { bench in
            let client = try await bench.connectAndWarmUp()
            bench.simulator.add(Fault(.goAway(GoAway(reason: "Shutdown", lastStream: .current)), tokenPrefix: "01"))
            // The latency holds the answers back until the GOAWAY has left. If the GOAWAY called a judged request
            // unprocessed, the client would send that request again.
            bench.simulator.setLatency(Latency(fixedMillis: 20))
            // The first request is long and waits for the flow-control window. The second is complete earlier, and is
            // judged before it.
            let long = Bodies.update(stamp: Bench.startSeconds, byteCount: 1_000)
            let answers = try await client.send([bench.push(token: "01", body: long), bench.push(token: "02")])
            #expect(answers.map(\.failure) == [nil, nil])
            #expect(bench.simulator.device(token: "01")?.accepted == 1)
            #expect(bench.simulator.device(token: "02")?.accepted == 1)
            try await client.closed()
        }
    }

    // MARK: Connections

    @Test func waitingIsWokenByARefusedConnection() async throws {
        try await Bench.run { bench in
            bench.simulator.setRefusesConnections(true)
            async let refused = bench.simulator.wait { $0.connectionsRefused == 1 }
            await #expect(throws: (any Error).self) { try await bench.connect() }
            let woken = try await refused
            #expect(woken.connectionsAccepted == 0)
        }
    }

    @Test func aMuteServerAcceptsAndNeverShakesHands() async throws {
        try await Bench.run { bench in
            bench.simulator.setMute(true)
            async let late = bench.connect()
            let seen = try await bench.simulator.wait { $0.connectionsOpen == 1 }
            #expect(seen.connectionsAccepted == 1)
            bench.simulator.setMute(false)
            // Other connections are served, but the first is still mute until `.resume`.
            let other = try await bench.connectAndWarmUp()
            await bench.simulator.performAndWait(.resume, connection: 1)
            let client = try await late
            #expect(try await client.send(bench.push(token: "01")).status == 200)
            await client.close()
            await other.close()
        }
    }

    @Test func aMuteConnectionThatIsGivenUpIsNotKept() async throws {
        try await Bench.run { bench in
            bench.simulator.setMute(true)
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: bench.simulator.port).get()
            _ = try await bench.simulator.wait { $0.connectionsOpen == 1 }
            try await channel.close().get()
            _ = try await bench.simulator.wait { $0.connectionsOpen == 0 }
        }
    }

    @Test func aResetConnectionEndsWithoutTLSGoodbye() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            bench.simulator.add(Fault(.then(.reset), count: 1))
            let response = try await client.send(bench.push(token: "01"))
            #expect(response.failure == .connectionEnded)
            #expect(bench.simulator.device(token: "01")?.device.shownCount == 1)
            _ = try await bench.simulator.wait { $0.connectionsOpen == 0 }
        }
    }

    @Test func silenceEndsWithResume() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            await bench.simulator.performAndWait(.silence)
            let response = try await client.begin(bench.push(token: "01"))
            try await client.ping(9)
            await bench.simulator.performAndWait(.resume)
            #expect(try await response.get().status == 200)
            #expect(try await client.first { $0.pingAnswers.first } == 9)
            await client.close()
        }
    }

    @Test func aStarvedClientSendsNoMoreThanItsWindowHolds() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            await bench.simulator.performAndWait(.starve)
            // 40 bodies of 4,000 bytes are sent. The connection's window of 65,535 bytes has room for 16.
            async let responses = client.send(
                (10..<50).map { bench.push(token: "\($0)", body: Bodies.update(stamp: 1, byteCount: 4_000)) })
            _ = try await bench.simulator.wait { $0.accepted == 17 }
            // A PING is still answered.
            try await client.ping(3)
            #expect(try await client.first { $0.pingAnswers.first } == 3)
            #expect(bench.simulator.statistics().accepted == 17)
            await bench.simulator.performAndWait(.resume)
            #expect(try await responses.allSatisfy { $0.status == 200 })
            await client.close()
        }
    }

    @Test func slowReadsTakeTheirTimeAndLoseNothing() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            await bench.simulator.performAndWait(.slowReads(bytesPerSecond: 200_000))
            // The requests take several TLS records, and each record is read as a whole.
            async let responses = client.send(
                (10..<30).map { bench.push(token: "\($0)", body: Bodies.update(stamp: 1, byteCount: 4_000)) })
            let some = try await bench.simulator.wait { $0.requests > 1 }
            #expect(some.requests < 21, "they came in pieces")
            #expect(try await responses.allSatisfy { $0.status == 200 })
            await bench.simulator.performAndWait(.slowReads(bytesPerSecond: 1))
            let last = try await client.begin(bench.push(token: "01"))
            await bench.simulator.performAndWait(.resume)
            #expect(try await last.get().status == 200)
            await client.close()
        }
    }

    // MARK: Frames

    @Test(arguments: OddFrames.allCases)
    func oddFramesAreBorneOrEndTheConnection(_ frames: OddFrames) async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            await bench.simulator.performAndWait(.frames(frames))
            if frames.endsConnection {
                #expect(try await client.send(bench.push(token: "01")).status == 0)
            } else {
                #expect(try await client.send(bench.push(token: "01")).status == 200)
            }
            #expect(bench.simulator.violations().isEmpty)
            await client.close()
        }
    }

    // MARK: Answers

    @Test func answersMayLackTheirIDAndHaveAnyStatusAndBody() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            for odd in [
                OddAnswer(sendsMessageID: false), OddAnswer(status: 999, body: Array("<html>".utf8)),
                OddAnswer(status: 299), OddAnswer(emptyFrameCount: 50), OddAnswer(status: 503, body: [0xff, 0]),
            ] {
                bench.simulator.add(Fault(.odd(odd), count: 1))
                #expect(try await client.send(bench.push(token: "01")).status == odd.status)
            }
            // The body is longer than a window, and longer than what the client keeps. It arrives, cut to the client's
            // limit.
            bench.simulator.add(
                Fault(.odd(OddAnswer(status: 400, body: Array(repeating: 120, count: 200_000))), count: 1))
            let long = try await client.send(bench.push(token: "01"))
            #expect(long.status == 400)
            #expect(long.body.utf8.count <= HTTP2ClientSettings().responseBodyByteCountMax)
            #expect(try await client.send(bench.push(token: "01")).status == 200)
            await client.close()
        }
    }

    @Test(arguments: [HTTP2ErrorCode.refusedStream, .internalError, .cancel, .enhanceYourCalm, .noError])
    func aStreamMayBeResetAfterItsHeaders(code: HTTP2ErrorCode) async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            bench.simulator.add(Fault(.odd(OddAnswer(body: [1, 2], ending: .reset(code), applied: true)), count: 1))
            _ = try await client.send(bench.push(token: "01"))
            #expect(bench.simulator.device(token: "01")?.device.shownCount == 1)
            #expect(bench.simulator.statistics().unansweredApplied == 1)
            #expect(try await client.send(bench.push(token: "02")).status == 200)
            #expect(bench.simulator.violations().isEmpty)
            await client.close()
        }
    }

    @Test func anAnswerMayStopAfterItsHeaders() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            bench.simulator.add(Fault(.odd(OddAnswer(body: [1], ending: .stall)), count: 1))
            async let half = client.send(bench.push(token: "01"))
            _ = try await bench.simulator.wait { $0.unanswered == 1 }
            #expect(try await client.send(bench.push(token: "02")).status == 200)
            bench.simulator.perform(.close)
            #expect(try await half.failure == .connectionEnded)
        }
    }
}
