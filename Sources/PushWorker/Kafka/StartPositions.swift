import KafkaLog
import PushEngine
import ShardLoop

/// Where the topics of one partition begin to be read (contract: First start).
/// Pure.
struct StartPositions: Equatable {
    /// By input topic index.
    var starts: [CommitPosition] = []
    var logEnds: [CommitPosition] = []
    /// To be committed at once: where the group begins although it never committed, so that a restart does not begin elsewhere, and what
    /// carries a note of the former owner's.
    var toCommit: [CommitPosition] = []
    /// To be committed again once an owner is at work: until then nothing says that `state` has to hold something.
    var toConfirm: [CommitPosition] = []
    /// What the last commits said, by input topic index.
    var notes: [PositionNote?] = []
    /// When the former owner had stopped sending, by its wall clock; `nil`: nobody left word.
    var releasedWallMillis: Int64?
    /// How far `state` was acknowledged when the group last committed; `nil`: it need not hold anything.
    var stateEnd: Int64?
    /// Where `state` began when the group last committed; `nil`: nobody has said.
    var stateStart: Int64?
    /// A person has moved the group into another log: what `state` knows of positions means nothing there.
    var isOfNewLog = false
    /// Why the partition cannot be consumed; `nil`: it can.
    var haltReason: String?

    /// - Parameters:
    ///   - positions: of one partition number, in the order of the input topics; the routed topic is the last.
    ///   - findings: what else is known of the logs.
    ///   - stateTopic: its name.
    init(
        partition: Int32, positions: [PartitionPositions], startFrom: WorkerConfiguration.StartFrom,
        findings: LogFindings = LogFindings(), stateTopic: String = ""
    ) {
        var reasons: [String] = []
        self.notes = positions.map { PositionNote(metadata: $0.committed == nil ? nil : $0.committedMetadata) }
        self.readStateExtent(positions)
        let samples = Self.samples(positions)
        for (topic, position) in positions.enumerated() {
            let start: Int64
            if let committed = position.committed {
                start = committed
                self.toConfirm.append(
                    CommitPosition(topic: UInt16(topic), partition: partition, nextOffset: committed))
                if let note = self.notes[topic], note.isOfNewLog { self.isOfNewLog = true }
                if topic == 0, let released = self.notes[topic]?.releasedWallMillis {
                    self.releasedWallMillis = released
                    // It was said to this owner alone.
                    self.toCommit.append(CommitPosition(topic: 0, partition: partition, nextOffset: start))
                }
                if !position.isCommittedInLog {
                    reasons.append(
                        "the group's committed offset \(committed) of \(position.topicPartition) is outside the log (\(position.lowOffset) to \(position.endOffset)): events were cut off by retention, or the topic is another one; \(PositionRemedy.text)"
                    )
                }
            } else {
                // What was forwarded has been taken from the input already: it is never skipped.
                let isRouted = topic == positions.count - 1
                // A group whose offsets were forgotten has read events before: those since are not skipped.
                let isFirst = startFrom == .end && !findings.stateHasOwner && self.stateEnd == nil
                start = isFirst && !isRouted ? position.endOffset : position.lowOffset
                if startFrom == .end || isRouted {
                    self.toConfirm.append(
                        CommitPosition(topic: UInt16(topic), partition: partition, nextOffset: start))
                }
            }
            if position.isCommittedInLog, let sample = samples[topic],
                let reason = LogIdentity.reasonIfOther(
                    topic: position.topicPartition.topic, partition: partition, sample,
                    findings.found[topic] ?? .nothing, logEnd: position.endOffset)
            {
                reasons.append(reason)
            }
            self.starts.append(CommitPosition(topic: UInt16(topic), partition: partition, nextOffset: start))
            self.logEnds.append(
                CommitPosition(topic: UInt16(topic), partition: partition, nextOffset: position.endOffset))
        }
        if let end = findings.stateLogEnd,
            LogIdentity.isStateCut(logEnd: end, stateEnd: self.stateEnd, acceptedEnd: findings.acceptedStateEnd)
        {
            reasons.append(
                LogIdentity.stateReason(
                    topic: stateTopic, partition: partition,
                    "it ends at offset \(end), and records up to \(self.stateEnd ?? 0) were acknowledged"))
        }
        if let start = findings.stateLogStart,
            LogIdentity.isStateHeadCut(
                logStart: start, stateStart: self.stateStart, stateEnd: self.stateEnd,
                acceptedEnd: findings.acceptedStateEnd)
        {
            reasons.append(
                LogIdentity.stateReason(
                    topic: stateTopic, partition: partition,
                    "it begins at offset \(start), and began at \(self.stateStart ?? 0): records were deleted"))
        }
        if !reasons.isEmpty { self.haltReason = reasons.joined(separator: "; ") }
    }

    /// A record that the group has read of each topic; `nil`: none is known. Where the group's offset is gone the commits of the others tell:
    /// Kafka deletes it with the topic.
    /// - Parameter positions: as for `init`.
    static func samples(_ positions: [PartitionPositions]) -> [PositionNote.Sample?] {
        let notes = positions.map { PositionNote(metadata: $0.committed == nil ? nil : $0.committedMetadata) }
        return positions.indices.map { index in
            guard positions[index].committed == nil else { return notes[index]?.sample }
            let topic = positions[index].topicPartition.topic
            return notes.compactMap { $0?.others[topic] }.max { $0.offset < $1.offset }
        }
    }

    /// Offsets that a person has set carry no word of a worker's. A person who sets those of the input says where it begins, and `state` may be
    /// empty then. Offsets that were set for the routed topic alone say nothing.
    private mutating func readStateExtent(_ positions: [PartitionPositions]) {
        let input = positions.indices.dropLast().filter { positions[$0].committed != nil }
        let speaking = input.isEmpty ? Array(positions.indices.suffix(1)) : input
        self.stateEnd = speaking.compactMap { self.notes[$0]?.stateEnd }.max()
        self.stateStart = speaking.compactMap { self.notes[$0]?.stateStart }.max()
    }
}

/// What to do about a position outside the log. The worker never jumps by itself.
enum PositionRemedy {
    static let text =
        "stop the group's workers, run 'mailboat offsets reset', which says what would be skipped or repeated and with --execute moves the offset, and start them again"
}
