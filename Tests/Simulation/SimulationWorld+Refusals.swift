import PushEngine
import PushModel
import ShardLoop

/// Records that Kafka refuses, and how workers react to that.
extension SimulationWorld {
    /// Why Kafka refuses the record now, even if it is sent alone. `nil`: Kafka takes it.
    func refusal(of record: LoggedRecord, at logID: SimulatedKafka.LogID) -> ProduceError? {
        if self.steadyMillis < self.refusalWindow.untilMillis, self.refusalWindow.topics.contains(logID.topic) {
            return .size
        }
        // A topic may refuse a record because of its time. So workers must leave the time of their records to Kafka.
        if record.timestampMillis > 0, self.plan.refusals.batchPercent > 0 { return .invalidTimestamp }
        guard logID.topic == .deadLetters else { return nil }
        return switch self.plan.refusals.deadLetters {
        case .taken: nil
        case .onlyShrunk: record.value.isEmpty || self.isStranded(record) ? nil : .size
        case .refused: self.isStranded(record) ? nil : .size
        }
    }

    /// Whether the record is a dead letter of a well-formed event.
    private func isStranded(_ record: LoggedRecord) -> Bool {
        guard let position = Self.source(of: record), let event = self.written[position] else { return false }
        return event.kind != .malformed
    }

    static func source(of record: LoggedRecord) -> SourcePosition? {
        guard let partition = record.header(.partition).flatMap({ Int32($0) }),
            let offset = record.header(.offset).flatMap({ Int64($0) })
        else { return nil }
        return SourcePosition(topic: 0, partition: partition, offset: offset)
    }

    /// Decides whether Kafka refuses a batch. It is called after each record of the batch was sent.
    func judgeBatch(of logID: SimulatedKafka.LogID, from worker: SimulatedWorker) {
        let percent = self.plan.refusals.batchPercent
        guard percent > 0 else { return }
        self.kafka.judgeBatch(of: logID, producer: worker.number, nowMillis: self.steadyMillis) {
            guard self.faultsAreOn, Int.random(in: 0..<100, using: &self.refusalRandom) < percent else { return nil }
            self.log("a batch of worker \(worker.number) for \(logID.topic) is refused")
            return [.size, .invalidRecord, .invalidTimestamp].randomElement(using: &self.refusalRandom)
        }
    }

    /// Perhaps lets somebody lower size limits of topics for a while.
    func perhapsLowerLimits() {
        guard self.faultsAreOn, self.steadyMillis >= self.refusalWindow.untilMillis,
            Int.random(in: 0..<100, using: &self.refusalRandom) < self.plan.refusals.windowPercent,
            let window = self.plan.refusals.windows.randomElement(using: &self.refusalRandom)
        else { return }
        let until = self.steadyMillis + Int64.random(in: 500...40_000, using: &self.refusalRandom)
        self.log("nothing is taken for \(window.topics) for \(until - self.steadyMillis) ms")
        self.refusalWindow = (window.topics, until)
    }

    /// Remembers that a partition has halted. Its worker is started again some time after the limits are raised.
    func rememberHalt(_ partition: Int32, _ reason: String, of worker: SimulatedWorker) {
        guard !self.refusalWindow.topics.isEmpty, !self.refusalWindow.topics.isDisjoint(with: [.state, .deadLetters])
        else { return self.fail("partition \(partition) is halted: \(reason)") }
        self.log("partition \(partition) of worker \(worker.number) is halted: \(reason)")
        let due =
            max(self.steadyMillis, self.refusalWindow.untilMillis)
            + Int64.random(in: 100...20_000, using: &self.refusalRandom)
        if self.restarts[worker.number] == nil { self.restarts[worker.number] = due }
    }

    func rememberRefusal(_ notice: RefusalNotice, of worker: SimulatedWorker) {
        self.log("worker \(worker.number): \(notice.sentence)")
        let parts = notice.source.split(separator: "/")
        guard case .deadLettered = notice.step, parts.count == 3, let partition = Int32(parts[1]),
            let offset = Int64(parts[2])
        else { return }
        self.stranded.insert(SourcePosition(topic: 0, partition: partition, offset: offset))
    }

    /// Remembers an event whose outcome says that it could not be forwarded and became a dead letter. A notice of the
    /// worker says so too. But the worker may die before the notice is read, and its records may still arrive.
    func rememberStranded(_ record: LoggedRecord, on topic: SimulatedKafka.Topic) {
        guard topic == .outcomes, self.plan.refusals.mayStrand else { return }
        let text = String(decoding: record.value, as: UTF8.self)
        guard text.contains(#""outcome":"dead-lettered""#), text.contains(#""reason":"record: the routed topic "#),
            let position = SimulationEvidence.position(ofOutcome: text)
        else { return }
        self.stranded.insert(position)
    }

    /// Restarts workers with a halted partition when their restart is due, as an operator would.
    func restartHalted() {
        guard !self.restarts.isEmpty else { return }
        for worker in self.workers where worker.runs {
            guard let due = self.restarts[worker.number], due <= self.steadyMillis else { continue }
            self.restarts[worker.number] = nil
            self.kill(worker)
        }
        self.restarts = self.restarts.filter { number, _ in self.workers.contains { $0.number == number } }
    }

    /// Whether the event became a dead letter because it could not be forwarded, and no other owner has forwarded it.
    func isStranded(_ position: SourcePosition) -> Bool {
        self.stranded.contains(position) && !self.evidence.isRouted(position)
    }

    /// Judges that a well-formed event that could not be forwarded has a dead letter with its whole value.
    func judgeStranded() {
        var found: Set<SourcePosition> = []
        for (logID, log) in self.kafka.logs where logID.topic == .deadLetters {
            for record in log where !record.value.isEmpty {
                if let position = Self.source(of: record) { found.insert(position) }
            }
        }
        for position in self.stranded where self.written[position].map({ $0.kind != .malformed }) ?? false {
            // A former owner may have forwarded the event earlier, or the next owner later.
            guard !found.contains(position), !self.evidence.isRouted(position) else { continue }
            self.fail("\(position) could be neither forwarded nor is it among the dead letters")
        }
    }
}
