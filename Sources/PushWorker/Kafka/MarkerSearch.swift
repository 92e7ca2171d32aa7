import KafkaLog
import PushEngine

/// Finds the number of partitions that `state` was written for. Blocks: use a thread of its own.
///
/// A running worker writes its marker again every five minutes, so the newest is near the end of the log. The search
/// begins near the end, and each further step begins earlier, at last at the beginning. Compaction keeps the newest
/// marker.
struct MarkerSearch {
    let reader: KafkaLogReader
    let stateTopic: String
    let partitionCount: Int32
    let limit: Duration

    /// Number of records that are read first. Each further step reads `windowGrowth` times as many.
    private static let firstWindow: Int64 = 1_024
    private static let windowGrowth: Int64 = 16

    /// - Returns: the count; `nil` when no marker contains one.
    func run() throws(KafkaError) -> Int32? {
        let partitions = (0..<self.partitionCount).map { TopicPartition(topic: self.stateTopic, partition: $0) }
        let answers = try self.reader.logsOfEach(partitions, within: self.limit)
        var logs: [Int32: (low: Int64, end: Int64)] = [:]
        for (partition, log) in answers { logs[partition.partition] = log }
        switch CoPartitionCount.look(logs, partitionCount: self.partitionCount) {
        case .all: return self.partitionCount
        case .nothing: return nil
        case .read(let order):
            for number in order {
                guard let log = logs[number], let count = try self.count(in: number, log) else { continue }
                return count
            }
            return nil
        }
    }

    private func count(in number: Int32, _ log: (low: Int64, end: Int64)) throws(KafkaError) -> Int32? {
        let deadline = ContinuousClock.now + self.limit
        let partition = TopicPartition(topic: self.stateTopic, partition: number)
        let records = StateRecordReader(inputTopics: [])
        var (window, end) = (Self.firstWindow, log.end)
        while end > log.low {
            let start = max(log.low, end - window)
            var found: Int32?
            try self.reader.forEach(partition, from: .offset(start), upTo: end, within: deadline - .now) { record in
                guard let value = record.value, let key = record.key, key.count == 1,
                    case .marker(let marker) = records.read(key: key, value: value, nowMillis: 0).content
                else { return }
                found = marker.partitionCount
            }
            if let found { return found }
            (window, end) = (window * Self.windowGrowth, start)
        }
        return nil
    }
}
