import ArgumentParser
import KafkaLog
import Testing

@testable import mailboat

@Suite(.timeLimit(.minutes(5)))
struct TailReaderTests {
    /// The windows of offsets that are read, if one offset in `density` has a record.
    private static func windows(_ low: Int64, _ end: Int64, max: Int, density: Int64 = 1) -> (
        [Range<Int64>], TailWindows
    ) {
        var windows = TailWindows(lowOffset: low, endOffset: end, recordCountMax: max)
        var ranges: [Range<Int64>] = []
        while let range = windows.next() {
            ranges.append(range)
            windows.wasRead(recordCount: Int((range.upperBound - range.lowerBound) / density))
        }
        return (ranges, windows)
    }

    @Test func windowsGrowFromTheEndBackwards() {
        let (ranges, windows) = Self.windows(0, 50_000, max: 1_000_000)
        #expect(ranges == [48_000..<50_000, 40_000..<48_000, 8_000..<40_000, 0..<8_000])
        #expect(windows.startOffset == 0)
    }

    @Test func anEmptyLogHasNone() { #expect(Self.windows(7, 7, max: 10).0 == []) }

    @Test(arguments: [1, 1_999, 2_000, 2_001, 9_999])
    func noMoreRecordsAreReadThanAllowed(max: Int) {
        let (ranges, windows) = Self.windows(0, 1_000_000, max: max)
        #expect(windows.recordCount == max)
        #expect(ranges.last?.lowerBound == Int64(1_000_000 - max))
    }

    /// Offsets that compaction has emptied do not count as records.
    @Test func gapsAreNotCountedAsRecords() {
        let (_, windows) = Self.windows(0, 100_000_000, max: 100_000, density: 1_000)
        #expect(windows.startOffset == 0)
        #expect(windows.recordCount <= 110_000)
    }

    @Test func offsetsNearTheLargestAreNoTrouble() {
        let (ranges, _) = Self.windows(.max - 10, .max, max: .max)
        #expect(ranges == [(.max - 10)..<(.max)])
    }

    @Test func theNewestRecordsComeFirstAndTheRestIsNotRead() throws {
        let kafka = try EmbeddedKafka(topics: [.init("t", partitionCount: 1)])
        defer { kafka.stop() }
        let producer = try KafkaProducer(
            ProducerConfiguration(settings: kafka.settings), onDeliveries: {}, onError: { _ in })
        let topic = try producer.topic("t")
        let count = 7_000
        for number in 0..<count {
            let value = Array("\(number)".utf8)
            while producer.produce(topic, partition: 0, key: nil, value: value.span, opaque: 0) != .queued {
                _ = producer.flush(within: .milliseconds(50)) { _ in }
            }
        }
        #expect(producer.flush(within: .seconds(30)) { _ in } == 0)

        let reader = try TailReader(try KafkaOptions.parse(["--bootstrap", kafka.bootstrap]))
        func numbers(_ enough: Int, max: Int, where isWanted: (Int) -> Bool) throws -> ([Int], TailReader.Reach) {
            var found = 0
            return try reader.pick(
                TopicPartition(topic: "t", partition: 0), recordCountMax: max, isEnough: { found >= enough }
            ) { record in
                guard let number = record.valueText.flatMap({ Int($0) }), isWanted(number) else { return nil }
                found += 1
                return number
            }
        }
        let last = try numbers(1, max: .max) { $0.isMultiple(of: 1_000) }
        #expect(last.0 == [6_000, 5_000])
        #expect(last.1 == .init(recordCount: 2_000, fromOffset: 5_000, endOffset: 7_000, isWhole: false))
        let all = try numbers(.max, max: .max) { $0.isMultiple(of: 1_000) }
        #expect(all.0 == [6_000, 5_000, 4_000, 3_000, 2_000, 1_000, 0])
        #expect(all.1.isWhole && all.1.recordCount == count)
        #expect(try numbers(.max, max: 3_000) { $0 == 0 }.1.recordCount == 3_000)

        // The reading is stopped inside its second window, which has 5,000 records.
        var seen = 0
        let (_, reach) = try reader.pick(
            TopicPartition(topic: "t", partition: 0), recordCountMax: .max, isEnough: { false },
            isOver: { seen > 2_000 }
        ) { _ -> Int? in
            seen += 1
            return nil
        }
        #expect(seen > 2_000 && seen <= 3_000)
        #expect(reach.recordCount == seen)
    }
}
