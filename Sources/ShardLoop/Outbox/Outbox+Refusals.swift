import PushEngine
import PushModel

/// Handles records that Kafka will not take as they are.
extension Outbox {
    /// Handles a record that Kafka has refused for good.
    /// - Parameter error: the kind of Kafka's answer.
    mutating func refusedForGood(
        _ record: KeptRecord, _ failure: ProduceFailure, _ error: ProduceError, engine: inout ShardEngine,
        now: EngineTime
    ) {
        switch record.topic {
        case .outcomes:
            self.counters.outcomesUnpublished += 1
            self.letGo(record, failure, .unpublished, engine: &engine, now: now)
        case .deadLetters: self.deadLetterRefused(record, failure, error, engine: &engine, now: now)
        case .routed: self.routedRefused(record, failure, error, engine: &engine, now: now)
        case .state: self.halt(for: record, failure, error, engine: &engine, now: now)
        }
    }

    /// Handles a refused dead letter. The dead letter of a bad record is shrunk. If Kafka also refuses the shrunk one,
    /// it is given up, as far as `GiveUpLimit` allows. All other dead letters are kept, and their partition halts.
    private mutating func deadLetterRefused(
        _ record: KeptRecord, _ failure: ProduceFailure, _ error: ProduceError, engine: inout ShardEngine,
        now: EngineTime
    ) {
        guard let partition = engine.partition(of: record.acknowledgement) else {
            // The partition has left, and its next owner reads the event again.
            self.refusals.taken(record.acknowledgement)
            return engine.acknowledged(record.acknowledgement, offset: -1, now: now)
        }
        if error == .invalidRecord, record.key == nil, !record.sourceText.isEmpty {
            return self.tryAgain(record.keyedBySource(), after: failure, .keyed, now)
        }
        guard engine.mayGiveUp(record.acknowledgement) else {
            return self.halt(for: record, failure, error, engine: &engine, now: now)
        }
        if !record.isShrunk {
            self.counters.deadLettersShrunk += 1
            return self.tryAgain(record.shrunk(), after: failure, .shrunk, now)
        }
        guard self.refusals.giveUpLimit.takes(partition, nowMillis: now.steadyMillis) else {
            return self.halt(for: record, failure, error, engine: &engine, now: now)
        }
        self.counters.deadLettersGivenUp += 1
        self.letGo(record, failure, .givenUp, engine: &engine, now: now)
    }

    /// Turns a refused event into a dead letter. A message between workers cannot become a dead letter, so its
    /// partition halts.
    private mutating func routedRefused(
        _ record: KeptRecord, _ failure: ProduceFailure, _ error: ProduceError, engine: inout ShardEngine,
        now: EngineTime
    ) {
        let why = "the routed topic does not take the record: \(error.label)"
        guard record.isForwardedEvent, self.becomesDeadLetter(record, why: why, engine: &engine, now: now) else {
            return self.halt(for: record, failure, error, engine: &engine, now: now)
        }
        self.refusals.add(failure, record, .deadLettered, nowMillis: now.steadyMillis)
    }

    /// Handles a refused event after a later one of its partition was delivered. If the event were forwarded now, its
    /// reader would take it for a replay, so it becomes a dead letter.
    mutating func overtaken(_ record: KeptRecord, engine: inout ShardEngine, now: EngineTime) {
        let why = "the routed topic refused it at first, and has taken a later one since"
        if self.becomesDeadLetter(record, why: why, engine: &engine, now: now) {
            self.refusals.add(ProduceFailure(why, .other), record, .deadLettered, nowMillis: now.steadyMillis)
        } else {
            self.retries.wait(record)
        }
    }

    /// Writes a dead letter instead of the event. Returns `false` if the event's headers have no position.
    private mutating func becomesDeadLetter(
        _ record: KeptRecord, why: String, engine: inout ShardEngine, now: EngineTime
    ) -> Bool {
        guard
            let source = engine.source(
                topic: record.header(.topic) ?? [], partition: record.header(.partition) ?? [],
                offset: record.header(.offset) ?? [])
        else { return false }
        self.refusals.taken(record.acknowledgement)
        engine.forwardRefused(
            record.acknowledgement, source: source, timestamp: record.header(.timestamp) ?? [],
            traceparent: record.headers.first { $0.name.elementsEqual("traceparent".utf8) }?.value ?? [],
            key: record.key, value: record.value, why: why, now: now)
        self.hasNewRecords = true
        return true
    }

    /// Gives up a record. Nothing waits for its acknowledgement from now on.
    private mutating func letGo(
        _ record: KeptRecord, _ failure: ProduceFailure, _ step: RefusalNotice.Step, engine: inout ShardEngine,
        now: EngineTime
    ) {
        self.refusals.add(failure, record, step, nowMillis: now.steadyMillis)
        self.refusals.taken(record.acknowledgement)
        engine.acknowledged(record.acknowledgement, offset: -1, now: now)
        self.hasNewRecords = true
    }

    private mutating func tryAgain(
        _ record: KeptRecord, after failure: ProduceFailure, _ step: RefusalNotice.Step, _ now: EngineTime
    ) {
        self.refusals.add(failure, record, step, nowMillis: now.steadyMillis)
        self.retries.goesAlone(record, nowMillis: now.steadyMillis)
    }

    /// Keeps the record, and halts its partition until a person has looked at it.
    private mutating func halt(
        for record: KeptRecord, _ failure: ProduceFailure, _ error: ProduceError, engine: inout ShardEngine,
        now: EngineTime
    ) {
        self.refusals.add(failure, record, .halted, nowMillis: now.steadyMillis)
        if let partition = engine.partition(of: record.acknowledgement) {
            let source = record.sourceText.isEmpty ? "" : " of \(record.sourceText)"
            self.refusals.halts(
                partition, "a record\(source) is refused for good (\(error.label)): \(failure)")
        }
        self.retries.stick(record, nowMillis: now.steadyMillis)
    }
}
