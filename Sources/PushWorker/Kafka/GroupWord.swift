package import KafkaLog
import ShardLoop

/// What a group's commits say about its logs. Commands use it to inspect logs without being workers.
package enum GroupWord {
    /// Where one partition of `state` begins and ends, according to the group's commits.
    package struct StateExtent: Sendable {
        /// The end of `state` that was acknowledged when the group last committed. `nil`: no commit contains it, so an
        /// empty `state` is no loss.
        package var end: Int64?
        /// The beginning of `state` when the group last committed; `nil`: no commit contains it.
        package var start: Int64?

        package init(start: Int64?, end: Int64?) {
            self.start = start
            self.end = end
        }

        init(_ positions: StartPositions) { self.init(start: positions.stateStart, end: positions.stateEnd) }

        /// - Parameter positions: positions of one partition number, in the order of the input topics; the routed topic
        ///   is the last.
        package init(_ positions: [PartitionPositions]) {
            self.init(
                StartPositions(
                    partition: positions.first?.topicPartition.partition ?? 0, positions: positions,
                    startFrom: .beginning))
        }

        /// Whether a part of the log of `state` is missing. A loss counts even if a person has accepted it.
        func isCut(_ log: PartitionPositions) -> Bool {
            LogIdentity.isStateCut(logEnd: log.endOffset, stateEnd: self.end, acceptedEnd: nil)
                || LogIdentity.isStateHeadCut(
                    logStart: log.lowOffset, stateStart: self.start, stateEnd: self.end, acceptedEnd: nil)
        }
    }

    /// What to do about workers of another group that use the same `state`.
    package static let sameGroup =
        "all workers that share a state need the same kafka.group: two groups read each event twice, and each spoils the other's state"

    /// Reads what a partition of `state` says about its owners. Stops reading at the first record of an owner at work,
    /// unless a part of the log is missing. Blocks.
    package static func stateWord(
        _ log: PartitionPositions, _ extent: StateExtent, _ reader: KafkaLogReader, within limit: Duration
    ) throws(KafkaError) -> StateWord {
        var word = StateWord()
        guard log.lowOffset < log.endOffset else { return word }
        let isCut = extent.isCut(log)
        try reader.forEach(
            log.topicPartition, upTo: log.endOffset, within: limit, isOver: { !isCut && word.hasOwner }
        ) { word.read($0) }
        return word
    }

    /// Whether `state` has lost records, judged by the group's commits. A loss that a person has accepted does not
    /// count.
    /// - Parameter word: what the records of `state` say.
    package static func isStateLost(_ log: PartitionPositions, _ extent: StateExtent, word: StateWord) -> Bool {
        guard let end = extent.end, word.acceptedEnd != end else { return false }
        return !word.hasOwner || extent.isCut(log)
    }

    /// Number of partitions that `state` was written for, even if the topic has more by now. Blocks.
    /// - Parameter existing: number of partitions of the topic.
    package static func stateCount(
        _ stateTopic: String, existing: Int32, _ reader: KafkaLogReader, within limit: Duration
    ) throws(KafkaError) -> Int32 {
        let search = MarkerSearch(reader: reader, stateTopic: stateTopic, partitionCount: existing, limit: limit)
        return try search.run() ?? existing
    }

    /// The metadata of a commit by which a person moves the group into another log.
    package static var newLogMetadata: String {
        var metadata = CommitMetadata()
        metadata.isOfNewLog = true
        return metadata.text
    }

    /// The logs of topics that were deleted and created again. The group has read the former logs, not these. Blocks.
    /// - Parameter positions: positions of one partition number, in the order of the input topics; the routed topic is
    ///   the last.
    package static func otherLogs(
        _ positions: [PartitionPositions], _ reader: KafkaLogReader, within limit: Duration
    ) throws(KafkaError) -> Set<TopicPartition> {
        var others: Set<TopicPartition> = []
        for (position, sample) in zip(positions, StartPositions.samples(positions)) {
            guard let sample else { continue }
            let found = try reader.found(sample, position, within: limit)
            let reason = LogIdentity.reasonIfOther(
                topic: position.topicPartition.topic, partition: position.topicPartition.partition, sample, found,
                logEnd: position.endOffset)
            if reason != nil { others.insert(position.topicPartition) }
        }
        return others
    }
}

extension KafkaLogReader {
    /// For each sample, what its log now has at the offset where the record was read. All offsets are read at the same
    /// time. Blocks, for little more than `limit`.
    /// - Parameter whenUnknown: called for each log that could not be read.
    /// - Returns: findings in the order given.
    func found(
        _ sampled: [(sample: CommitMetadata.Sample, position: PartitionPositions)], within limit: Duration,
        whenUnknown: (TopicPartition, KafkaError) -> Void
    ) -> [LogIdentity.Found] {
        let deadline = ContinuousClock.now + limit
        var found = sampled.map { _ in LogIdentity.Found.nothing }
        var sections: [Int: LogSection] = [:]
        defer { for section in sections.values { section.close() } }
        for (index, one) in sampled.enumerated()
        where one.sample.offset >= one.position.lowOffset && one.sample.offset < one.position.endOffset {
            do throws(KafkaError) {
                sections[index] = try self.open(
                    one.position.topicPartition, from: .offset(one.sample.offset), upTo: one.sample.offset + 1)
            } catch {
                whenUnknown(one.position.topicPartition, error)
            }
        }
        while !sections.isEmpty, ContinuousClock.now < deadline {
            for (index, section) in sections {
                let wanted = sampled[index].sample.offset
                let result = section.read(max: 1) { record in
                    // If the offset differs, the record was removed by compaction, or the offset belongs to a
                    // transaction's mark. A later record proves nothing.
                    if record.offset == wanted { found[index] = .record(millis: record.timestampMillis) }
                }
                guard result.isFinished || result.failure != nil else { continue }
                section.close()
                sections[index] = nil
            }
            if !sections.isEmpty { Sleeping.sleep(.milliseconds(2)) }
        }
        for index in sections.keys {
            whenUnknown(sampled[index].position.topicPartition, KafkaError(code: .timedOut))
        }
        return found
    }

    /// What the log now has at one offset where a record was read.
    func found(
        _ sample: CommitMetadata.Sample, _ position: PartitionPositions, within limit: Duration
    ) throws(KafkaError) -> LogIdentity.Found {
        var failure: KafkaError?
        let found = self.found([(sample, position)], within: limit) { failure = $1 }
        if let failure { throw failure }
        return found[0]
    }
}
