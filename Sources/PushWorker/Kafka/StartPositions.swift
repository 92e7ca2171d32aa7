import KafkaLog
import PushEngine
import ShardLoop

/// Where reading begins in the topics of one partition (contract: First start). Pure.
struct StartPositions: Equatable {
    /// The first offset to read, by input topic index.
    var starts: [CommitPosition] = []
    var logEnds: [CommitPosition] = []
    /// Positions to commit immediately. This commit removes `releasedWallMillis` from the metadata.
    var toCommit: [CommitPosition] = []
    /// Positions to commit when this owner is at work, that is, has written more than its first marker. Their metadata
    /// says that `state` must have records. Some topics get their first commit this way, so that a restart begins at
    /// the same offset.
    var toConfirm: [CommitPosition] = []
    /// The metadata of the last commits, by input topic index.
    var metadata: [CommitMetadata?] = []
    /// When the former owner had stopped sending, by its wall clock; `nil`: its last commit does not say.
    var releasedWallMillis: Int64?
    /// The end of `state` that was acknowledged when the group last committed. `nil`: no commit contains it, so an
    /// empty `state` is no loss.
    var stateEnd: Int64?
    /// The beginning of `state` when the group last committed; `nil`: no commit contains it.
    var stateStart: Int64?
    /// Whether a person has moved the group into another log. The positions in `state` do not apply to that log.
    var isOfNewLog = false
    /// Why the partition cannot be consumed; `nil` when it can.
    var haltReason: String?

    /// - Parameters:
    ///   - positions: positions of one partition number, in the order of the input topics; the routed topic is the
    ///     last.
    ///   - findings: what else was found in the logs.
    ///   - stateTopic: name of the `state` topic.
    init(
        partition: Int32, positions: [PartitionPositions], startFrom: WorkerConfiguration.StartFrom,
        findings: LogFindings = LogFindings(), stateTopic: String = ""
    ) {
        var reasons: [String] = []
        self.metadata = positions.map { CommitMetadata(metadata: $0.committed == nil ? nil : $0.committedMetadata) }
        self.readStateExtent(positions)
        let samples = Self.samples(positions)
        for (topic, position) in positions.enumerated() {
            let start: Int64
            if let committed = position.committed {
                start = committed
                self.toConfirm.append(
                    CommitPosition(topic: UInt16(topic), partition: partition, nextOffset: committed))
                if let metadata = self.metadata[topic], metadata.isOfNewLog { self.isOfNewLog = true }
                if topic == 0, let released = self.metadata[topic]?.releasedWallMillis {
                    self.releasedWallMillis = released
                    // The former owner's `releasedWallMillis` is meant for this owner alone, so a new commit removes
                    // it.
                    self.toCommit.append(CommitPosition(topic: 0, partition: partition, nextOffset: start))
                }
                if !position.isCommittedInLog {
                    reasons.append(
                        "the group's committed offset \(committed) of \(position.topicPartition) is outside the log (\(position.lowOffset) to \(position.endOffset)): events were cut off by retention, or the topic was created again; \(PositionRemedy.text)"
                    )
                }
            } else {
                // Forwarded records were taken from the input already, so they are never skipped.
                let isRouted = topic == positions.count - 1
                // If the group has read events before and its offsets were lost, events that arrived since are not
                // skipped.
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

    /// For each topic, a record that the group has read; `nil`: none is known. When a topic is deleted, Kafka also
    /// deletes the group's offset for it. Then the record is found in the commits of the other topics.
    /// - Parameter positions: as for `init`.
    static func samples(_ positions: [PartitionPositions]) -> [CommitMetadata.Sample?] {
        let metadata = positions.map { CommitMetadata(metadata: $0.committed == nil ? nil : $0.committedMetadata) }
        return positions.indices.map { index in
            guard positions[index].committed == nil else { return metadata[index]?.sample }
            let topic = positions[index].topicPartition.topic
            return metadata.compactMap { $0?.others[topic] }.max { $0.offset < $1.offset }
        }
    }

    /// Reads where `state` began and ended from the metadata of workers' commits. An offset that a person has set has
    /// no metadata. If a person has set the offsets of all input topics, the extent is unknown, and even an empty
    /// `state` is accepted. If a person has set only the routed topic's offset, the input topics' commits still show
    /// the extent.
    private mutating func readStateExtent(_ positions: [PartitionPositions]) {
        let input = positions.indices.dropLast().filter { positions[$0].committed != nil }
        let speaking = input.isEmpty ? Array(positions.indices.suffix(1)) : input
        self.stateEnd = speaking.compactMap { self.metadata[$0]?.stateEnd }.max()
        self.stateStart = speaking.compactMap { self.metadata[$0]?.stateStart }.max()
    }
}

/// What to do about a position outside the log. A worker never changes such a position by itself.
enum PositionRemedy {
    static let text =
        "stop the group's workers, run 'mailboat offsets reset', which shows what would be skipped or repeated, and moves the offset with --execute, and start them again"
}
