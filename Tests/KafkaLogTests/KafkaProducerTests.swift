import KafkaLog
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct KafkaProducerTests {
    @Test func everyPartOfARecordArrivesAsItWasProduced() async throws {
        let kafka = try TestCluster(topics: [.init("t", partitionCount: 2)])
        let writer = try TestWriter(kafka.settings)
        let topic = try writer.producer.topic(kafka["t"])
        var headers = KafkaHeaders()
        headers.append("traceparent", "00-abc")
        headers.append("empty", "")
        let (key, value, empty) = (Array("k".utf8), Array("v".utf8), [UInt8]())
        #expect(
            writer.producer.produce(
                topic, partition: 1, key: key.span, value: value.span, headers: headers,
                timestampMillis: 1_700_000_000_123, opaque: 7) == .queued)
        #expect(writer.producer.produce(topic, partition: 1, key: key.span, value: nil, opaque: .max) == .queued)
        #expect(writer.producer.produce(topic, partition: 1, key: nil, value: empty.span, opaque: 0) == .queued)
        #expect(writer.producer.produce(topic, partition: 1, key: empty.span, value: value.span, opaque: 1) == .queued)
        var delivered: [(UInt64, Int32, Int64)] = []
        #expect(
            writer.producer.flush(within: .seconds(10)) { delivered.append(($0.opaque, $0.partition, $0.offset)) } == 0)
        #expect(delivered.map(\.0) == [7, .max, 0, 1])
        #expect(delivered.map(\.1) == [1, 1, 1, 1])
        #expect(delivered.map(\.2) == [0, 1, 2, 3])

        let reader = try KafkaLogReader(kafka.settings)
        let records = try await NamedThread.run("test") {
            Result { try reader.readAll(.init(topic: kafka["t"], partition: 1), within: .seconds(10)) }
        }.get()
        try #require(records.count == 4)
        #expect(
            records[0].keyText == "k" && records[0].valueText == "v" && records[0].timestampMillis == 1_700_000_000_123)
        #expect(
            records[0].headers == [
                .init(name: "traceparent", value: Array("00-abc".utf8)), .init(name: "empty", value: []),
            ])
        #expect(records[1].keyText == "k" && records[1].value == nil && records[1].headers.isEmpty)
        #expect(records[2].key == nil && records[2].value == [])
        #expect(records[3].key == [] && records[3].timestampMillis > 1_700_000_000_123)
        #expect(records.map(\.offset) == [0, 1, 2, 3])
    }

    @Test func aBatchArrivesAsItsRecordsWere() async throws {
        let kafka = try TestCluster(topics: [.init("t", partitionCount: 2)])
        let writer = try TestWriter(kafka.settings)
        let (topic, bytes) = (try writer.producer.topic(kafka["t"]), Array("key1value1key2v".utf8))
        let records = [
            PlainRecord(partition: 1, key: 0..<4, value: 4..<10, opaque: 7),
            PlainRecord(partition: 0, key: 10..<14, value: nil, opaque: .max),
            PlainRecord(partition: 1, key: nil, value: 0..<0, opaque: 0),
            PlainRecord(partition: 1, key: 2..<2, value: 14..<15, opaque: 1),
        ]
        let result = writer.producer.produce(topic, count: 4, bytes: bytes.span) { records[$0] }
        #expect(result.doneCount == 4 && result.failures.isEmpty)
        var delivered: [UInt64: TopicPartitionOffset] = [:]
        let left = writer.producer.flush(within: .seconds(10)) {
            delivered[$0.opaque] = TopicPartitionOffset(topic: $0.topic, partition: $0.partition, offset: $0.offset)
        }
        #expect(left == 0)
        #expect(
            delivered == [
                7: .init(topic: kafka["t"], partition: 1, offset: 0),
                .max: .init(topic: kafka["t"], partition: 0, offset: 0),
                0: .init(topic: kafka["t"], partition: 1, offset: 1),
                1: .init(topic: kafka["t"], partition: 1, offset: 2),
            ])
        let reader = try KafkaLogReader(kafka.settings)
        let (zero, one) = try await NamedThread.run("test") {
            Result {
                (
                    try reader.readAll(.init(topic: kafka["t"], partition: 0), within: .seconds(10)),
                    try reader.readAll(.init(topic: kafka["t"], partition: 1), within: .seconds(10))
                )
            }
        }.get()
        #expect(zero.map(\.keyText) == ["key2"] && zero.map(\.value) == [nil])
        #expect(one.map(\.key) == [Array("key1".utf8), nil, []])
        #expect(one.map(\.value) == [Array("value1".utf8), [], Array("v".utf8)])
        #expect(one.allSatisfy { $0.headers.isEmpty && $0.timestampMillis > 1_700_000_000_000 })
    }

    /// A batch stops where there is no room, and the answer names the record that was refused. The batch has more
    /// records than one call takes, and one record is larger than the limit.
    @Test func aBatchStopsWhereThereIsNoRoomAndNamesWhatFailed() throws {
        let kafka = try TestCluster(topics: [.init("t", partitionCount: 1)])
        let settings = kafka.settings.appending("queue.buffering.max.messages", "700").appending(
            "message.max.bytes", "1000")
        let writer = try TestWriter(settings)
        try writer.write(1, to: kafka["t"], partition: 0)
        let (topic, bytes) = (try writer.producer.topic(kafka["t"]), [UInt8](repeating: 0x20, count: 2_000))
        func record(_ number: Int) -> PlainRecord {
            PlainRecord(partition: 0, key: 0..<1, value: 0..<(number == 300 ? 2_000 : 10), opaque: UInt64(number))
        }
        var (opaques, failures, next, fullCount) = ([UInt64](), [Int](), 0, 0)
        while next < 2_000 {
            let result = writer.producer.produce(topic, count: 2_000 - next, bytes: bytes.span) { record(next + $0) }
            failures += result.failures.map { next + $0.index }
            #expect(result.failures.allSatisfy { !$0.error.isFatal })
            next += result.doneCount
            guard next < 2_000 else { break }
            fullCount += 1
            #expect(result.doneCount <= 701 && writer.producer.outstandingCount == 700)
            writer.producer.flush(within: .seconds(10)) { opaques.append($0.opaque) }
        }
        #expect(writer.producer.flush(within: .seconds(10)) { opaques.append($0.opaque) } == 0)
        #expect(failures == [300] && fullCount >= 2)
        #expect(opaques == (0..<2_000).filter { $0 != 300 })
    }

    /// Values of Java's murmur2 for these keys, from Kafka's own UtilsTest.
    @Test(
        arguments: [
            ("21", -973_932_308), ("foobar", -790_332_482), ("a-little-bit-long-string", -985_981_536),
            ("abc", 479_470_107),
        ] as [(String, Int32)])
    func keysFindTheirPartitionAsJavaClientsDo(key: String, hash: Int32) async throws {
        let partitionCount: Int32 = 13
        let kafka = try TestCluster(topics: [.init("t", partitionCount: Int(partitionCount))])
        let writer = try TestWriter(kafka.settings)
        let (bytes, topic) = (Array(key.utf8), try writer.producer.topic(kafka["t"]))
        #expect(writer.producer.produce(topic, key: bytes.span, value: bytes.span, opaque: 1) == .queued)
        var partition: Int32 = -1
        writer.producer.flush(within: .seconds(10)) { partition = $0.partition }
        #expect(partition == (hash & 0x7fff_ffff) % partitionCount)
    }

    /// A record of a topic without a timeout is not given up while the brokers are away. A record of another topic is
    /// given up after `message.timeout.ms`.
    @Test func aRecordOfATopicWithoutTimeoutIsNotGivenUp() throws {
        let kafka = try EmbeddedKafka(topics: [.init("t", partitionCount: 1), .init("u", partitionCount: 1)])
        let writer = try TestWriter(kafka.settings.appending("message.timeout.ms", "1000"))
        let producer = writer.producer
        let (mortal, immortal) = (try producer.topic("t"), try producer.topic("u", timesOut: false))
        kafka.setDown()
        #expect(producer.produce(mortal, partition: 0, key: nil, value: nil, opaque: 1) == .queued)
        #expect(producer.produce(immortal, partition: 0, key: nil, value: nil, opaque: 2) == .queued)
        var failed: [UInt64] = []
        var delivered: [UInt64] = []
        while failed.isEmpty, producer.outstandingCount > 1 {
            producer.flush(within: .seconds(5)) { delivery in
                if delivery.error == nil { delivered.append(delivery.opaque) } else { failed.append(delivery.opaque) }
            }
        }
        #expect(failed == [1] && delivered.isEmpty && producer.outstandingCount == 1)
        kafka.setUp()
        let left = producer.flush(within: .seconds(20)) { delivery in
            if delivery.error == nil { delivered.append(delivery.opaque) } else { failed.append(delivery.opaque) }
        }
        #expect(left == 0 && failed == [1] && delivered == [2])
    }

    @Test func aFailedDeliveryGivesTheWholeMessageBack() throws {
        let kafka = try EmbeddedKafka(topics: [.init("t", partitionCount: 1)])
        let writer = try TestWriter(kafka.settings.appending("message.timeout.ms", "1000"))
        let producer = writer.producer
        try writer.write(1, to: "t", partition: 0)
        kafka.setDown()
        var headers = KafkaHeaders()
        headers.append("h", "1")
        let (key, value, topic) = (Array("key".utf8), Array("value".utf8), try producer.topic("t"))
        #expect(
            producer.produce(
                topic, partition: 0, key: key.span, value: value.span, headers: headers, timestampMillis: 5_000,
                opaque: 42) == .queued)
        #expect(producer.produce(topic, partition: 0, key: nil, value: nil, opaque: 43) == .queued)
        var failures: [KafkaError] = []
        while failures.count < 2, producer.outstandingCount > 0 {
            producer.flush(within: .seconds(5)) { delivery in
                guard let error = delivery.error else { return }
                failures.append(error)
                #expect(delivery.topic == "t" && delivery.isOf(topic) && delivery.partition == 0)
                guard delivery.opaque == 42 else {
                    #expect(delivery.opaque == 43 && !delivery.hasKey && !delivery.hasValue)
                    return
                }
                #expect(delivery.hasKey && delivery.hasValue && delivery.timestampMillis == 5_000)
                #expect(delivery.key.count == 3 && delivery.value.count == 5)
                var names: [Int] = []
                delivery.forEachHeader { name, value, _ in names += [name.count, value.count] }
                #expect(names == [1, 1])
            }
        }
        #expect(failures.map(\.code) == [.messageTimedOut, .messageTimedOut])
        #expect(failures.first?.isRetriable == true)
        // librdkafka's own text of the failure would contain the payload, and so put tokens into the log.
        #expect(failures.allSatisfy { !"\($0)".contains("value") })
    }

    @Test func aFullQueueIsAnAnswerAndRoomComesBack() async throws {
        let kafka = try TestCluster(topics: [.init("t", partitionCount: 1)])
        let writer = try TestWriter(
            kafka.settings.appending("queue.buffering.max.messages", "10").appending("linger.ms", "100"))
        let (value, topic) = (Array("v".utf8), try writer.producer.topic(kafka["t"]))
        var results: [ProduceResult] = []
        for number in 0..<11 {
            results.append(
                writer.producer.produce(topic, partition: 0, key: nil, value: value.span, opaque: UInt64(number)))
        }
        #expect(results == [ProduceResult](repeating: .queued, count: 10) + [.queueFull])
        #expect(writer.producer.outstandingCount == 10)
        var successCount = 0
        #expect(writer.producer.flush(within: .seconds(10)) { successCount += $0.isSuccess ? 1 : 0 } == 0)
        #expect(writer.producer.produce(topic, partition: 0, key: nil, value: value.span, opaque: 11) == .queued)
        #expect(writer.producer.flush(within: .seconds(10)) { successCount += $0.isSuccess ? 1 : 0 } == 0)
        #expect(successCount == 11)
    }

    @Test func aMessageThatIsTooLargeOrGoesNowhereIsRefusedWithTheReason() async throws {
        let kafka = try TestCluster(topics: [.init("t", partitionCount: 1)])
        let writer = try TestWriter(kafka.settings.appending("message.max.bytes", "1000"))
        let topic = try writer.producer.topic(kafka["t"])
        let large = [UInt8](repeating: 1, count: 2_000)
        guard
            case .failed(let error) = writer.producer.produce(
                topic, partition: 0, key: nil, value: large.span, opaque: 1)
        else {
            Issue.record("a message over message.max.bytes was taken")
            return
        }
        #expect(error.code == .messageTooLarge && !error.isRetriable)
        #expect(writer.producer.outstandingCount == 0)
        try writer.write(1, to: kafka["t"], partition: 0)
        guard case .failed(let nowhere) = writer.producer.produce(topic, partition: 9, key: nil, value: nil, opaque: 1)
        else {
            Issue.record("a partition that does not exist was taken")
            return
        }
        #expect(nowhere.subject == .partition(.init(topic: kafka["t"], partition: 9)))
    }

    @Test func requestErrorsAndLostConnectionsAreSurvivedInOrder() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("t", partitionCount: 1)])
        let writer = try TestWriter(kafka.settings)
        try writer.write(1, to: "t", partition: 0)
        kafka.failRequests(apiKey: 0, code: .init(rawValue: 7), count: 2)
        kafka.failRequests(apiKey: 0, code: .transport, count: 1)
        #expect(try writer.write(50, to: "t", partition: 0) == Array(1...50))
        let reader = try KafkaLogReader(kafka.settings)
        let records = try await NamedThread.run("test") {
            Result { try reader.readAll(.init(topic: "t", partition: 0), within: .seconds(10)) }
        }.get()
        #expect(records.dropFirst().map(\.valueText) == (0..<50).map { String($0) })
    }
}
