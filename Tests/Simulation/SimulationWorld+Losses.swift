import PushEngine
import PushModel
import ShardLoop

/// What commits say of the logs, and what somebody else's admin command does to those.
struct SimulatedLosses {
    /// By place: what the last commit said.
    var notes: [SimulatedKafka.Place: PositionNote] = [:]
    /// The partition whose topic was made anew; `nil`: none was.
    var partition: Int32?
    /// Whether it has halted for that; and whether it was restored after a person accepted the loss.
    var hasHalted = false
    var haltedMillis: Int64 = 0
    var isAccepted = false
    var hasRestored = false
}

/// Topics that are emptied, or made anew, under a group: the partition halts, and nothing of it is pushed or committed.
extension SimulationWorld {
    /// What is lost.
    package enum Loss: CaseIterable, Sendable {
        /// `state` is emptied while its owner runs, or between two owners, or loses its head between them; `events` is made anew between two
        /// owners, with other records.
        case stateWhileRunning, stateBetweenOwners, stateHeadBetweenOwners, eventsBetweenOwners
    }

    // MARK: What commits say

    /// What a commit of this position says.
    func note(of position: CommitPosition, _ worker: SimulatedWorker) -> PositionNote {
        var note = PositionNote()
        note.stateEnd = worker.stateEnds[position.partition]?.end
        note.stateStart = worker.stateStarts[position.partition]
        let place = SimulatedKafka.Place(topic: position.topic == 0 ? .events : .routed, partition: position.partition)
        // What was read is what is told, and nobody has read of the new log.
        if position.partition == self.losses.partition {
            note.sample = self.losses.notes[place]?.sample
        } else if position.nextOffset > 0, let record = self.kafka.record(place, position.nextOffset - 1) {
            note.sample = PositionNote.Sample(offset: position.nextOffset - 1, millis: record.timestampMillis)
        }
        return note
    }

    /// Kafka has told the worker of a record in `state`: an owner's first record is its claim.
    func noteStateEnd(_ partition: Int32, offset: Int64, _ worker: SimulatedWorker) {
        guard var end = worker.stateEnds[partition] else { return }
        if end.hasClaim {
            end.end = end.isOwn ? max(end.end ?? 0, offset + 1) : offset + 1
            end.isOwn = true
        }
        end.hasClaim = true
        worker.stateEnds[partition] = end
    }

    /// What the group's commits say of `state`, and why a partition is not to be read.
    func judgeLogs(
        _ partition: Int32, _ places: [SimulatedKafka.Place]
    ) -> (stateStart: Int64?, stateEnd: Int64?, haltReason: String?) {
        let stateEnd = places.compactMap { self.losses.notes[$0]?.stateEnd }.max()
        let stateStart = places.compactMap { self.losses.notes[$0]?.stateStart }.max()
        let state = SimulatedKafka.Place(topic: .state, partition: partition)
        let acceptedEnd = self.losses.isAccepted ? stateEnd : nil
        if LogIdentity.isStateCut(logEnd: self.kafka.end(state), stateEnd: stateEnd, acceptedEnd: acceptedEnd) {
            return (stateStart, stateEnd, "its state ends too soon")
        }
        if LogIdentity.isStateHeadCut(
            logStart: self.kafka.start(state), stateStart: stateStart, stateEnd: stateEnd, acceptedEnd: acceptedEnd)
        {
            return (stateStart, stateEnd, "the head of its state is gone")
        }
        for place in places {
            guard let sample = self.losses.notes[place]?.sample else { continue }
            let found = self.kafka.record(place, sample.offset).map {
                LogIdentity.Found.record(millis: $0.timestampMillis)
            }
            let reason = LogIdentity.reasonIfOther(
                topic: "\(place.topic)", partition: partition, sample, found ?? .nothing, logEnd: self.kafka.end(place))
            if let reason { return (stateStart, stateEnd, reason) }
        }
        return (stateStart, stateEnd, nil)
    }

    // MARK: What must not happen

    func hearHalt(_ partition: Int32, _ reason: String) {
        guard partition == self.losses.partition else {
            return self.fail("partition \(partition) is halted: \(reason)")
        }
        self.tell("partition \(partition) is halted: \(reason)")
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

    /// Checks that a halted partition pushes and commits nothing. What was handed on before may still arrive.
    func checkNotHalted(_ partition: Int32, _ what: String) {
        guard partition == self.losses.partition, self.losses.hasHalted, !self.losses.isAccepted,
            self.steadyMillis > self.losses.haltedMillis + 30_000
        else { return }
        self.fail("\(what) of partition \(partition), which has halted")
    }

    // MARK: A run

    /// Plays a while, loses something, and looks what becomes of it, and of its acceptance.
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
            let note = self.losses.notes[SimulatedKafka.Place(topic: .events, partition: partition)]
            return note?.stateEnd != nil && note?.sample != nil
        }
        guard let partition = known.randomElement(using: &self.random) else { return false }
        if loss != .stateWhileRunning { self.killAll() }
        self.losses.partition = partition
        let place = SimulatedKafka.Place(topic: loss == .eventsBetweenOwners ? .events : .state, partition: partition)
        self.tell("\(place.topic) \(partition): \(loss)")
        let end = self.kafka.end(place)
        if loss == .stateHeadBetweenOwners {
            self.kafka.cutHead(place, upTo: Int64.random(in: 1...end, using: &self.random))
        } else {
            self.kafka.makeAnew(place)
        }
        if loss == .eventsBetweenOwners {
            for number in 0..<end + 3 {
                let record = LoggedRecord(key: Array("other".utf8), value: [], timestampMillis: number + 1)
                self.kafka.append(record, to: place, nowMillis: self.steadyMillis)
            }
        }
        // A worker that has nothing to write writes its marker, every five minutes.
        self.runUntil(self.steadyMillis + 900_000)
        if !self.losses.hasHalted { self.fail("\(loss) of partition \(partition), and nothing halts") }
        // The next owner halts as well: nothing that halts writes what looks whole.
        for _ in 0..<2 {
            self.losses.hasHalted = false
            self.killAll()
            self.runUntil(self.steadyMillis + 240_000)
            if !self.losses.hasHalted { self.fail("\(loss) of partition \(partition) is forgotten by the next owner") }
        }
        if loss != .eventsBetweenOwners, self.faults.isEmpty { self.accept(partition) }
        return true
    }

    /// A person accepts that `state` is lost: the next owner goes on.
    private func accept(_ partition: Int32) {
        self.killAll()
        let place = SimulatedKafka.Place(topic: .state, partition: partition)
        let stateEnd = self.judgeLogs(
            partition, [.init(topic: .events, partition: partition), .init(topic: .routed, partition: partition)]
        ).stateEnd
        var record = LoggedRecord(
            key: StateAcceptance.key,
            value: StateAcceptance.value(
                partitionCount: self.plan.partitions, clusterID: "", wallMillis: self.wallMillis))
        record.headers = [(RecordHeader.acceptedEnd.text, "\(stateEnd ?? 0)")]
        self.kafka.append(record, to: place, nowMillis: self.steadyMillis)
        self.losses.isAccepted = true
        let before = self.faults
        self.runUntil(self.steadyMillis + 240_000)
        // What phones are shown after that is the operator's decision.
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
