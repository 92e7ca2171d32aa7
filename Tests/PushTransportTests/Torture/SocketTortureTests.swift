import APNSPool
import APNSProtocol
import APNSSimulator
import Foundation
import TLSSession
import Testing

@testable import PushTransport

/// Tests of the real transport over real sockets, against a simulated APNs with every kind of fault.
///
/// A failure prints its seed, and a run with this seed has the same faults. `MAILBOAT_TORTURE_SEED` chooses other
/// seeds: `7`, or `7-20`.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct SocketTortureTests {
    private static let seeds: [UInt64] = {
        let asked = ProcessInfo.processInfo.environment["MAILBOAT_TORTURE_SEED"] ?? ""
        let bounds = asked.split(separator: "-").compactMap { UInt64($0) }
        guard let first = bounds.first, let last = bounds.last, first <= last else { return [1, 2, 3, 4] }
        return Array(first...last)
    }()

    /// Maximum number of batches after the faults until all pushes of a batch are accepted. Damaged connections must be
    /// found first. Answers may also be lost if the machine stalls for longer than the request timeout.
    private static let recoveryRoundsMax = 10
    /// Number of pushes at the beginning.
    private static let pushesFirst = 200
    /// Number of pushes that each step adds.
    private static let pushesPerStep = 60

    private static var pool: ConnectionPoolConfiguration {
        var pool = ConnectionPoolConfiguration.forTests
        pool.connectionsMax = 3
        pool.connectTimeoutMillis = 1_500
        pool.requestTimeoutMillis = 800
        pool.pingAfterSilenceMillis = 200
        pool.pingTimeoutMillis = 600
        pool.backoffMaxMillis = 40
        pool.refusedProbeMaxMillis = 40
        return pool
    }

    @Test(arguments: Self.seeds) func everyPushGetsOneVerdictAndServiceResumes(seed: UInt64) async throws {
        let schedule = TortureSchedule(seed: seed)
        let key = try ES256PrivateKey.generate()
        let credentials = try SimulatorCredentials.generate(nowSeconds: Int64(Date().timeIntervalSince1970))
        let simulator = try await APNSSimulator.start(
            schedule.configuration, credentials: credentials,
            keys: [RegisteredKey(keyID: "ABCDE12345", teamID: "TEAM123456", publicKey: try key.publicKey())])
        let sender = try await TortureSender(
            port: simulator.port, authorityPEM: credentials.authorityPEM, key: key, pool: Self.pool, seed: seed)
        do {
            try await self.torture(schedule, simulator, sender)
            try await self.resumed(simulator, sender)
            try await self.judge(seed, simulator, sender)
            try await sender.stop()
            let rest = try await simulator.wait { $0.connectionsOpen == 0 && $0.delayed == 0 }
            #expect(rest.connectionsOpen == 0)
        } catch {
            print("torture seed \(seed) failed: \(error)")
            await simulator.stop()
            throw error
        }
        await simulator.stop()
    }

    // MARK: Faults

    private func torture(_ schedule: TortureSchedule, _ simulator: APNSSimulator, _ sender: TortureSender) async throws
    {
        try await sender.add(Self.pushesFirst)
        _ = try await simulator.wait { $0.requests > 20 }
        for fault in schedule.requestFaults { simulator.add(fault) }
        for step in schedule.steps {
            let before = simulator.statistics()
            try await sender.add(Self.pushesPerStep)
            try await self.carryOut(step, before, simulator, sender)
            // The remaining connections must still carry pushes.
            _ = try await simulator.wait { $0.requests >= before.requests + Self.pushesPerStep / 3 }
        }
    }

    private func carryOut(
        _ step: TortureSchedule.Step, _ before: SimulatorStatistics, _ simulator: APNSSimulator,
        _ sender: TortureSender
    ) async throws {
        switch step {
        case .act(let action, let nth):
            guard let nth else {
                simulator.perform(action)
                return
            }
            let open = before.connections.filter(\.isOpen)
            if nth < open.count { simulator.perform(action, connection: open[nth].number) }
        case .streams(let streams):
            simulator.setConcurrentStreamsMax(streams)
            _ = try await simulator.wait { $0.requests >= before.requests + 10 }
            simulator.setConcurrentStreamsMax(simulator.configuredStreamsMax)
        case .noStreams:
            simulator.setConcurrentStreamsMax(0)
            try await sender.nothingInFlight()
            simulator.setConcurrentStreamsMax(simulator.configuredStreamsMax)
        case .outage(let refusals):
            simulator.setRefusesConnections(true)
            simulator.perform(.cut)
            _ = try await simulator.wait { $0.connectionsRefused >= before.connectionsRefused + refusals }
            simulator.setRefusesConnections(false)
        case .halfOpen:
            simulator.setMute(true)
            simulator.perform(.reset)
            _ = try await simulator.wait { $0.connectionsAccepted > before.connectionsAccepted }
            simulator.setMute(false)
        case .latency(let millis):
            simulator.setLatency(Latency(fixedMillis: 1, jitterMillis: millis))
        }
    }

    // MARK: Recovery

    /// Ends the faults. All pushes so far get their final answers, and new pushes are accepted as usual.
    private func resumed(_ simulator: APNSSimulator, _ sender: TortureSender) async throws {
        simulator.clearFaults()
        try await sender.settled()
        let before = try await sender.histories().count
        // A damaged connection may still be undetected. All connections are cut here, so later batches use new ones.
        simulator.perform(.cut)
        try await sender.add(200)
        try await sender.settled()
        var isNormal = false
        for _ in 0..<Self.recoveryRoundsMax where !isNormal {
            try await sender.add(300)
            try await sender.settled()
            isNormal = try await sender.histories().suffix(300).allSatisfy {
                $0.final == .accepted && $0.unknown == 0 && $0.refused == 0
            }
        }
        #expect(isNormal, "service is not back to normal")
        #expect(before > 0)
        let counters = try await sender.counters()
        #expect(counters.streamsInFlight == 0)
        #expect(counters.breakerOpen == 0)
        #expect(counters.connectionsOpen >= 1 && counters.connectionsOpen <= Self.pool.connectionsMax)
        #expect(try await sender.credit() > 0)
    }

    private func judge(_ seed: UInt64, _ simulator: APNSSimulator, _ sender: TortureSender) async throws {
        let histories = try await sender.histories()
        var wrong: [String] = []
        for (push, history) in histories.enumerated() {
            let delivered = simulator.device(token: TortureSender.token(push))?.accepted ?? 0
            let name =
                "push \(push)\(TortureSender.isStart(push) ? " (start)" : ""), delivered \(delivered): \(history)"
            if history.final == nil || history.isOut { wrong.append("no verdict: \(name)") }
            if history.strayVerdicts > 0 { wrong.append("more than one verdict: \(name)") }
            if history.final == .accepted, delivered < 1 { wrong.append("lost: \(name)") }
            // A push may be delivered once, and once more for each attempt with an unknown answer.
            if delivered > 1 + history.unknown { wrong.append("delivered too often: \(name)") }
            if TortureSender.isStart(push), delivered > 1 { wrong.append("started twice: \(name)") }
        }
        #expect(wrong.isEmpty, "seed \(seed): \(wrong.count) of \(histories.count): \(wrong.prefix(3))")

        let statistics = simulator.statistics()
        let violations = simulator.violations()
        #expect(violations.isEmpty, "seed \(seed): \(statistics.violationsByKind): \(violations.prefix(3))")
        #expect(statistics.connections.allSatisfy { $0.providerTokens <= 1 }, "one provider token per key")
        let (unknown, resent) = (histories.count { $0.unknown > 0 }, histories.count { $0.attempts > 1 })
        print(
            "torture seed \(seed): \(histories.count) pushes, \(resent) sent again, \(unknown) with an unknown answer,"
                + " \(statistics.faultsFired) faults, \(statistics.connectionsAccepted) connections")
    }
}
