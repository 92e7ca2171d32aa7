import KafkaLog
import Logging
import PushEngine
import PushModel

extension ShardRunner {
    /// Takes a partition over: its marker goes out first, and nothing is read before it came back.
    func assign(_ grant: PartitionGrant, now: EngineTime) {
        guard !self.isClosed, !self.partitions.contains(where: { $0.number == grant.number }) else { return }
        var partition = OwnedPartition(grant)
        if let reason = grant.haltReason {
            partition.phase = .halted
            partition.haltReason = reason
            self.logger.error("partition \(grant.number) is halted", metadata: ["cause": "\(reason)"])
        } else {
            self.engine.partitionAssigned(
                grant.number, releasedWallMillis: grant.releasedWallMillis, now: now)
        }
        self.partitions.append(partition)
        self.noteChange()
    }

    /// Begins the restore of partitions whose marker Kafka has acknowledged.
    func claimPartitions(_ now: EngineTime) {
        for index in self.partitions.indices where self.partitions[index].phase == .claiming {
            let number = self.partitions[index].number
            guard let marker = self.engine.markerOffset(partition: number) else { continue }
            do {
                let section = try self.shared.logReader.open(
                    TopicPartition(topic: self.shared.configuration.topics.state, partition: number), from: .beginning,
                    upTo: marker + 1)
                self.partitions[index].section = section
                self.partitions[index].phase = .restoring
                self.partitions[index].restoreRecordsMax = marker + 1
                self.partitions[index].restoreBeganMillis = now.steadyMillis
                let flag = self.partitions[index].isSectionReadable
                section.onReadable { [waker = self.waker] in
                    flag.set()
                    waker?.wake()
                }
                self.hasMore = true
            } catch {
                self.halt(index, "its state cannot be read: \(error)")
            }
            self.noteChange()
        }
    }

    /// Reads on in the `state` of partitions that are being restored, a bounded number of records.
    func restore(_ now: EngineTime) {
        var room = Self.restoresPerTurnMax
        for index in self.partitions.indices where self.partitions[index].phase == .restoring {
            guard room > 0 else {
                self.hasMore = true
                return
            }
            guard let section = self.partitions[index].section, self.partitions[index].isSectionReadable.take() else {
                continue
            }
            let number = self.partitions[index].number
            var fault: String?
            var faultOffset: Int64 = 0
            let result = section.read(max: room) { record in
                guard fault == nil else { return }
                let answer = self.engine.restore(
                    partition: number, key: record.key, value: record.value, isTombstone: !record.hasValue,
                    tombstoneEpoch: record.hasValue ? nil : Self.tombstoneEpoch(record), offset: record.offset,
                    now: now)
                switch answer {
                case .restored, .ignored: break
                case .unknownVersion(let version):
                    fault = "holds version \(version), which this release does not know; a newer one wrote it"
                    faultOffset = record.offset
                case .malformed(let text):
                    fault = "cannot be understood: \(text)"
                    faultOffset = record.offset
                case .refused(let text):
                    fault = "does not fit: \(text)"
                    faultOffset = record.offset
                }
            }
            room -= result.recordCount
            self.partitions[index].restoredRecords += Int64(result.recordCount)
            self.report.kafka.restoredRecords += UInt64(result.recordCount)
            if result.recordCount > 0 { self.noteChange() }
            if let fault {
                self.halt(index, "\(section.topicPartition)@\(faultOffset) \(fault)")
            } else if let failure = result.failure, let reason = failure.haltReason {
                self.halt(index, "its state cannot be read: \(reason)")
            } else if result.isFinished {
                self.finishRestore(index, now)
            } else if result.mayHaveMore {
                self.partitions[index].isSectionReadable.set()
                self.hasMore = true
            }
        }
    }

    /// Says every few seconds how far restores are that take longer.
    func tellRestores(_ now: EngineTime) {
        // Each turn comes by here: nothing is copied unless there is something to tell.
        guard self.partitions.indices.contains(where: { self.partitions[$0].phase == .restoring }) else {
            self.restoreTellDueMillis = nil
            return
        }
        guard let due = self.restoreTellDueMillis else {
            self.restoreTellDueMillis = now.steadyMillis + Self.restoreTellMillis
            return
        }
        guard due <= now.steadyMillis else { return }
        self.restoreTellDueMillis = now.steadyMillis + Self.restoreTellMillis
        let restoring = self.partitions.filter { $0.phase == .restoring }
        self.logger.info(
            "reading state",
            metadata: [
                "partitions": "\(restoring.count)",
                "records": "\(restoring.reduce(0) { $0 + $1.restoredRecords })",
                "of": "\(restoring.reduce(0) { $0 + $1.restoreRecordsMax })",
            ])
    }

    private static func tombstoneEpoch(_ record: borrowing KafkaRecord) -> Int64? {
        record.withHeader(ShardEngine.epochHeader) { value, isPresent in
            isPresent ? Self.decimal(value) : nil
        }
    }

    /// Digits alone, as the engine writes an epoch; `nil`: something else. Of each tombstone there is: nothing is allocated for it.
    static func decimal(_ text: Span<UInt8>) -> Int64? {
        guard !text.isEmpty else { return nil }
        var value: Int64 = 0
        for index in text.indices {
            let digit = text[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            let (tens, isOver) = value.multipliedReportingOverflow(by: 10)
            let (sum, isOverToo) = tens.addingReportingOverflow(Int64(digit))
            guard !isOver, !isOverToo else { return nil }
            value = sum
        }
        return value
    }

    private func finishRestore(_ index: Int, _ now: EngineTime) {
        self.partitions[index].section?.close()
        self.partitions[index].section = nil
        let partition = self.partitions[index]
        self.engine.restoreFinished(
            partition: partition.number, logEnds: partition.logEnds, starts: partition.starts, now: now)
        if let clusterID = self.engine.voidingClusterID(partition: partition.number) {
            self.logger.error(
                "the state of partition \(partition.number) was written for another Kafka cluster: its positions mean nothing here, every event in the log is taken as new",
                metadata: ["cluster": "\(clusterID)"])
        }
        self.partitions[index].phase = .running
        self.partitions[index].hasRun = true
        for input in partition.inputs {
            let flag = input.isReadable
            input.reader.onReadable { [waker = self.waker] in
                flag.set()
                waker?.wake()
            }
        }
        self.noteChange()
        self.hasMore = true
        self.logger.info(
            "partition \(partition.number) restored",
            metadata: [
                "records": "\(partition.restoredRecords)", "ms": "\(now.steadyMillis - partition.restoreBeganMillis)",
                "starts": "\(partition.starts.map { "\($0.nextOffset)" }.joined(separator: ","))",
            ])
    }

    /// The partition stops until a person has looked at it; the others go on.
    func halt(_ index: Int, _ reason: String) {
        self.partitions[index].section?.close()
        self.partitions[index].section = nil
        self.partitions[index].phase = .halted
        self.partitions[index].haltReason = reason
        self.noteChange()
        self.logger.error("partition \(self.partitions[index].number) is halted", metadata: ["cause": "\(reason)"])
    }
}

extension PartitionFailure {
    /// Why the partition cannot go on; `nil`: librdkafka does so by itself.
    var haltReason: String? {
        switch self {
        case .offsetOutOfRange(let position, let text): "\(position) is outside the log: \(text)"
        case .noCommittedOffset(let partition): "\(partition) was started without a position"
        case .failed(let partition, let error): error.isRetriable ? nil : "\(partition) cannot be read: \(error)"
        }
    }

    /// The same for a partition of the input, with what a person has to do.
    var inputHaltReason: String? {
        switch self {
        case .offsetOutOfRange(let position, _):
            "\(position), which is to be read next, is outside the log: retention has cut off events while they waited, or the topic was made anew; \(PositionRemedy.text)"
        case .failed(_, let error) where error.isRefusal:
            self.haltReason.map { "\($0); then start the worker again" }
        case .noCommittedOffset, .failed: self.haltReason
        }
    }
}
