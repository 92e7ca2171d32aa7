import KafkaLog
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct EmbeddedKafkaTests {
    @Test func topicsHaveTheirPartitionCountsAndAdministrationIsRefusedInWords() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("a", partitionCount: 7), .init("b", partitionCount: 1)])
        #expect(throws: KafkaError.self) { try kafka.createTopic(.init("a", partitionCount: 2)) }
        #expect(throws: KafkaError.self) { try kafka.createTopic(.init("zero", partitionCount: 0)) }
        try kafka.createTopic(.init("c", partitionCount: 3))
        let admin = try KafkaAdmin(kafka.settings)
        let (topics, one, id) = try await NamedThread.run("test") {
            Result {
                (
                    try admin.describeTopics(within: .seconds(5)),
                    try admin.describeTopics(["b", "nothing"], within: .seconds(5)),
                    admin.clusterID(within: .seconds(5))
                )
            }
        }.get()
        #expect(topics.map(\.name) == ["a", "b", "c"])
        #expect(topics.map(\.partitionCount) == [7, 1, 3])
        #expect(one.map(\.name) == ["b"])
        #expect(id.map(EmbeddedKafka.isEmbedded(clusterID:)) == true)
        let refusal = await NamedThread.run("test") {
            Result { try admin.createTopics([.init(name: "d", partitionCount: 1)], within: .seconds(5)) }
        }
        #expect { try refusal.get() } throws: { ($0 as? KafkaError)?.code == .unsupportedFeature }
        let unknown = await NamedThread.run("test") {
            Result { try admin.topicConfigurations(["a"], within: .seconds(5)) }
        }
        #expect { try unknown.get() } throws: { ($0 as? KafkaError)?.code == .unsupportedFeature }
    }

    @Test func aPartitionThatFillsIsSaidLoudly() async throws {
        let notices = Mutex<[EmbeddedKafka.Notice]>([])
        let kafka = try EmbeddedKafka(
            topics: [.init("t", partitionCount: 2)], onNotice: { notice in notices.withLock { $0.append(notice) } })
        let writer = try TestWriter(kafka.settings)
        func check() async { await NamedThread.run("test") { _ = kafka.checkFill() } }
        try writer.write(1_000, to: "t", partition: 1, valueByteCount: 1_000)
        await check()
        #expect(notices.withLock { $0 }.isEmpty)
        try writer.write(3_400, to: "t", partition: 1, valueByteCount: 1_000)
        await check()
        await check()
        let nearly = notices.withLock { $0 }
        try #require(nearly.count == 1)
        guard case .nearlyFull(let fill) = nearly[0] else {
            throw KafkaError(code: .invalidArgument, text: "\(nearly)")
        }
        #expect(
            fill.topicPartition == .init(topic: "t", partition: 1) && fill.endOffset == 4_400 && fill.lowOffset == 0)
        try writer.write(2_000, to: "t", partition: 1, valueByteCount: 1_000)
        await check()
        await check()
        let all = notices.withLock { $0 }
        try #require(all.count == 2)
        guard case .truncated(let cut) = all[1] else { throw KafkaError(code: .invalidArgument, text: "\(all)") }
        #expect(cut.lowOffset > 0 && cut.endOffset == 6_400)
        #expect(EmbeddedKafka.text(of: all[1]).hasPrefix("error: embedded Kafka: partition t[1]"))
        #expect(EmbeddedKafka.text(of: all[0]).hasPrefix("warning: embedded Kafka: partition t[1]"))
    }

    @Test func aClusterThatIsDownComesBackWithItsRecords() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("t", partitionCount: 1)])
        let writer = try TestWriter(kafka.settings)
        try writer.write(3, to: "t", partition: 0)
        kafka.setDown()
        let (topic, value) = (try writer.producer.topic("t"), Array("late".utf8))
        #expect(writer.producer.produce(topic, partition: 0, key: nil, value: value.span, opaque: 9) == .queued)
        #expect(writer.producer.flush(within: .milliseconds(300)) { _ in } == 1)
        kafka.setUp()
        var offset: Int64?
        #expect(writer.producer.flush(within: .seconds(10)) { offset = $0.offset } == 0)
        #expect(offset == 3)
    }

    /// With `producerSettings`, a producer loses no record if the first of two requests in flight fails and the second
    /// is accepted. Without them the producer would regard both requests as written.
    @Test func aProducerWithItsSettingsLosesNothing() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("t", partitionCount: 1)])
        let writer = try TestWriter(
            kafka.settings.appending("batch.num.messages", "1").appending("linger.ms", "0")
                .appending(EmbeddedKafka.producerSettings))
        try writer.write(1, to: "t", partition: 0)
        kafka.setRoundTrip(millis: 50)
        for _ in 0..<5 {
            // The API key 0 is Produce, and error 7 is REQUEST_TIMED_OUT.
            kafka.failRequests(apiKey: 0, code: .init(rawValue: 7), count: 1)
            let offsets = try writer.write(4, to: "t", partition: 0)
            #expect(offsets.count == 4 && offsets.allSatisfy { $0 >= 0 })
        }
        kafka.setRoundTrip(millis: 0)
        let reader = try KafkaLogReader(kafka.settings)
        let records = try await NamedThread.run("test") {
            Result { try reader.readAll(.init(topic: "t", partition: 0), within: .seconds(10)) }
        }.get()
        #expect(records.count == 21)
    }

    /// Requests for one topic can fail while those for another succeed, if the topics have different leaders.
    @Test func oneBrokerRefusesAlone() throws {
        let kafka = try EmbeddedKafka(
            topics: [.init("t", partitionCount: 2), .init("u", partitionCount: 2)], brokerCount: 2)
        for partition: Int32 in 0..<2 {
            kafka.setLeader(of: TopicPartition(topic: "t", partition: partition), broker: 1)
            kafka.setLeader(of: TopicPartition(topic: "u", partition: partition), broker: 2)
        }
        let writer = try TestWriter(kafka.settings)
        kafka.failRequests(apiKey: 0, code: .messageTooLarge, count: 1, broker: 2)
        #expect(try writer.write(1, to: "t", partition: 0) == [0])
        #expect(try writer.write(1, to: "u", partition: 0).allSatisfy { $0 < 0 })
        #expect(try writer.write(1, to: "u", partition: 0) == [0])
    }
}
