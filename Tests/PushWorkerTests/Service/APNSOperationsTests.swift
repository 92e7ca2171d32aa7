import APNSPool
import APNSSimulator
import Foundation
import PushEngine
import PushModel
import PushTransport
import TLSSession
import Testing

@testable import PushWorker

/// Tests of what an operator sees and does about APNs. The tests run whole workers with the simulator.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct APNSOperationsTests {
    private static func token(_ number: Int) -> String { String(format: "%08x", 0xdef0_0000 + number) }

    private static func readiness(_ worker: WorkerService) async throws -> (status: Int, body: String) {
        let answer = try await AdminPort.get("/readyz", port: try #require(worker.adminPort))
        return (answer.status, answer.body)
    }

    /// Readiness and metrics say that APNs cannot be reached, although no event was published.
    @Test func anAPNsThatIsAwayIsNamedWithoutTraffic() async throws {
        try await WorkerHouse.with { house in
            house.simulator.setMute(true)
            let worker = try house.worker()
            try await worker.start()
            let snapshot = try await WorkerHouse.wait(for: worker) {
                $0.runningPartitionCount == 4 && $0.errors.contains { $0.contains("sends nothing") }
            }
            #expect(snapshot.errors.count == 1, "once, and not for each shard: \(snapshot.errors)")
            let away = try await Self.readiness(worker)
            #expect(away.status == 503 && away.body.contains("sends nothing"))
            house.simulator.setMute(false)
            try await WorkerHouse.wait(for: worker) { $0.isReady && $0.degraded.isEmpty }

            // APNs was reached before. A later failure does not make this worker unready, because another worker could
            // not reach APNs either.
            house.simulator.setRefusesConnections(true)
            _ = await house.simulator.performAndWait(.cut)
            let lost = try await WorkerHouse.wait(for: worker) { !$0.degraded.isEmpty }
            #expect(lost.isReady && lost.degraded.count == 1)
            try await WorkerHouse.wait(for: worker) {
                $0.routes.reduce(0) { $0 + $1.counters.connectFailuresTotal } >= 3
                    && $0.routes.reduce(0) { $0 + $1.counters.connectionsOpen } == 0
            }
            let degraded = try await Self.readiness(worker)
            #expect(degraded.status == 200 && degraded.body.contains("cannot be reached"))
            house.simulator.setRefusesConnections(false)
            try await WorkerHouse.wait(for: worker) { $0.degraded.isEmpty }
            await worker.stop()
        }
    }

    /// A directory of keys changes while pushes flow. First comes a key that APNs does not know, then a good key. Then
    /// the old key is revoked. No event is rejected or dead-lettered.
    @Test func theKeyIsChangedWithoutAStop() async throws {
        try await WorkerHouse.with { house in
            let keys = house.directory + "/keys"
            try FileManager.default.createDirectory(atPath: keys, withIntermediateDirectories: true)
            func put(_ key: ES256PrivateKey, _ name: String) throws {
                try Data(key.pem()).write(to: URL(fileURLWithPath: "\(keys)/\(name).new"))
                try FileManager.default.moveItem(
                    atPath: "\(keys)/\(name).new", toPath: "\(keys)/AuthKey_\(name).p8")
            }
            try put(house.credentials.providerKey, WorkerHouse.keyID)
            var configuration = house.configuration()
            configuration.apps[0].keyID = nil
            configuration.apps[0].keyFile = keys
            configuration.pool.connectionsMax = 2
            let worker = try await house.readyWorker(configuration)
            let count = 200
            for number in 0..<count { try house.register("order-\(number)", token: Self.token(number)) }

            /// Pushes updates until `isDone`.
            func push(until isDone: @escaping @Sendable (WorkerSnapshot) -> Bool) async throws {
                for step in 1... {
                    // The count is taken before the updates, because APNs may accept them all before they are flushed.
                    let accepted = worker.snapshot().engine.pushesAccepted
                    for number in 0..<count { try house.update("order-\(number)", step, priority: 5) }
                    try await house.flush()
                    let snapshot = try await WorkerHouse.wait(for: worker) {
                        $0.engine.pushesAccepted > accepted || isDone($0)
                    }
                    if isDone(snapshot) { return }
                }
            }
            try await push { $0.engine.pushesAccepted > UInt64(count) }

            try put(ES256PrivateKey.generate(), "UNKNOWN123")
            try await push { $0.degraded.contains { $0.contains("UNKNOWN123") } }
            let after = worker.snapshot().engine.pushesAccepted
            try await push { $0.engine.pushesAccepted > after + UInt64(count) }
            let refused = try await Self.readiness(worker)
            #expect(refused.status == 200 && refused.body.contains("UNKNOWN123"))
            #expect(refused.body.contains("key \(WorkerHouse.keyID) stays in use"))

            let new = try ES256PrivateKey.generate()
            house.simulator.register(
                RegisteredKey(keyID: "NEWKEY1234", teamID: WorkerHouse.teamID, publicKey: try new.publicKey()))
            let before = house.simulator.statistics().connectionsAccepted
            try put(new, "NEWKEY1234")
            let metrics = try await AdminPort.get("/metrics", port: try #require(worker.adminPort)).body
            #expect(metrics.contains("mailboat_provider_token_age_seconds{key=\"\(WorkerHouse.keyID)\"}"))
            try await push { _ in house.simulator.statistics().connectionsAccepted > before }
            house.simulator.revokeKey(id: WorkerHouse.keyID)
            try FileManager.default.removeItem(atPath: "\(keys)/AuthKey_\(WorkerHouse.keyID).p8")
            let revoked = worker.snapshot().engine.pushesAccepted
            try await push { $0.engine.pushesAccepted > revoked + UInt64(2 * count) }

            let settled = try await WorkerHouse.wait(for: worker) { $0.isSettled }
            #expect(settled.engine.isConserved)
            #expect(settled.engine.count(.deadLettered) == 0 && settled.engine.count(.rejected) == 0)
            #expect(settled.errors.isEmpty, "\(settled.errors)")
            // A few pushes used the unknown key, one on each new connection. A few used the revoked key.
            let statistics = house.simulator.statistics()
            #expect(statistics.refused.keys.allSatisfy { $0 == "InvalidProviderToken" }, "\(statistics.refused)")
            #expect(statistics.refused["InvalidProviderToken", default: 0] >= 1)
            // The simulator counted only those pushes as violations. No connection had two keys or too many tokens.
            #expect(
                UInt64(statistics.violations) == settled.engine.pushesRefused,
                "\(house.simulator.violations().prefix(3))")
            await worker.stop()
        }
    }

    /// The old key is revoked first, and the worker finds the next key by itself.
    @Test func aRevokedKeyGivesWayToTheOther() async throws {
        try await WorkerHouse.with { house in
            let keys = house.directory + "/keys"
            try FileManager.default.createDirectory(atPath: keys, withIntermediateDirectories: true)
            let other = try ES256PrivateKey.generate()
            for (key, name) in [(house.credentials.providerKey, WorkerHouse.keyID), (other, "OTHERKEY12")] {
                try Data(key.pem()).write(to: URL(fileURLWithPath: "\(keys)/AuthKey_\(name).p8"))
            }
            house.simulator.register(
                RegisteredKey(keyID: "OTHERKEY12", teamID: WorkerHouse.teamID, publicKey: try other.publicKey()))
            var configuration = house.configuration()
            // The worker begins with the key that is revoked later.
            configuration.apps[0].keyID = WorkerHouse.keyID
            configuration.apps[0].keyFile = keys
            let worker = try await house.readyWorker(configuration)
            for number in 0..<20 { try house.register("order-\(number)", token: Self.token(number)) }
            for number in 0..<20 { try house.update("order-\(number)", 1) }
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.pushesAccepted == 20 && $0.isSettled }
            house.simulator.revokeKey(id: WorkerHouse.keyID)
            for number in 0..<20 { try house.update("order-\(number)", 2) }
            try await house.flush()
            let settled = try await WorkerHouse.wait(for: worker) {
                $0.engine.pushesAccepted == 40 && $0.isSettled && $0.isReady
            }
            #expect(
                settled.degraded.contains { $0.contains(WorkerHouse.keyID) && $0.contains("OTHERKEY12 stays in use") })
            await worker.stop()
        }
    }
}
