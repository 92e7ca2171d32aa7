import KafkaLog
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct KafkaLogReaderTests {
    @Test func aSectionEndsWhereItWasToldTo() async throws {
        let kafka = try TestCluster(topics: [.init("t", partitionCount: 2)])
        try TestWriter(kafka.settings).write(100, to: kafka["t"], partition: 1)
        let reader = try KafkaLogReader(kafka.settings)
        let partition = TopicPartition(topic: kafka["t"], partition: 1)
        let progress = Progress()
        let section = try reader.open(partition, from: .offset(10), upTo: 60)
        #expect(throws: KafkaError.self) { try reader.open(partition, from: .beginning) }
        let offsets = Mutex<[Int64]>([])
        let isFinished = Mutex(false)
        section.onReadable { progress.made() }
        #expect(
            await progress.wait {
                var result = section.read(max: 7) { record in offsets.withLock { $0.append(record.offset) } }
                while result.mayHaveMore {
                    result = section.read(max: 7) { record in offsets.withLock { $0.append(record.offset) } }
                }
                isFinished.withLock { $0 = result.isFinished }
                return result.isFinished
            })
        #expect(offsets.withLock { $0 } == Array(10..<60))
        section.close()
        let again = try reader.open(partition, from: .end)
        again.close()
    }

    @Test func anEmptySectionIsFinishedAtOnceAndALogEndIsKnown() async throws {
        let kafka = try TestCluster(topics: [.init("t", partitionCount: 1)])
        let reader = try KafkaLogReader(kafka.settings)
        let partition = TopicPartition(topic: kafka["t"], partition: 0)
        let section = try reader.open(partition, from: .beginning, upTo: 0)
        #expect(section.read(max: 10) { _ in }.isFinished)
        section.close()
        let progress = Progress()
        let waiting = try reader.open(partition, from: .beginning, upTo: 1)
        waiting.onReadable { progress.made() }
        try TestWriter(kafka.settings).write(1, to: kafka["t"], partition: 0)
        #expect(await progress.wait { waiting.read(max: 10) { _ in }.isFinished })
        let positions = try await NamedThread.run("test") {
            Result { try reader.positions(of: [partition], within: .seconds(5)) }
        }.get()
        #expect(
            positions == [PartitionPositions(topicPartition: partition, committed: nil, lowOffset: 0, endOffset: 1)])
    }

    /// The reader asks again if a partition has no leader. Kafka answers LEADER_NOT_AVAILABLE or
    /// NOT_LEADER_FOR_PARTITION for a moment when a topic is new or a broker stops.
    @Test(arguments: [Int32(5), 6]) func aPartitionWithoutALeaderIsAskedAgain(code: Int32) async throws {
        let kafka = try EmbeddedKafka(topics: [.init("t", partitionCount: 1)])
        try TestWriter(kafka.settings).write(3, to: "t", partition: 0)
        let reader = try KafkaLogReader(kafka.settings)
        let partition = TopicPartition(topic: "t", partition: 0)
        func end(within limit: Duration) async throws -> Int64 {
            try await NamedThread.run("test") {
                Result { try reader.positions(of: [partition], within: limit)[0].endOffset }
            }.get()
        }
        kafka.failRequests(apiKey: Self.listOffsets, code: .init(rawValue: code), count: 3)
        #expect(try await end(within: .seconds(30)) == 3)
        // If no leader is found within the limit, the error is reported at the limit.
        kafka.failRequests(apiKey: Self.listOffsets, code: .init(rawValue: code), count: 1_000)
        let error = await #expect(throws: KafkaError.self) { try await end(within: .milliseconds(500)) }
        #expect(error?.code.rawValue == code)
    }

    private static let listOffsets: Int16 = 2

    /// The reader tells librdkafka at once when a full queue was drained. Otherwise librdkafka would fetch again only
    /// after a second, and this test would take more than a minute. The time limit of the test does not measure speed.
    @Test func aDrainedSectionIsFetchedOnAtOnce() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("t", partitionCount: 1)])
        try TestWriter(kafka.settings.appending("batch.num.messages", "1000")).write(100_000, to: "t", partition: 0)
        let reader = try KafkaLogReader(kafka.settings.appending("queued.min.messages", "1000"))
        let count = try await NamedThread.run("test") {
            Result { () throws(KafkaError) -> Int in
                var count = 0
                try reader.forEach(TopicPartition(topic: "t", partition: 0), within: .seconds(30)) { _ in count += 1 }
                return count
            }
        }.get()
        #expect(count == 100_000)
    }

    @Test func aPreparedTopicIsReadAsAnyOther() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("t", partitionCount: 1)])
        try TestWriter(kafka.settings).write(10, to: "t", partition: 0)
        let reader = try KafkaLogReader(kafka.settings)
        try reader.prepare("t")
        try reader.prepare("t")
        let records = try await NamedThread.run("test") {
            Result { try reader.readAll(TopicPartition(topic: "t", partition: 0), within: .seconds(20)) }
        }.get()
        #expect(records.map(\.offset) == Array(0..<10))
    }

    @Test func anOffsetOutsideTheLogIsReportedWithItsPlace() async throws {
        let kafka = try TestCluster(topics: [.init("t", partitionCount: 1)])
        try TestWriter(kafka.settings).write(5, to: kafka["t"], partition: 0)
        let progress = Progress()
        let section = try KafkaLogReader(kafka.settings).open(
            .init(topic: kafka["t"], partition: 0), from: .offset(1_000))
        section.onReadable { progress.made() }
        let failure = Mutex<PartitionFailure?>(nil)
        #expect(
            await progress.wait {
                let found = section.read(max: 10) { _ in }.failure
                failure.withLock { $0 = found ?? $0 }
                return found != nil
            })
        guard case .offsetOutOfRange(let position, let text)? = failure.withLock({ $0 }) else {
            Issue.record("reported as \(String(describing: failure.withLock { $0 }))")
            return
        }
        #expect(position == TopicPartitionOffset(topic: kafka["t"], partition: 0, offset: 1_000))
        #expect(!text.isEmpty)
    }

    /// The reader fetches several partitions together, and this test has more of them than it fetches at a time. It
    /// still hands over records partition by partition, in the requested order.
    @Test func manyPartitionsAreHandedOverInOrder() async throws {
        let count = Int32(KafkaLogReader.partitionsFetchedMax + 8)
        let kafka = try TestCluster(topics: [.init("t", partitionCount: Int(count))])
        let writer = try TestWriter(kafka.settings)
        var expected: [String] = []
        for partition in 0..<count {
            let recordCount = Int(partition) % 4
            try writer.write(recordCount, to: kafka["t"], partition: partition)
            expected += (0..<recordCount).map { "[\(partition)]@\($0)" } + ["[\(partition)] read"]
        }
        let reader = try KafkaLogReader(kafka.settings.appending("fetch.wait.max.ms", "10"))
        let seen = try await NamedThread.run("test") {
            Result {
                var seen: [String] = []
                try reader.forEach(
                    of: (0..<count).map { TopicPartition(topic: kafka["t"], partition: $0) }, within: .seconds(30),
                    whenRead: { seen.append("[\($0.partition)] read") }
                ) { record in seen.append("[\(record.partition)]@\(record.offset)") }
                return seen
            }
        }.get()
        #expect(seen == expected)
        // The reader has closed every section, so the partitions can be opened again.
        try reader.open(TopicPartition(topic: kafka["t"], partition: 1), from: .beginning).close()
    }

    /// The reader finds the headers in a mix of records with and without headers (see
    /// `mailboat_rd_kafka_may_have_headers`). Keys and values have every length, or are null or empty.
    @Test(arguments: ["none", "lz4"]) func headersAreFoundWhereTheyAre(compression: String) async throws {
        let kafka = try TestCluster(topics: [.init("t", partitionCount: 1)])
        let writer = try TestWriter(kafka.settings.appending("compression.codec", compression))
        let topic = try writer.producer.topic(kafka["t"])
        let lengths = [nil] + (0..<600).map { $0 }
        func hasHeaders(_ number: Int) -> Bool { number % 3 == 1 }
        var headers = KafkaHeaders()
        headers.append("first", "")
        headers.append("traceparent", "00-abc")
        for (number, length) in lengths.enumerated() {
            // A value of zeros looks like the marks by which the reader finds headers.
            let value = length.map { [UInt8](repeating: 0, count: $0) }
            #expect(
                writer.producer.produce(
                    topic, partition: 0, key: [UInt8]().span, value: value?.span,
                    headers: hasHeaders(number) ? headers : nil, opaque: 0) == .queued)
        }
        #expect(writer.producer.flush(within: .seconds(10)) { _ in } == 0)
        let reader = try KafkaLogReader(kafka.settings)
        let records = try await NamedThread.run("test") {
            Result { try reader.readAll(.init(topic: kafka["t"], partition: 0), within: .seconds(10)) }
        }.get()
        #expect(records.map { $0.value?.count } == lengths)
        for (number, record) in records.enumerated() {
            #expect(record.headers.map(\.name) == (hasHeaders(number) ? ["first", "traceparent"] : []), "\(number)")
        }
        let section = try reader.open(
            .init(topic: kafka["t"], partition: 0), from: .beginning, upTo: Int64(lengths.count))
        let found = await NamedThread.run("test") {
            var found: [String?] = []
            while !section.read(
                max: 1_000,
                { record in
                    found.append(
                        record.withHeader("traceparent") { value, isPresent in
                            isPresent ? String(decoding: value.indices.map { value[$0] }, as: UTF8.self) : nil
                        })
                }
            ).isFinished {}
            section.close()
            return found
        }
        #expect(found == lengths.indices.map { hasHeaders($0) ? "00-abc" : nil })
    }
}
