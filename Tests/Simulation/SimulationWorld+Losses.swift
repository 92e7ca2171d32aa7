import PushEngine
import PushModel
import ShardLoop

/// State of a simulated loss of a log. It has the metadata of commits, the log that was lost, and how the partition
/// reacted.
struct SimulatedLosses {
    /// Metadata of the last commit, by log.
    var metadata: [SimulatedKafka.LogID: CommitMetadata] = [:]
    /// The partition of the log that was lost. `nil`: no log was lost.
    var partition: Int32?
    /// Whether the partition has halted because of the loss.
    var hasHalted = false
    /// When the partition halted, by the steady clock.
    var haltedMillis: Int64 = 0
    /// Whether an operator has accepted the loss.
    var isAccepted = false
    /// Whether the partition was restored after the loss was accepted.
    var hasRestored = false
}

/// Logs that are emptied or replaced while a group uses them. Their partition must halt: nothing of it is pushed or
/// committed.
extension SimulationWorld {
    /// Which log is lost, and when.
    package enum Loss: CaseIterable, Sendable {
        /// In this order: `state` is emptied while the partition's owner runs, is emptied between two owners, or loses
        /// its oldest records between two owners. `events` is replaced between two owners by a log with other records.
        case stateWhileRunning, stateBetweenOwners, stateHeadBetweenOwners, eventsBetweenOwners
    }

    // MARK: What commits say

    /// The metadata with which a worker commits this position.
    func metadata(of position: CommitPosition, _ worker: SimulatedWorker) -> CommitMetadata {
        var metadata = CommitMetadata()
        metadata.stateEnd = worker.stateEnds[position.partition]?.end
        metadata.stateStart = worker.stateStarts[position.partition]
        let logID = SimulatedKafka.LogID(topic: position.topic == 0 ? .events : .routed, partition: position.partition)
        // The metadata describes the log that was read. No worker has read the new log, so the earlier sample stays.
        if position.partition == self.losses.partition {
            metadata.sample = self.losses.metadata[logID]?.sample
        } else if position.nextOffset > 0, let record = self.kafka.record(logID, position.nextOffset - 1) {
            metadata.sample = CommitMetadata.Sample(offset: position.nextOffset - 1, millis: record.timestampMillis)
        }
        return metadata
    }

    /// Remembers that Kafka has acknowledged a worker's record in `state`. The owner's first such record is its claim.
    func rememberStateEnd(_ partition: Int32, offset: Int64, _ worker: SimulatedWorker) {
        guard var end = worker.stateEnds[partition] else { return }
        if end.hasClaim {
            end.end = end.isOwn ? max(end.end ?? 0, offset + 1) : offset + 1
            end.isOwn = true
        }
        end.hasClaim = true
        worker.stateEnds[partition] = end
    }

    /// Where `state` began and ended, as the group's commits say, and why the partition must halt. `haltReason` is
    /// `nil` if no log was lost.
    func judgeLogs(
        _ partition: Int32, _ logIDs: [SimulatedKafka.LogID]
    ) -> (stateStart: Int64?, stateEnd: Int64?, haltReason: String?) {
        let stateEnd = logIDs.compactMap { self.losses.metadata[$0]?.stateEnd }.max()
        let stateStart = logIDs.compactMap { self.losses.metadata[$0]?.stateStart }.max()
        let state = SimulatedKafka.LogID(topic: .state, partition: partition)
        let acceptedEnd = self.losses.isAccepted ? stateEnd : nil
        if LogIdentity.isStateCut(logEnd: self.kafka.end(state), stateEnd: stateEnd, acceptedEnd: acceptedEnd) {
            return (stateStart, stateEnd, "its state ends too soon")
        }
        if LogIdentity.isStateHeadCut(
            logStart: self.kafka.start(state), stateStart: stateStart, stateEnd: stateEnd, acceptedEnd: acceptedEnd)
        {
            return (stateStart, stateEnd, "the head of its state is gone")
        }
        for logID in logIDs {
            guard let sample = self.losses.metadata[logID]?.sample else { continue }
            let found = self.kafka.record(logID, sample.offset).map {
                LogIdentity.Found.record(millis: $0.timestampMillis)
            }
            let reason = LogIdentity.reasonIfOther(
                topic: "\(logID.topic)", partition: partition, sample, found ?? .nothing, logEnd: self.kafka.end(logID))
            if let reason { return (stateStart, stateEnd, reason) }
        }
        return (stateStart, stateEnd, nil)
    }

    // MARK: What must not happen

    func hearHalt(_ partition: Int32, _ reason: String) {
        guard partition == self.losses.partition else {
            return self.fail("partition \(partition) is halted: \(reason)")
        }
        self.log("partition \(partition) is halted: \(reason)")
        self.losses.hasHalted = true
        self.losses.haltedMillis = self.steadyMillis
        if self.losses.isAccepted { self.fail("partition \(partition) is halted, and its loss is accepted: \(reason)") }
    }

    func hearRestored(_ partition: Int32) {
        guard partition == self.losses.partition else { return }
        if self.losses.isAccepted {
            self.losses.hasRestored = true
        } else {
            self.fail("partition \(partition) goes on, and its log is another one")
        }
    }

    /// Checks that a halted partition pushes and commits nothing. In the first 30 seconds, pushes and commits that had
    /// been handed over before may still leave.
    func checkNotHalted(_ partition: Int32, _ what: String) {
        guard partition == self.losses.partition, self.losses.hasHalted, !self.losses.isAccepted,
            self.steadyMillis > self.losses.haltedMillis + 30_000
        else { return }
        self.fail("\(what) of partition \(partition), which has halted")
    }

    // MARK: A run

    /// Plays for a while, loses a log, and then plays the halt. If `state` was lost, an operator then accepts the loss.
    /// - Returns: whether there was something to lose.
    package func run(losing loss: Loss) -> Bool {
        for _ in 0..<self.plan.events {
            if !self.writesAboutAudience() { self.writeSomething() }
            self.runUntil(self.steadyMillis + Int64.random(in: 0...3_000, using: &self.random))
        }
        self.faultsAreOn = false
        self.releaseVoids { _ in true }
        self.mend()
        self.runUntil(self.steadyMillis + 120_000)
        let known = (0..<self.plan.partitions).filter { partition in
            let metadata = self.losses.metadata[SimulatedKafka.LogID(topic: .events, partition: partition)]
            return metadata?.stateEnd != nil && metadata?.sample != nil
        }
        guard let partition = known.randomElement(using: &self.random) else { return false }
        if loss != .stateWhileRunning { self.killAll() }
        self.losses.partition = partition
        let logID = SimulatedKafka.LogID(topic: loss == .eventsBetweenOwners ? .events : .state, partition: partition)
        self.log("\(logID.topic) \(partition): \(loss)")
        let end = self.kafka.end(logID)
        if loss == .stateHeadBetweenOwners {
            self.kafka.cutHead(logID, upTo: Int64.random(in: 1...end, using: &self.random))
        } else {
            self.kafka.makeAnew(logID)
        }
        if loss == .eventsBetweenOwners {
            for number in 0..<end + 3 {
                let record = LoggedRecord(key: Array("other".utf8), value: [], timestampMillis: number + 1)
                self.kafka.append(record, to: logID, nowMillis: self.steadyMillis)
            }
        }
        // An owner notices the loss at the latest when it writes its marker, which it does every five minutes.
        self.runUntil(self.steadyMillis + 900_000)
        if !self.losses.hasHalted { self.fail("\(loss) of partition \(partition), and nothing halts") }
        // The next owner must halt too. A halted owner writes no records that would make `state` look whole.
        for _ in 0..<2 {
            self.losses.hasHalted = false
            self.killAll()
            self.runUntil(self.steadyMillis + 240_000)
            if !self.losses.hasHalted { self.fail("\(loss) of partition \(partition) is forgotten by the next owner") }
        }
        if loss != .eventsBetweenOwners, self.faults.isEmpty { self.accept(partition) }
        return true
    }

    /// Lets an operator accept that `state` is lost. The next owner must then restore the partition and run it.
    private func accept(_ partition: Int32) {
        self.killAll()
        let logID = SimulatedKafka.LogID(topic: .state, partition: partition)
        let stateEnd = self.judgeLogs(
            partition, [.init(topic: .events, partition: partition), .init(topic: .routed, partition: partition)]
        ).stateEnd
        var record = LoggedRecord(
            key: StateAcceptance.key,
            value: StateAcceptance.value(
                partitionCount: self.plan.partitions, clusterID: "", wallMillis: self.wallMillis))
        record.headers = [(RecordHeader.acceptedEnd.text, "\(stateEnd ?? 0)")]
        self.kafka.append(record, to: logID, nowMillis: self.steadyMillis)
        self.losses.isAccepted = true
        let before = self.faults
        self.runUntil(self.steadyMillis + 240_000)
        // What phones show is not judged after the accepted loss, because the operator took that risk.
        self.faults = before + self.faults.filter { $0.contains("halted") }
        if !self.losses.hasRestored {
            self.fail("the loss of partition \(partition) is accepted, and it does not go on")
        }
    }

    private func killAll() {
        for worker in self.workers { self.kill(worker) }
        self.workers.removeAll { !$0.isAlive }
    }
}
