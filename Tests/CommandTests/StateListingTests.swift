import ArgumentParser
import KafkaLog
import PushEngine
import PushModel
import Testing

@testable import mailboat

@Suite(.timeLimit(.minutes(5)))
struct StateListingTests {
    private static func listing(key: String? = nil, showsAll: Bool = false, isJSON: Bool = false) -> StateListing {
        StateListing(
            reader: StateRecordReader(inputTopics: ["liveactivity.events"]), key: key, showsAll: showsAll,
            showsContent: true, isJSON: isJSON, nowMillis: 1_700_000_000_000)
    }

    private static func record(
        _ key: String, _ value: [UInt8]?, offset: Int64, headers: [OwnedRecord.Header] = []
    ) -> OwnedRecord {
        OwnedRecord(
            partition: 3, offset: offset, timestampMillis: 0, key: Array(key.utf8), value: value, headers: headers)
    }

    /// A marker of format version 1. Its epoch -1 stands for its own offset. It has takeover time 0, 4 partitions and
    /// no cluster.
    private static let marker: [UInt8] = [1, 2, 1, 0, 8, 0]

    @Test func aMarkerIsALine() {
        var listing = Self.listing()
        listing.add(Self.record("m", Self.marker, offset: 9))
        #expect(listing.takeLines() == ["[3]@9  marker  taken over 1970-01-01T00:00:00Z, epoch 9, 4 partitions"])
        #expect(listing.unreadableCount == 0)
    }

    @Test func onlyTheNewestRecordOfAKeyCounts() {
        var listing = Self.listing()
        listing.add(Self.record("m", Self.marker, offset: 9))
        listing.add(Self.record("a/app/x", [99], offset: 10))
        listing.add(Self.record("a/app/x", nil, offset: 11))
        listing.add(Self.record("m", Self.marker, offset: 12))
        #expect(listing.takeLines().map { $0.prefix(6) } == ["[3]@12"])
        #expect(listing.unreadableCount == 0)
    }

    @Test func withAllEveryRecordIsShown() {
        var listing = Self.listing(showsAll: true)
        listing.add(Self.record("a/app/x", [99], offset: 10))
        let epoch = OwnedRecord.Header(name: RecordHeader.epoch.text, value: Array("7".utf8))
        listing.add(Self.record("a/app/x", nil, offset: 11, headers: [epoch]))
        #expect(
            listing.takeLines() == [
                "[3]@10  app x  UNREADABLE: version 99, which this release does not know",
                "[3]@11  app x  gone, epoch 7",
            ])
        #expect(listing.unreadableCount == 1)
    }

    /// An unreadable record is always listed, whatever key is searched for.
    @Test func unreadableRecordsAreNamedWithPartitionAndOffset() {
        var listing = Self.listing(key: "y", isJSON: true)
        listing.add(Self.record("a/app/x", [1, 11], offset: 10))
        listing.add(Self.record("m", Self.marker, offset: 12))
        let lines = listing.takeLines()
        #expect(lines.count == 1)
        #expect(lines.first?.contains("\"offset\":10,\"partition\":3,\"unreadable\":\"a record of kind 11\"") == true)
        #expect(
            listing.summary == "2 records read: 0 activities, 0 with something to send; 1 record could not be read")
    }

    @Test(arguments: [(["--format", "xml"], "table"), (["--timeout", "0"], "1 to 3600")])
    func aWrongCommandLineSaysWhatWasExpected(arguments: [String], expected: String) {
        #expect {
            _ = try StateCommand.Dump.parse(["--bootstrap", "localhost:1"] + arguments)
        } throws: {
            StateCommand.Dump.message(for: $0).contains(expected)
        }
    }

    @Test func aDumpReadsATopicAndSaysWhatItCouldNotRead() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("liveactivity.state", partitionCount: 2)])
        defer { kafka.stop() }
        let producer = try KafkaProducer(
            ProducerConfiguration(settings: kafka.settings), onDeliveries: {}, onError: { _ in })
        let topic = try producer.topic("liveactivity.state")
        let (key, value) = (Array("m".utf8), Self.marker)
        #expect(producer.produce(topic, partition: 0, key: key.span, value: value.span, opaque: 0) == .queued)
        #expect(producer.flush(within: .seconds(20)) { _ in } == 0)
        let words = ["--bootstrap", kafka.bootstrap, "-X", "fetch.wait.max.ms=5"]
        try await StateCommand.Dump.parse(words).run()
        let (damagedKey, damaged) = (Array("a/app/x".utf8), [UInt8(99)])
        #expect(
            producer.produce(topic, partition: 1, key: damagedKey.span, value: damaged.span, opaque: 0) == .queued)
        #expect(producer.flush(within: .seconds(20)) { _ in } == 0)
        await #expect(throws: ExitCode(1)) { try await StateCommand.Dump.parse(words).run() }
        try await StateCommand.Dump.parse(words + ["--partition", "0"]).run()
    }
}
