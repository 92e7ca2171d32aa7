import APNSPool
import APNSProtocol
import APNSSimulator
import DeviceModel
import Foundation
import HTTP2Session
import NIOCore
import NIOPosix
import PushModel
import TLSSession
import Testing

@testable import PushTransport

/// Tests of the transport against a simulated APNs, with many kinds of faults together. The simulator checks every
/// header, token and payload.
@Suite(.timeLimit(.minutes(2)))
struct TortureTests {
    private func withSimulator(
        _ configuration: SimulatorConfiguration = SimulatorConfiguration(),
        pool: ConnectionPoolConfiguration = .forTests,
        resends: Resends = .unprocessed, _ body: (APNSSimulator, TransportBench) async throws -> Void
    ) async throws {
        let key = try ES256PrivateKey.generate()
        let credentials = try SimulatorCredentials.generate(nowSeconds: Int64(Date().timeIntervalSince1970))
        let simulator = try await APNSSimulator.start(
            configuration, credentials: credentials,
            keys: [RegisteredKey(keyID: "ABCDE12345", teamID: "TEAM123456", publicKey: try key.publicKey())])
        do {
            try await TransportBench.with(
                port: simulator.port, authorityPEM: credentials.authorityPEM, resends: resends, pool: pool, key: key
            ) { bench in
                try await body(simulator, bench)
                let duplicates = try await bench.duplicateAnswers()
                #expect(duplicates == 0, "a push was answered twice")
            }
        } catch {
            await simulator.stop()
            throw error
        }
        await simulator.stop()
    }

    @Test func theSimulatorFindsNothingToComplainAbout() async throws {
        try await withSimulator { simulator, bench in
            try await bench.expectAccepted(2_000)
            let statistics = simulator.statistics()
            #expect(statistics.accepted == 2_000)
            #expect(statistics.requests == 2_000, "nothing was sent twice")
            #expect(statistics.devices == 2_000)
            #expect(simulator.violations().isEmpty)
        }
    }

    @Test func aServerThatShrinksTheLimitAfterEachRefusalIsNotOverrun() async throws {
        var configuration = SimulatorConfiguration()
        configuration.collapsesOnRejection = true
        try await withSimulator(configuration) { simulator, bench in
            for push in stride(from: 10, to: 300, by: 10) { simulator.setToken(Player.token(push), .unknown) }
            let answers = try await bench.send(600)
            #expect(answers.count { $0 == .accepted } == 571)
            #expect(simulator.violations().isEmpty)
        }
    }

    /// The simulator draws faults from its own seed. Every push is sent again until it is accepted, so at the end every
    /// device must have its push.
    @Test(arguments: 1...6 as ClosedRange<UInt64>) func everyDeviceIsServedWhateverHappens(seed: UInt64) async throws {
        var configuration = SimulatorConfiguration()
        configuration.randomSeed = seed
        // Some seeds have tiny windows, and some have an empty header table.
        if seed.isMultiple(of: 2) { configuration.initialWindowByteCount = 300 }
        if seed.isMultiple(of: 3) { configuration.headerTableByteCount = 0 }
        var pool = ConnectionPoolConfiguration.forTests
        pool.connectionsMax = 3
        pool.requestTimeoutMillis = 600
        pool.pingAfterSilenceMillis = 150
        pool.pingTimeoutMillis = 500
        try await withSimulator(configuration, pool: pool, resends: .unknown) { simulator, bench in
            simulator.add(Fault(.goAway(GoAway(reason: "Shutdown", lastStream: .below(highestBy: 5))), rate: 0.004))
            simulator.add(Fault(.goAway(GoAway(errorCode: .enhanceYourCalm)), rate: 0.001))
            simulator.add(Fault(.cut(applied: true), rate: 0.001))
            simulator.add(Fault(.cut(applied: false), rate: 0.001))
            simulator.add(Fault(.stall(applied: true), rate: 0.003))
            simulator.add(Fault(.reset(.refusedStream, applied: false), rate: 0.05))
            simulator.add(Fault(.reset(.internalError, applied: true), rate: 0.01))
            simulator.add(Fault(.answer(status: 503, reason: "ServiceUnavailable"), rate: 0.02))
            simulator.add(Fault(.answer(status: 500, reason: "InternalServerError"), rate: 0.02))
            simulator.add(Fault(.answer(status: 429, reason: "TooManyRequests"), rate: 0.02))
            simulator.add(Fault(.answerRaw(status: 503, body: []), rate: 0.005))
            simulator.add(Fault(.answerRaw(status: 502, body: Array("<html>".utf8)), rate: 0.005))
            async let answers = bench.send(3_000)
            // Each action hits whole connections after a number of requests.
            let actions: [(requests: Int, action: ConnectionAction)] = [
                (300, .settings(HTTP2SettingsChange(concurrentStreamsMax: 1))),
                (500, .settings(HTTP2SettingsChange(concurrentStreamsMax: 500))),
                (800, .silence), (1_200, .cutMidRecord), (1_500, .goAway(GoAway(reason: "Shutdown"))), (1_800, .ping),
                (2_000, .close),
                (
                    2_300,
                    .settings(
                        HTTP2SettingsChange(
                            initialWindowByteCount: 100, headerTableByteCount: 0, frameByteCountMax: 16_384))
                ),
            ]
            for (requests, action) in actions {
                _ = try await simulator.wait { $0.requests >= requests }
                simulator.perform(action)
            }
            let results = try await answers
            #expect(results.count == 3_000)
            #expect(results.filter { $0 != .accepted }.isEmpty)
            let statistics = simulator.statistics()
            #expect(statistics.devices == 3_000, "every token's device got its push")
            let broken = simulator.violations().filter {
                [.request, .payload, .http2, .tls, .providerTokenUpdatedTooOften].contains($0.kind)
            }
            #expect(broken.isEmpty, "\(broken.prefix(3))")
            simulator.clearFaults()
            try await bench.expectAccepted(500)
        }
    }

    @Test func anOutageOfTheWholeServiceEndsInService() async throws {
        try await withSimulator(resends: .unknown) { simulator, bench in
            try await bench.expectAccepted(100)
            simulator.setRefusesConnections(true)
            simulator.perform(.cut)
            // The connection's end must be noticed before anything is sent. Otherwise the old connection may take all
            // pushes, and no new one is needed.
            try await bench.connectionEnds()
            async let answers = bench.send(200)
            try await bench.connectFails(thenStop: false)
            try await bench.connectFails(thenStop: false)
            simulator.setRefusesConnections(false)
            let results = try await answers
            #expect(results.filter { $0 != .accepted }.isEmpty)
        }
    }
}
