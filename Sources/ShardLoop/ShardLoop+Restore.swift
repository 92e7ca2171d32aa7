import PushEngine
import PushModel

extension ShardLoop {
    /// Interval at which a long restore reports its progress.
    static let restoreReportMillis: Int64 = 5_000

    /// Begins a restore. Kafka has acknowledged the partition's marker, and the records up to the marker are read.
    mutating func beginRestore(of number: Int32, markerOffset: Int64, _ now: EngineTime) {
        guard let index = self.partitions.firstIndex(where: { $0.number == number }),
            self.partitions[index].life == .claiming
        else { return }
        do throws(LogFailure) {
            // The section includes the marker, whose offset is this owner's epoch.
            let section = try self.log.openState(partition: number, offsets: 0..<markerOffset + 1)
            self.partitions[index].move(to: .restoring)
            self.partitions[index].section = section
            self.partitions[index].sectionMayHaveMore = true
            self.partitions[index].restore.recordCountMax = markerOffset + 1
            self.partitions[index].restore.beganMillis = now.steadyMillis
            self.isRestoring = true
            self.hasMore = true
        } catch {
            self.halt(index, "its state cannot be read: \(error)")
        }
    }

    /// Reads some more records of `state` for partitions that are being restored. The number of records in a turn is
    /// limited.
    mutating func restore(_ now: EngineTime) {
        guard self.isRestoring else { return }
        defer { self.isRestoring = self.partitions.contains { $0.life == .restoring } }
        var room = Self.restoresPerTurnMax
        for index in self.partitions.indices where self.partitions[index].life == .restoring {
            guard room > 0 else {
                self.hasMore = true
                return
            }
            guard let section = self.partitions[index].section,
                section.takeReadable() || self.partitions[index].sectionMayHaveMore
            else { continue }
            let number = self.partitions[index].number
            var fault: String?
            let read = section.read(max: room) { key, value, isTombstone, header, offset in
                guard fault == nil else { return }
                let result = self.engine.restore(
                    partition: number, key: key, value: value, isTombstone: isTombstone,
                    header: header, offset: offset, now: now)
                fault = self.fault(result, partition: number, offset: offset)
            }
            room -= read.recordCount
            self.partitions[index].sectionMayHaveMore = read.mayHaveMore
            self.partitions[index].restore.recordCount += Int64(read.recordCount)
            self.restoredRecordCount += UInt64(read.recordCount)
            if read.recordCount > 0 { self.hasChanged = true }
            if let fault {
                self.halt(index, fault)
            } else if let failure = read.failure, failure.isFinal {
                self.halt(index, "its state cannot be read: \(failure)")
            } else if read.isFinished {
                self.finishRestore(index, now)
            } else if read.mayHaveMore {
                self.hasMore = true
            }
        }
    }

    /// What is wrong with a record of `state`; `nil` if nothing is wrong. It is called for each record, so the text is
    /// made only for a fault.
    private func fault(_ result: RestoreResult, partition: Int32, offset: Int64) -> String? {
        let text: String
        switch result {
        case .restored, .ignored: return nil
        case .unknownVersion(let version):
            text = "holds version \(version), which this release does not know; a newer one wrote it"
        case .malformed(let why): text = "cannot be understood: \(why)"
        case .refused(let why): text = "does not fit: \(why)"
        }
        return "\(self.configuration.stateTopic)[\(partition)]@\(offset) \(text)"
    }

    /// Halts a partition whose `state` has lost records. What this owner knows must not be written after the lost
    /// part, because the topic would then look complete.
    mutating func loseState(of number: Int32, _ what: String, _ now: EngineTime) {
        guard let index = self.partitions.firstIndex(where: { $0.number == number }),
            !self.partitions[index].life.isHalted, !self.partitions[index].life.isLeaving
        else { return }
        self.engine.forget(partition: number)
        self.outbox.forget(partition: number, in: &self.engine, now: now)
        _ = self.commits.take(of: [number])
        self.forgetRepairs(of: [number])
        self.partitions[index].forsake(
            LogIdentity.stateReason(topic: self.configuration.stateTopic, partition: number, what))
        self.hasChanged = true
        self.news.append(.halted(partition: number, reason: self.partitions[index].haltReason))
    }

    private mutating func finishRestore(_ index: Int, _ now: EngineTime) {
        let (grant, restore) = (self.partitions[index].grant, self.partitions[index].restore)
        if let loss = self.engine.stateLoss(partition: grant.number, stateEnd: grant.stateEnd) {
            return self.loseState(of: grant.number, loss, now)
        }
        self.partitions[index].move(to: .running)
        self.engine.restoreFinished(
            partition: grant.number, logEnds: grant.logEnds, starts: grant.starts, isOfNewLog: grant.isOfNewLog,
            now: now)
        self.mayHaveActions = true
        self.log.beginReading(partition: grant.number)
        self.hasReadable = true
        self.hasChanged = true
        self.hasMore = true
        self.news.append(
            .restored(
                partition: grant.number, recordCount: restore.recordCount,
                durationMillis: now.steadyMillis - restore.beganMillis, starts: grant.starts))
    }

    /// Reports the progress of long restores, every few seconds.
    mutating func reportRestores(_ now: EngineTime) {
        // Nothing is copied unless there is something to report.
        guard self.isRestoring else {
            self.restoreReportDueMillis = nil
            return
        }
        guard let due = self.restoreReportDueMillis else {
            self.restoreReportDueMillis = now.steadyMillis + Self.restoreReportMillis
            return
        }
        guard due <= now.steadyMillis else { return }
        self.restoreReportDueMillis = now.steadyMillis + Self.restoreReportMillis
        let restores = self.partitions.filter { $0.life == .restoring }.map(\.restore)
        self.news.append(
            .restoring(
                partitionCount: restores.count, recordCount: restores.reduce(0) { $0 + $1.recordCount },
                recordCountMax: restores.reduce(0) { $0 + $1.recordCountMax }))
    }
}
