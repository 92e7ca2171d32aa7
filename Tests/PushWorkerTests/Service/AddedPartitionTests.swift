import APNSSimulator
import DeviceModel
import KafkaLog
import PushEngine
import Testing

@testable import PushWorker

/// Tests of an input topic that has got more partitions than there were when `state` was first written.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct AddedPartitionTests {
    private static var topics: [EmbeddedKafka.Topic] {
        let topics = WorkerConfiguration().topics
        return topics.all.map { EmbeddedKafka.Topic($0, partitionCount: topics.events.contains($0) ? 3 : 2) }
    }

    private static func token(_ number: Int) -> String { "abc0000\(number)" }

    /// The registrations are in the partitions that the old count of two gives. The updates are in an added third
    /// partition, and are forwarded to the activities' partitions.
    @Test func itsRecordsAreForwardedByTheOldCount() async throws {
        try await WorkerHouse.with(partitionCount: 2, topics: Self.topics) { house in
            for number in 0..<8 {
                try house.register("activity-\(number)", token: Self.token(number))
                try house.update("activity-\(number)", 1)
            }
            for number in 0..<8 {
                try house.publish(
                    "activity-\(number)", #"{"event":"update","priority":10,"content-state":{"step":2}}"#, partition: 2)
            }
            try await house.flush()
            let worker = try await house.readyWorker()
            try await WorkerHouse.wait(for: worker) {
                $0.engine.consumed == 32 && $0.engine.forwarded == 8 && $0.isSettled
            }
            for number in 0..<8 {
                let shown = house.simulator.device(token: Self.token(number)).map {
                    String(decoding: $0.device.contentState, as: UTF8.self)
                }
                #expect(shown == "{\"step\":2}")
            }
            let snapshot = worker.snapshot()
            #expect(snapshot.isReady && snapshot.partitions.map(\.phase) == [.running, .running, .inlet])
            #expect(snapshot.degraded.contains { $0.contains("records of partition 2 are forwarded") })
            #expect(worker.metricsText?.contains("mailboat_partitions{phase=\"inlet\"} 1") == true)
            #expect(await worker.stop().isClean)
            #expect(worker.snapshot().engine.isConserved)
            #expect(try await house.committed().reduce(0, +) == 16)
            // The group has committed the forwarded records, too.
            let added = TopicPartition(topic: WorkerConfiguration().topics.events[0], partition: 2)
            let consumer = try house.outsider()
            let answers = await NamedThread.run("test-positions") {
                try? consumer.positionsOfEach(
                    [added, TopicPartition(topic: WorkerConfiguration().topics.routed, partition: 2)],
                    within: .seconds(10))
            }
            #expect(answers?.known[added]?.committed == 8)
            #expect(answers?.known.count == 1 && answers?.unknown.count == 1, "there is no such partition of routed")
        }
    }

    /// With `placement: trust` no worker knows where the records of an added partition belong. That partition waits,
    /// and the others run.
    @Test func itWaitsUnderTrust() async throws {
        try await WorkerHouse.with(partitionCount: 2, topics: Self.topics) { house in
            var configuration = house.configuration()
            configuration.engine.placement = .trust
            let worker = try await house.readyWorker(configuration)
            try house.register("activity-1", token: Self.token(1))
            try house.update("activity-1", 1)
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.pushesAccepted == 1 && $0.isSettled }
            let snapshot = worker.snapshot()
            #expect(snapshot.isReady && snapshot.partitions.map(\.phase) == [.running, .running, .waiting])
            #expect(
                snapshot.degraded.contains { $0.hasPrefix("partition 2 waits: ") && $0.contains("placement: trust") })
            #expect(await worker.stop().isClean)
        }
    }
}
