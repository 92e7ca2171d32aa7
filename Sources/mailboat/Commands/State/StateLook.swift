import CommandSupport
import KafkaLog
import PushWorker

/// A partition of `state` as a command looked at it.
struct StateLook {
    var partition: Int32
    /// Where its `state` ends, and what its records say.
    var logEnd: Int64
    var word: StateWord
    /// How far it was acknowledged, as the group's commits say.
    var stateEnd: Int64?

    var isLost: Bool { GroupWord.isStateLost(logEnd: self.logEnd, stateEnd: self.stateEnd, word: self.word) }

    /// Reads, of each partition, as much as shows whether it is lost. Blocks.
    /// - Parameter positions: where the group stands, of all input topics in their order, and the routed one at the end.
    /// - Returns: in the order of the partitions, and Kafka's name of the cluster; empty: not known.
    static func all(
        _ kafka: KafkaOptions, stateTopic: String, _ positions: [PartitionPositions]
    ) throws -> (looks: [StateLook], clusterID: String) {
        // Somebody waits for the end of a log: a fetch that finds nothing is answered at once.
        let settings = KafkaSettings([.init("fetch.wait.max.ms", "10")]).appending(try kafka.settings(for: .consumer))
        let numbers = Set(positions.map(\.topicPartition.partition)).sorted()
        do throws(KafkaError) {
            let reader = try KafkaLogReader(settings, log: { _ in })
            let logs = try reader.positions(
                of: numbers.map { TopicPartition(topic: stateTopic, partition: $0) }, within: kafka.limit)
            var looks: [StateLook] = []
            for (number, log) in zip(numbers, logs) {
                let stateEnd = GroupWord.stateEnd(positions.filter { $0.topicPartition.partition == number })
                let word = try GroupWord.stateWord(log, stateEnd: stateEnd, reader, within: kafka.limit)
                looks.append(StateLook(partition: number, logEnd: log.endOffset, word: word, stateEnd: stateEnd))
            }
            return (looks, reader.clusterID(within: kafka.limit) ?? "")
        } catch { throw CommandFailure("\(stateTopic) cannot be read: \(error)") }
    }

    /// For a person.
    func line(topic: String, willWrite: Bool) -> String {
        let what =
            self.isLost
            ? "its loss, acknowledged up to \(self.stateEnd ?? 0)" : "that what it knows of positions is void"
        return
            "\(willWrite ? "accepting" : "would accept") \(topic)[\(self.partition)]: \(what); it ends at \(self.logEnd), "
            + (self.word.hasOwner ? "a worker has written to it" : "none of a worker that ran")
    }

    private struct Line: Encodable {
        var partition: Int32
        var acknowledgedUpTo: Int64?
        var endOffset: Int64
        var hasOwner: Bool
        /// `keep`, `would-accept`, `accepted` or `not-accepted`.
        var action: String
        var because: String?
    }

    /// For a program.
    func json(isMeant: Bool, isWritten: Bool, failure: String?) -> String {
        let action = !isMeant ? "keep" : !isWritten ? "would-accept" : failure == nil ? "accepted" : "not-accepted"
        return JSONLine.text(
            Line(
                partition: self.partition, acknowledgedUpTo: self.stateEnd, endOffset: self.logEnd,
                hasOwner: self.word.hasOwner, action: action, because: failure))
    }
}
