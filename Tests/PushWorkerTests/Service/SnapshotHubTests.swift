import APNSPool
import PushEngine
import PushModel
import PushTransport
import Testing

@testable import PushWorker

@Suite(.timeLimit(.minutes(5)))
struct SnapshotHubTests {
    private static func report(_ consumed: UInt64, phase: WorkerSnapshot.PartitionPhase? = nil) -> ShardReport {
        var report = ShardReport()
        report.engine.consumed = consumed
        report.engine.pending = consumed
        report.engine.stateGaps = consumed
        report.engine.stateRecordsForeign = 2 * consumed
        if let phase {
            report.partitions = [
                .init(number: 1, shard: 0, phase: phase, restoredRecords: 0, restoreRecordsMax: 0, reason: "why")
            ]
        }
        return report
    }

    @Test func shardsAreSummed() {
        let hub = SnapshotHub(shardCount: 2)
        hub.publish(Self.report(3), shard: 0)
        hub.publish(Self.report(4), shard: 1)
        hub.publish(Self.report(5), shard: 0)
        #expect(hub.snapshot.engine.consumed == 9)
        #expect(hub.snapshot.engine.stateGaps == 9 && hub.snapshot.engine.stateRecordsForeign == 18)
        #expect(hub.snapshot.engine.isConserved)
        #expect(hub.snapshot.shardCount == 2)
    }

    /// A worker is ready when at least one app is well. Trouble with another app must not stop a rollout.
    @Test(arguments: [
        // The trouble of each of the two apps, and whether the worker is ready.
        (refused: [true, false], keyRefused: [false, false], isReady: true),
        (refused: [true, true], keyRefused: [false, false], isReady: false),
        (refused: [false, false], keyRefused: [true, false], isReady: true),
        (refused: [false, true], keyRefused: [true, false], isReady: false),
        (refused: [false, false], keyRefused: [true, true], isReady: false),
    ])
    func oneAppsTroubleIsNotTheWorkers(refused: [Bool], keyRefused: [Bool], isReady: Bool) {
        let hub = SnapshotHub(shardCount: 1)
        hub.updateGroup { $0.hasJoined = true }
        var report = ShardReport()
        for app in 0..<2 {
            var route = WorkerSnapshot.Route(name: "production/\(app)", shard: 0, counters: RouteCounters())
            route.status.wasReached = true
            route.status.trouble = keyRefused[app] ? .credentialsRefused : nil
            report.routes.append(route)
            report.apps.append(
                AppStatus(bundleID: "app.\(app)", routes: [route.name], isRefused: refused[app]))
            if refused[app] { report.refusedTopics.append("topic \(app)") }
        }
        hub.publish(report, shard: 0)
        let snapshot = hub.snapshot
        let complaints = refused.count { $0 } + keyRefused.count { $0 }
        #expect(snapshot.isReady == isReady && snapshot.errors.isEmpty == isReady)
        #expect(snapshot.errors.count + snapshot.degraded.count == complaints)
    }

    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func lagIsMeasuredFromEachWatermarkToItsOwnEnd(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let hub = SnapshotHub(shardCount: 2)
        let all = (0..<3 as Range<UInt16>).flatMap { topic in
            (0..<20 as Range<Int32>).map { CommitPosition(topic: topic, partition: $0, nextOffset: 0) }
        }
        func some() -> [CommitPosition] {
            all.filter { _ in Bool.random(using: &random) }.shuffled(using: &random).map {
                CommitPosition(
                    topic: $0.topic, partition: $0.partition, nextOffset: Int64.random(in: 0...1_000, using: &random))
            }
        }
        let (watermarks, ends) = (some(), some())
        var report = ShardReport()
        report.watermarks = watermarks
        hub.publish(report, shard: 1)
        hub.updateGroup { $0.logEnds = ends }
        let topics = ["a", "b", "c"]
        let expected = watermarks.compactMap { watermark in
            ends.first { $0.topic == watermark.topic && $0.partition == watermark.partition }.map {
                WorkerMetrics.Lag(
                    topic: topics[Int(watermark.topic)], partition: watermark.partition,
                    records: max(0, $0.nextOffset - watermark.nextOffset))
            }
        }
        #expect(hub.lags(inputTopics: topics) == expected, "seed \(seed)")
        let statuses = hub.readings(inputTopics: topics, logEnds: ends)
        #expect(statuses.map(\.leftCount) == expected.map(\.records), "seed \(seed)")
    }

    @Test func whoeverWaitsIsTold() async throws {
        let hub = SnapshotHub(shardCount: 1)
        let waiting = Task { try await hub.wait { $0.engine.consumed >= 2 } }
        hub.publish(Self.report(1), shard: 0)
        hub.publish(Self.report(2), shard: 0)
        #expect(try await waiting.value.engine.consumed == 2)
    }

    @Test func whatHoldsAlreadyNeedsNoNews() async throws {
        let hub = SnapshotHub(shardCount: 1)
        #expect(try await hub.wait { !$0.hasJoinedGroup }.engine.consumed == 0)
    }

    @Test func theEndIsToldToThoseWhoWait() async {
        let hub = SnapshotHub(shardCount: 1)
        let waiting = Task { try await hub.wait { $0.engine.consumed > 0 } }
        hub.end(WorkerError("gone"))
        await #expect(throws: WorkerError("gone")) { try await waiting.value }
        await #expect(throws: WorkerError("gone")) { try await hub.wait { $0.engine.consumed > 0 } }
    }

    @Test func aCancelledWaitEnds() async {
        let hub = SnapshotHub(shardCount: 1)
        let task = Task { try await hub.wait { $0.engine.consumed > 0 } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test(arguments: [
        (WorkerSnapshot.PartitionPhase?.none, true), (.claiming, false), (.restoring, false), (.running, true),
        (.releasing, false), (.halted, false), (.waiting, true),
    ])
    func readyIsRestoredAndRunning(phase: WorkerSnapshot.PartitionPhase?, isReady: Bool) {
        let hub = SnapshotHub(shardCount: 1)
        hub.updateGroup { $0.hasJoined = true }
        hub.publish(Self.report(0, phase: phase), shard: 0)
        #expect(hub.snapshot.isReady == isReady)
        #expect(Readiness(hub.snapshot).ready == isReady)
    }

    @Test func readinessSaysWhatIsWrong() {
        let hub = SnapshotHub(shardCount: 1)
        #expect(!hub.snapshot.isReady)
        #expect(Readiness(hub.snapshot).errors == ["the consumer group has not answered yet"])
        hub.updateGroup {
            $0.hasJoined = true
            $0.errors["kafka"] = "Kafka: away"
        }
        hub.publish(Self.report(0, phase: .halted), shard: 0)
        let json = Readiness(hub.snapshot).json()
        #expect(json.contains("\"errors\":[\"Kafka: away\"]"))
        #expect(json.contains("{\"partition\":1,\"reason\":\"why\"}"))
    }

    /// The group has assigned a partition. The worker is not ready before a shard reports that the partition runs.
    @Test func whatTheGroupHasGivenIsAwaited() {
        let hub = SnapshotHub(shardCount: 1)
        hub.updateGroup {
            $0.hasJoined = true
            $0.given = [1]
        }
        #expect(!hub.snapshot.isReady)
        hub.publish(Self.report(0, phase: .restoring), shard: 0)
        #expect(hub.snapshot.awaitedPartitionCount == 0 && !hub.snapshot.isReady)
        hub.publish(Self.report(0, phase: .running), shard: 0)
        #expect(hub.snapshot.isReady)
        hub.updateGroup { $0.given = [1, 2] }
        #expect(!hub.snapshot.isReady)
    }

    @Test func drainingIsNotReady() {
        let hub = SnapshotHub(shardCount: 1)
        hub.updateGroup {
            $0.hasJoined = true
            $0.isDraining = true
        }
        #expect(!hub.snapshot.isReady)
    }
}
