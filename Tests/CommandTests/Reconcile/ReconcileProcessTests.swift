import APNSProtocol
import APNSSimulator
import ChannelKeeping
import ChildProcesses
import DeviceModel
import KafkaLog
import PushModel
import Testing

@testable import mailboat

/// Tests of `mailboat channels reconcile` as a user runs it, against a Kafka and the simulated APNs.
@Suite(.timeLimit(.minutes(5)))
struct ReconcileProcessTests {
    /// A simulated APNs with channels. Only some of the channels have records in `state`.
    private struct Scene {
        var house: ChannelsHouse
        /// Ids of four channels. The first three are ours: an audience's, a warm one, and one being deleted. The last
        /// is a stranger's.
        var ids: [String]
        var all: Set<String> { Set(self.house.simulator.channels().map(\.id)) }
    }

    /// Partition of the app's keeper.
    private static let partition = KeptChannelKey.keeperPartition(
        bundleID: KeptRecordBytes.bundleID, environment: .production, partitionCount: 3)

    private static func with(_ body: (Scene, EmbeddedKafka) async throws -> Void) async throws {
        let kafka = try EmbeddedKafka(topics: [.init("liveactivity.state", partitionCount: 3)])
        defer { kafka.stop() }
        try await ChannelsHouse.with(bootstrap: kafka.bootstrap) { house in
            let ids = try (0..<4).map { _ in
                try #require(house.simulator.createChannel(app: KeptRecordBytes.bundleID, storage: .none))
            }
            try Self.write(
                [
                    KeptRecordBytes.channel(.open, id: ids[0], audience: "match-7"),
                    KeptRecordBytes.channel(.open, id: ids[1]), KeptRecordBytes.channel(.deleting, id: ids[2]),
                    KeptRecordBytes.channel(.open, id: "bWlzc2luZw==", audience: "match-8"),
                ], to: kafka)
            try await body(Scene(house: house, ids: ids), kafka)
        }
    }

    private static func write(_ channels: [KeptChannel], from first: Int64 = 0, to kafka: EmbeddedKafka) throws {
        let producer = try KafkaProducer(
            ProducerConfiguration(settings: kafka.settings), onDeliveries: {}, onError: { _ in })
        let topic = try producer.topic("liveactivity.state")
        for (index, channel) in channels.enumerated() {
            let (key, value) = (KeptRecordBytes.key(first + Int64(index)), KeptRecordBytes.value(channel))
            #expect(
                producer.produce(topic, partition: Self.partition, key: key.span, value: value.span, opaque: 0)
                    == .queued)
        }
        #expect(producer.flush(within: .seconds(20)) { _ in } == 0)
    }

    @Test func whatWouldBeDoneIsSaidAndNothingIsDone() async throws {
        try await Self.with { scene, _ in
            let told = try await scene.house.run("reconcile")
            #expect(told.status == 0, "\(told)")
            #expect(
                told.lines.map { $0.split(separator: "  ")[0] } == ["delete", "delete", "open again", "unknown"])
            #expect(told.lines[0].contains(scene.ids[1]) && told.lines[1].contains(scene.ids[2]))
            #expect(told.lines[2].contains("bWlzc2luZw==  of match-8"))
            #expect(told.lines[3].contains(scene.ids[3]))
            #expect(
                told.errors.contains("4 channels in APNs' list, 4 records in state; 2 to delete, 1 to be opened again"))
            #expect(told.errors.contains("nothing was done: --execute deletes"))
            #expect(told.errors.contains("opens and forgets the others"))
            #expect(told.errors.contains("as audience.channel is none"))
            #expect(scene.all == Set(scene.ids))
        }
    }

    @Test func itDeletesWhatIsOursAndOfNoUse() async throws {
        try await Self.with { scene, _ in
            let done = try await scene.house.run("reconcile", "--execute", "--format", "json")
            #expect(done.status == 0, "\(done)")
            #expect(scene.all == [scene.ids[0], scene.ids[3]])
            #expect(done.lines.filter { $0.contains(#""deleted":true"#) }.count == 2)
            #expect(done.lines.contains { $0.contains(#""verdict":"open-again""#) && !$0.contains("deleted") })
            // A second run finds nothing to delete, because the deleted channels are no longer in APNs' list.
            let again = try await scene.house.run("reconcile", "--execute")
            #expect(again.status == 0 && again.errors.contains("; 0 to delete"), "\(again)")
            #expect(scene.all == [scene.ids[0], scene.ids[3]])
        }
    }

    @Test func aDeletionThatAPNsRefusesIsNamedAndTheOthersAreDone() async throws {
        try await Self.with { scene, _ in
            let prefix = String(scene.ids[1])
            scene.house.simulator.add(
                Fault(.answer(status: 403, reason: "TopicMismatch"), kind: .deleteChannel, channelPrefix: prefix))
            let done = try await scene.house.run("reconcile", "--execute")
            #expect(done.status == 1, "\(done)")
            #expect(done.errors.contains("channel \(prefix) of com.example.pizza (production) was not deleted"))
            #expect(done.errors.contains("1 of 2 were not deleted"))
            #expect(scene.all == [scene.ids[0], scene.ids[1], scene.ids[3]])
        }
    }

    /// A channel may be ours, but its record cannot be read by this release. So the command names the record and does
    /// not delete the channel.
    @Test func aRecordThatCannotBeReadIsNamed() async throws {
        try await Self.with { scene, kafka in
            let producer = try KafkaProducer(
                ProducerConfiguration(settings: kafka.settings), onDeliveries: {}, onError: { _ in })
            let topic = try producer.topic("liveactivity.state")
            let (key, value): ([UInt8], [UInt8]) = (KeptRecordBytes.key(1), [9, 13])
            #expect(
                producer.produce(topic, partition: Self.partition, key: key.span, value: value.span, opaque: 0)
                    == .queued)
            #expect(producer.flush(within: .seconds(20)) { _ in } == 0)
            let done = try await scene.house.run("reconcile", "--execute")
            #expect(done.status == 1, "\(done)")
            #expect(done.errors.contains("liveactivity.state[\(Self.partition)]@4 cannot be read: version 9"))
            #expect(scene.all == [scene.ids[0], scene.ids[1], scene.ids[3]])
        }
    }

    @Test func aListThatIsRefusedEndsIt() async throws {
        try await Self.with { scene, _ in
            scene.house.simulator.setBroadcasts(false, app: KeptRecordBytes.bundleID)
            let told = try await scene.house.run("reconcile", "--format", "json")
            #expect(told.status == 1 && told.output.contains(#""kind":"feature-not-enabled""#), "\(told)")
        }
    }
}
