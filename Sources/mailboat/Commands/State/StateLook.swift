import CommandSupport
import KafkaLog
import PushWorker

/// What a command found in one partition of the topic `state`.
struct StateLook {
    var partition: Int32
    /// Where the partition's log begins and ends, and what its records say.
    var log: PartitionPositions
    var word: StateWord
    /// The acknowledged range of offsets, according to the group's commits.
    var extent: GroupWord.StateExtent
    var logEnd: Int64 { self.log.endOffset }
    var stateEnd: Int64? { self.extent.end }

    var isLost: Bool { GroupWord.isStateLost(self.log, self.extent, word: self.word) }

    /// Reads enough of each partition to show whether its records are lost. Blocks.
    /// - Parameter positions: the group's positions in all input topics, in their order, and in the routed topic at the
    ///   end.
    /// - Returns: a look at each partition of `positions` that workers use, in order; how many partitions of `state`
    ///   they use; and Kafka's id of the cluster, empty: not known.
    static func all(
        _ kafka: KafkaOptions, stateTopic: String, _ positions: [PartitionPositions]
    ) throws -> (looks: [StateLook], partitionCount: Int32, clusterID: String) {
        // Reading stops at the end of a log. A fetch there finds nothing, so Kafka must answer it at once.
        let settings = KafkaSettings([.init("fetch.wait.max.ms", "10")]).appending(try kafka.settings(for: .consumer))
        let existing = try kafka.partitionCount(of: stateTopic)
        do throws(KafkaError) {
            let reader = try KafkaLogReader(settings, log: { _ in })
            // The markers say how many partitions workers use. A partition that was added later is left out, even if
            // it has records.
            let count = try GroupWord.stateCount(stateTopic, existing: existing, reader, within: kafka.limit)
            let numbers = Set(positions.map(\.topicPartition.partition)).filter { $0 < count }.sorted()
            let logs = try reader.positions(
                of: numbers.map { TopicPartition(topic: stateTopic, partition: $0) }, within: kafka.limit)
            var looks: [StateLook] = []
            for (number, log) in zip(numbers, logs) {
                let extent = GroupWord.StateExtent(positions.filter { $0.topicPartition.partition == number })
                let word = try GroupWord.stateWord(log, extent, reader, within: kafka.limit)
                looks.append(StateLook(partition: number, log: log, word: word, extent: extent))
            }
            return (looks, count, reader.clusterID(within: kafka.limit) ?? "")
        } catch { throw CommandFailure("\(stateTopic) cannot be read: \(error)") }
    }

    /// The line for a person.
    func line(topic: String, willWrite: Bool) -> String {
        let what =
            self.isLost
            ? "its loss, acknowledged from \(self.extent.start ?? 0) to \(self.stateEnd ?? 0)"
            : "that its positions are void"
        return
            "\(willWrite ? "accepting" : "would accept") \(topic)[\(self.partition)]: \(what); it goes from \(self.log.lowOffset) to \(self.logEnd), "
            + (self.word.hasOwner ? "a worker has written to it" : "none of a worker that ran")
    }

    private struct Line: Encodable {
        var partition: Int32
        var acknowledgedFrom: Int64?
        var acknowledgedUpTo: Int64?
        var lowOffset: Int64
        var endOffset: Int64
        var hasOwner: Bool
        /// What is done: `keep`, `would-accept`, `accepted` or `not-accepted`.
        var action: String
        var because: String?
    }

    /// The object for a program.
    func json(isMeant: Bool, isWritten: Bool, failure: String?) -> String {
        let action = !isMeant ? "keep" : !isWritten ? "would-accept" : failure == nil ? "accepted" : "not-accepted"
        return JSONLine.text(
            Line(
                partition: self.partition, acknowledgedFrom: self.extent.start, acknowledgedUpTo: self.stateEnd,
                lowOffset: self.log.lowOffset, endOffset: self.logEnd, hasOwner: self.word.hasOwner, action: action,
                because: failure))
    }
}
