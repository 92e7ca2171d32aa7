import KafkaLog
import PushEngine
import ShardLoop
import Testing

@testable import PushWorker

struct CoPartitionCountTests {
    private static func verdict(
        _ events: [Int], _ routed: Int, _ state: Int, named: Int32?
    ) -> (count: Int32?, remarks: [String]) {
        let verdict = CoPartitionCount.judge(
            events: events.enumerated().map { .init(name: "events-\($0.offset)", count: $0.element) },
            routed: .init(name: "routed", count: routed), state: .init(name: "state", count: state), named: named,
            forwards: true)
        return switch verdict {
        case .agreed(let count, let remarks): (count, remarks)
        case .fault(let text): (nil, [text])
        }
    }

    /// Cases: the partition counts of `events`, `routed` and `state`, and the count that the markers name. The expected
    /// count and the number of topics with a remark follow.
    @Test(
        arguments: [
            (2, 2, 2, 2, 2, 0), (2, 2, 2, nil, 2, 0), (3, 2, 2, 2, 2, 1), (3, 2, 2, nil, 2, 1), (2, 3, 2, 2, 2, 1),
            (2, 2, 3, 2, 2, 1), (3, 3, 3, 2, 2, 3), (3, 3, 2, 2, 2, 2), (1, 2, 2, 2, nil, 1), (2, 1, 2, 2, nil, 1),
            (2, 2, 1, 2, nil, 1), (2, 2, 3, nil, nil, 1), (2, 3, 2, nil, nil, 1), (1, 2, 2, nil, nil, 1),
        ] as [(Int, Int, Int, Int32?, Int32?, Int)])
    func theMarkersCount(events: Int, routed: Int, state: Int, named: Int32?, count: Int32?, remarks: Int) {
        let verdict = Self.verdict([events], routed, state, named: named)
        #expect(verdict.count == count && verdict.remarks.count == remarks)
    }

    /// The group distributes the partitions of the first topic. Further partitions of another topic are read by no
    /// worker, and a remark says so.
    @Test func whatNobodyReadsIsNamed() {
        let verdict = Self.verdict([2, 3], 2, 2, named: 2)
        #expect(verdict.count == 2)
        #expect(verdict.remarks.count == 1 && verdict.remarks[0].contains("partition 2 and beyond are not read"))
        #expect(!Self.verdict([3, 3], 2, 2, named: 2).remarks.joined().contains("are not read"))
    }

    /// The ends of the partitions of `state` decide whether a marker is read. If the last partition was ever written
    /// to, all partitions count, and no marker is read.
    @Test func aMarkerIsReadOnlyWhereTheLastPartitionIsEmpty() {
        let logs: [Int32: (low: Int64, end: Int64)] = [0: (0, 90), 1: (5, 8), 2: (0, 0)]
        #expect(CoPartitionCount.look(logs, partitionCount: 2) == .all)
        #expect(CoPartitionCount.look(logs, partitionCount: 3) == .read([1, 0]))
        #expect(CoPartitionCount.look([0: (0, 0), 1: (0, 0)], partitionCount: 2) == .nothing)
        // Retention has emptied a partition, so the partition had records before.
        #expect(CoPartitionCount.look([0: (0, 4), 1: (7, 7)], partitionCount: 2) == .all)
        // The ends of partition 1 are unknown. So its log decides nothing.
        #expect(CoPartitionCount.look([0: (0, 4)], partitionCount: 2) == .read([0]))
    }

    @Test func anInletBeginsWhateverStartFromSays() {
        let topics = ["events", "more"]
        var positions: [TopicPartition: PartitionPositions] = [:]
        let key = TopicPartition(topic: "more", partition: 2)
        positions[key] = PartitionPositions(topicPartition: key, committed: nil, lowOffset: 3, endOffset: 9)
        let fresh = InletStart(partition: 2, topics: topics, positions: positions, canBeRead: true).grant
        #expect(fresh.isInlet && fresh.haltReason == nil)
        #expect(fresh.starts == [CommitPosition(topic: 1, partition: 2, nextOffset: 3)])
        positions[key] = PartitionPositions(topicPartition: key, committed: 2, lowOffset: 3, endOffset: 9)
        let cut = InletStart(partition: 2, topics: topics, positions: positions, canBeRead: true).grant
        #expect(cut.haltReason?.contains("outside the log") == true)
        #expect(
            InletStart(partition: 2, topics: topics, positions: [:], canBeRead: false).grant.haltReason != nil)
    }
}
