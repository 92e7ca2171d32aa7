import APNSSimulator
import DeviceModel
import HTTP2Session
import NIOCore
import TLSSession
import Testing

/// Tests of faults on demand, as a client sees them on its socket.
@Suite(.timeLimit(.minutes(5))) struct FaultTests {
    @Test(arguments: Reason.allCases)
    func everyReasonCanBeAskedFor(_ reason: Reason) async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            bench.simulator.add(Fault(.answer(status: reason.status, reason: reason.rawValue), count: 1))
            let first = try await client.send(bench.push(token: "01"))
            #expect(first.summary == "\(reason.status) {\"reason\":\"\(reason.rawValue)\"}")
            #expect(bench.simulator.device(token: "01") == nil)
            #expect(try await client.send(bench.push(token: "01")).status == 200)
            #expect(bench.simulator.statistics().refused == [reason.rawValue: 1])
            await client.close()
        }
    }

    @Test func answersMayBeOddAndCarryRetryAfter() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            bench.simulator.add(Fault(.answerRaw(status: 502, body: Array("<html>".utf8)), count: 1))
            bench.simulator.add(Fault(.answer(status: 500, reason: ""), count: 1))
            bench.simulator.add(Fault(.answer(status: 429, reason: "TooManyRequests", retryAfterSeconds: 7), count: 1))
            bench.simulator.add(Fault(.answer(status: 410, reason: "Unregistered", timestampMillis: 42), count: 1))
            #expect(try await client.send(bench.push(token: "01")).summary == "502 <html>")
            #expect(try await client.send(bench.push(token: "01")).summary == "500")
            #expect(try await client.send(bench.push(token: "01")).retryAfterSeconds == 7)
            #expect(try await client.send(bench.push(token: "01")).body == #"{"reason":"Unregistered","timestamp":42}"#)
            await client.close()
        }
    }

    @Test func faultsChooseTheirRequests() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            let id = bench.simulator.add(
                Fault(.answer(status: 503, reason: "Shutdown"), count: 2, skip: 1, tokenPrefix: "AB", connection: 1))
            var statuses: [Int] = []
            for token in ["01", "ab01", "ab02", "02", "ab03", "ab04"] {
                statuses.append(try await client.send(bench.push(token: token)).status)
            }
            #expect(statuses == [200, 200, 503, 200, 503, 200])
            #expect(bench.simulator.fired(id) == 2)
            #expect(bench.simulator.faults().isEmpty)
            await client.close()
        }
    }

    @Test func aRateIsTheSameForTheSameSeed() async throws {
        var runs: [[Int]] = []
        for seed: UInt64 in [5, 5, 6] {
            try await Bench.run {
                $0.randomSeed = seed
            } _: { bench in
                let client = try await bench.connectAndWarmUp()
                bench.simulator.add(Fault(.answer(status: 500, reason: "InternalServerError"), rate: 0.5))
                runs.append(
                    try await client.send(
                        (0..<64).map { bench.push(token: "0\($0 % 10)", body: Bodies.update(stamp: $0)) }
                    ).map(\.status))
                await client.close()
            }
        }
        #expect(runs[0] == runs[1])
        #expect(runs[0] != runs[2])
        #expect((10...54).contains(runs[0].count { $0 == 500 }))
    }

    @Test(arguments: [false, true])
    func aResetStreamMayHaveBeenAppliedOrNot(applied: Bool) async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            bench.simulator.add(Fault(.reset(.refusedStream, applied: applied), count: 1))
            #expect(try await client.send(bench.push(token: "01")).failure == .resetByPeer(.refusedStream))
            #expect((bench.simulator.device(token: "01")?.device.shownCount == 1) == applied)
            #expect(bench.simulator.statistics().unanswered == 1)
            #expect(bench.simulator.statistics().unansweredApplied == (applied ? 1 : 0))
            await client.close()
        }
    }

    @Test(arguments: [false, true])
    func aCutConnectionLeavesEveryRequestWithoutAnswer(applied: Bool) async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            bench.simulator.add(Fault(.cut(applied: applied), count: 1, skip: 2))
            let responses = try await client.send((1...5).map { bench.push(token: "0\($0)") })
            #expect(responses.allSatisfy { $0.failure == .connectionEnded })
            try await client.closed()
            let seen = try await client.first { $0.isClosed ? $0 : nil }
            #expect(seen.tlsFailure?.kind == .truncated)
            #expect((bench.simulator.device(token: "03")?.device.shownCount == 1) == applied)
        }
    }

    @Test func aStalledRequestIsNeverAnsweredWhileOthersAre() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            bench.simulator.add(Fault(.stall(applied: true), tokenPrefix: "dead"))
            async let stalled = client.send(bench.push(token: "dead"))
            _ = try await bench.simulator.wait { $0.unanswered == 1 }
            #expect(try await client.send(bench.push(token: "01")).status == 200)
            #expect(bench.simulator.device(token: "dead")?.device.shownCount == 1)
            // The stream is still open when the connection ends.
            await bench.simulator.performAndWait(.close)
            #expect(try await stalled.failure == .connectionEnded)
        }
    }

    @Test func goAwayAfterARequestStillAnswersIt() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            bench.simulator.add(Fault(.goAway(GoAway(reason: "Shutdown")), count: 1))
            #expect(try await client.send(bench.push(token: "01")).status == 200)
            let goAway = try await client.first { $0.goAway }
            #expect(goAway.debug == #"{"reason":"Shutdown"}"#)
            #expect(goAway.errorCode == .noError)
            try await client.closed()
            #expect(bench.simulator.violations().isEmpty)
        }
    }

    @Test func goAwayMayDisownTheNewestStreams() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            // Answers come so late that none overtakes the GOAWAY, even on a slow machine.
            bench.simulator.setLatency(Latency(fixedMillis: 2_000))
            async let responses = client.send((1...6).map { bench.push(token: "0\($0)") })
            _ = try await bench.simulator.wait { $0.requests == 7 }
            await bench.simulator.performAndWait(.goAway(GoAway(errorCode: .noError, lastStream: .below(highestBy: 2))))
            let failures = try await responses.map(\.failure)
            #expect(failures == [nil, nil, nil, nil, .aboveGoAway, .aboveGoAway])
            try await client.closed()
        }
    }

    @Test func aConnectionMayOutliveItsGoAway() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            bench.simulator.add(Fault(.stall(applied: false), count: 1))
            async let stalled = client.send(bench.push(token: "01"))
            _ = try await bench.simulator.wait { $0.unanswered == 1 }
            await bench.simulator.performAndWait(.goAway(GoAway(errorCode: .enhanceYourCalm, closes: false)))
            #expect(try await client.first { $0.goAway }.errorCode == .enhanceYourCalm)
            // The connection serves its open streams, and accepts no new ones.
            try await client.ping(77)
            #expect(try await client.first { $0.pingAnswers.first } == 77)
            #expect(try await client.send(bench.push(token: "02")).body == "not submitted: closing")
            await client.close()
            #expect(try await stalled.failure == .connectionEnded)
        }
    }

    @Test func waitingAnswersAreCountedUntilTheyAreSentOrTheirConnectionEnds() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            bench.simulator.setLatency(Latency(fixedMillis: 5))
            async let soon = client.send((1...3).map { bench.push(token: "0\($0)") })
            #expect(try await soon.allSatisfy { $0.status == 200 })
            _ = try await bench.simulator.wait { $0.delayed == 0 }
            bench.simulator.setLatency(Latency(fixedMillis: Latency.millisMax))
            async let never = client.send(bench.push(token: "04"))
            _ = try await bench.simulator.wait { $0.delayed == 1 }
            bench.simulator.perform(.cut)
            #expect(try await never.failure == .connectionEnded)
            _ = try await bench.simulator.wait { $0.delayed == 0 }
        }
    }

    @Test func latencyHoldsAnswersBackAndKeepsTheirOrder() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            bench.simulator.setLatency(Latency(fixedMillis: 20, jitterMillis: 30))
            let clock = ContinuousClock()
            let start = clock.now
            let responses = try await client.send(
                (0..<100).map { bench.push(token: "0\($0 % 10)", body: Bodies.update(stamp: $0)) })
            #expect(responses.allSatisfy { $0.status == 200 })
            #expect(clock.now - start >= .milliseconds(20))
            await client.close()
        }
    }

    @Test func theStreamLimitOpensWithTheFirstValidProviderToken() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            #expect(try await client.first { $0.streamsMax } == 1)
            _ = try await client.send(bench.push(token: "01", jwt: "abc"))
            #expect(try await client.first { $0.settingsCount } == 1)
            _ = try await client.send(bench.push(token: "01"))
            #expect(try await client.first { $0.settingsCount >= 2 ? $0.streamsMax : nil } == 1_000)
            await client.close()
        }
    }

    @Test func aRejectionCollapsesTheLimitWhenConfigured() async throws {
        try await Bench.run {
            $0.collapsesOnRejection = true
        } _: { bench in
            let client = try await bench.connectAndWarmUp()
            bench.simulator.setToken("01", .dead)
            _ = try await client.send(bench.push(token: "01"))
            bench.simulator.setToken("01", .unknown)
            _ = try await client.send(bench.push(token: "01"))
            #expect(try await client.first { $0.settingsCount >= 3 ? $0.streamsMax : nil } == 1)
            _ = try await client.send(bench.push(token: "02"))
            #expect(try await client.first { $0.settingsCount >= 4 ? $0.streamsMax : nil } == 1_000)
            await client.close()
        }
    }

    @Test func settingsChangeOnOpenConnections() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            bench.simulator.setConcurrentStreamsMax(3)
            #expect(try await client.first { $0.streamsMax == 3 ? true : nil })
            await bench.simulator.performAndWait(.settings(HTTP2SettingsChange(headerTableByteCount: 0)))
            // The client gets at least four SETTINGS. The new limit comes twice if the connection is served just
            // between the change and its announcement.
            #expect(try await client.first { $0.settingsCount >= 4 ? true : nil })
            #expect(try await client.send((1...3).map { bench.push(token: "0\($0)") }).allSatisfy { $0.status == 200 })
            bench.simulator.clearFaults()
            #expect(try await client.first { $0.streamsMax == 1_000 ? true : nil })
            await client.close()
        }
    }

    @Test func newConnectionsCanBeRefused() async throws {
        try await Bench.run { bench in
            bench.simulator.setRefusesConnections(true)
            await #expect(throws: (any Error).self) { try await bench.connect() }
            #expect(bench.simulator.statistics().connectionsRefused == 1)
            bench.simulator.clearFaults()
            let client = try await bench.connect()
            #expect(bench.simulator.statistics().connectionsOpen == 1)
            await client.close()
            let closed = try await bench.simulator.wait { $0.connectionsOpen == 0 }
            #expect(closed.connectionsAccepted == 1)
        }
    }

    @Test func aSilentConnectionAnswersNothingNotEvenPing() async throws {
        try await Bench.run { bench in
            let silent = try await bench.connectAndWarmUp()
            let other = try await bench.connectAndWarmUp()
            #expect(await bench.simulator.performAndWait(.silence, connection: 1) == 1)
            try await silent.ping(1)
            let unanswered = try await silent.begin(bench.push(token: "01"))
            // Both connections are on one event loop. If the silent one were served, it would be served before this
            // exchange ends.
            #expect(try await other.send(bench.push(token: "02")).status == 200)
            #expect(try await silent.first { $0.pingAnswers.isEmpty ? true : nil })
            #expect(bench.simulator.device(token: "01") == nil)
            await bench.simulator.performAndWait(.cut)
            #expect(try await unanswered.get().failure == .connectionEnded)
            await other.close()
        }
    }

    @Test func aRecordCutInHalfIsATruncation() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            await bench.simulator.performAndWait(.cutMidRecord)
            try await client.closed()
            #expect(try await client.first { $0.isClosed ? $0.tlsFailure?.kind : nil } == .truncated)
        }
    }

    @Test func stoppingEndsWaitingAndConnections() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            let simulator = bench.simulator
            let never = Task { try await simulator.wait { $0.requests == 1_000 } }
            await simulator.stop()
            await #expect(throws: CancellationError.self) { try await never.value }
            try await client.closed()
        }
    }

    @Test func aCancelledWaitEnds() async throws {
        try await Bench.run { bench in
            let simulator = bench.simulator
            let waiting = Task { try await simulator.wait { $0.requests == 1_000 } }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        }
    }
}
