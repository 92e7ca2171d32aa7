package import KafkaLog
import ShardLoop

/// What a group's commits say of its logs, for commands that look at them without being workers.
package enum GroupWord {
    /// What the group's commits say of `state`.
    package struct StateExtent: Sendable {
        /// How far it was acknowledged when the group last committed; `nil`: it may be empty.
        package var end: Int64?
        /// Where it began then; `nil`: nobody has said.
        package var start: Int64?

        package init(start: Int64?, end: Int64?) {
            self.start = start
            self.end = end
        }

        init(_ positions: StartPositions) { self.init(start: positions.stateStart, end: positions.stateEnd) }

        /// - Parameter positions: of one partition number, in the order of the input topics; the routed topic is the last.
        package init(_ positions: [PartitionPositions]) {
            self.init(
                StartPositions(
                    partition: positions.first?.topicPartition.partition ?? 0, positions: positions,
                    startFrom: .beginning))
        }

        /// Whether a log lacks a part of it, whatever a person has accepted.
        func isCut(_ log: PartitionPositions) -> Bool {
            LogIdentity.isStateCut(logEnd: log.endOffset, stateEnd: self.end, acceptedEnd: nil)
                || LogIdentity.isStateHeadCut(
                    logStart: log.lowOffset, stateStart: self.start, stateEnd: self.end, acceptedEnd: nil)
        }
    }

    /// Reads what a partition of `state` says of its owners. One that has all that it should is read up to the first word of an owner alone.
    /// Blocks.
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

    /// Whether `state` has lost what the group knows to have been written.
    /// - Parameter word: what its records say.
    package static func isStateLost(_ log: PartitionPositions, _ extent: StateExtent, word: StateWord) -> Bool {
        guard let end = extent.end, word.acceptedEnd != end else { return false }
        return !word.hasOwner || extent.isCut(log)
    }

    /// How many partitions of `state` count: as many as it was written for, whatever its topic has by now. Blocks.
    /// - Parameter existing: partitions of the topic.
    package static func stateCount(
        _ stateTopic: String, existing: Int32, _ reader: KafkaLogReader, within limit: Duration
    ) throws(KafkaError) -> Int32 {
        let search = MarkerSearch(reader: reader, stateTopic: stateTopic, partitionCount: existing, limit: limit)
        return try search.run() ?? existing
    }

    /// What a commit says by which a person moves the group into another log.
    package static var newLogMetadata: String {
        var note = PositionNote()
        note.isOfNewLog = true
        return note.metadata
    }

    /// Logs that are others than those that the group has read. Blocks.
    /// - Parameter positions: of one partition number, in the order of the input topics; the routed topic is the last.
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
    /// What lies now at places where records were read. All are looked at together. Blocks, at most about `limit`.
    /// - Parameter whenUnknown: called with each place where nobody could say what lies there.
    /// - Returns: in the order given.
    func found(
        _ places: [(sample: PositionNote.Sample, position: PartitionPositions)], within limit: Duration,
        whenUnknown: (TopicPartition, KafkaError) -> Void
    ) -> [LogIdentity.Found] {
        let deadline = ContinuousClock.now + limit
        var found = places.map { _ in LogIdentity.Found.nothing }
        var sections: [Int: LogSection] = [:]
        defer { for section in sections.values { section.close() } }
        for (index, place) in places.enumerated()
        where place.sample.offset >= place.position.lowOffset && place.sample.offset < place.position.endOffset {
            do throws(KafkaError) {
                sections[index] = try self.open(
                    place.position.topicPartition, from: .offset(place.sample.offset), upTo: place.sample.offset + 1)
            } catch {
                whenUnknown(place.position.topicPartition, error)
            }
        }
        while !sections.isEmpty, ContinuousClock.now < deadline {
            for (index, section) in sections {
                let wanted = places[index].sample.offset
                let result = section.read(max: 1) { record in
                    // Compaction, or the mark of a transaction: another record, further on, says nothing.
                    if record.offset == wanted { found[index] = .record(millis: record.timestampMillis) }
                }
                guard result.isFinished || result.failure != nil else { continue }
                section.close()
                sections[index] = nil
            }
            if !sections.isEmpty { Sleeping.sleep(.milliseconds(2)) }
        }
        for index in sections.keys {
            whenUnknown(places[index].position.topicPartition, KafkaError(code: .timedOut))
        }
        return found
    }

    /// What lies now at one place where a record was read.
    func found(
        _ sample: PositionNote.Sample, _ position: PartitionPositions, within limit: Duration
    ) throws(KafkaError) -> LogIdentity.Found {
        var failure: KafkaError?
        let found = self.found([(sample, position)], within: limit) { failure = $1 }
        if let failure { throw failure }
        return found[0]
    }
}
