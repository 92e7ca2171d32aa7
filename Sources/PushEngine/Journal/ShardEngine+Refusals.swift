public import PushModel

/// Handles records that Kafka refuses for good.
extension ShardEngine {
    /// The partition that a record is written for; `nil`: the partition has left, and nobody waits for the record now.
    public func partition(of acknowledgement: UInt64) -> Int32? {
        guard self.isAwaited(acknowledgement), let element = self.core.journal.acknowledgements.element(acknowledgement)
        else { return nil }
        return self.core.memory.partitions[element.partition].number
    }

    /// Whether the record is a dead letter of something that is not an event, or of an event that has its outcome. Such
    /// a record may be lost as a last resort.
    public func mayGiveUp(_ acknowledgement: UInt64) -> Bool {
        self.core.journal.acknowledgements.element(acknowledgement)?.waiter.eventRecord == .deadLetter
    }

    /// The position that a record's headers name; `nil`: they do not name a position in an input topic.
    public func source(topic: [UInt8], partition: [UInt8], offset: [UInt8]) -> SourcePosition? {
        guard
            let index = self.configuration.inputTopics.firstIndex(where: { $0.utf8.elementsEqual(topic) }),
            let partition = DecimalDigits.value(of: partition.span).flatMap({ Int32(exactly: $0) }),
            let offset = DecimalDigits.value(of: offset.span)
        else { return nil }
        return SourcePosition(topic: UInt16(index), partition: partition, offset: offset)
    }

    /// Takes the final refusal of a forwarded event: the routed topic will never accept it. The event becomes a dead
    /// letter with an outcome, because a valid event must not be lost.
    /// - Parameters:
    ///   - acknowledgement: number of the record for `routed` that was refused.
    ///   - source: where the event was read.
    ///   - timestamp: the time of the event's record, milliseconds since 1970, in digits.
    ///   - traceparent: the trace context that the event carries; empty: none.
    ///   - key: the event's key, as it was read; `nil`: the event has no key.
    ///   - value: the event's value, as it was read; `nil`: the event has no value.
    ///   - why: reason for the dead letter, if the event itself is valid.
    ///   - now: the present.
    public mutating func forwardRefused(
        _ acknowledgement: UInt64, source: SourcePosition, timestamp: [UInt8], traceparent: [UInt8], key: [UInt8]?,
        value: [UInt8]?, why: String, now: EngineTime
    ) {
        guard self.isAwaited(acknowledgement),
            let element = self.core.journal.acknowledgements.element(acknowledgement),
            case .logRecord(.routed, let entry) = element.waiter, entry.isSome
        else { return self.acknowledged(acknowledgement, offset: -1, now: now) }
        let record = InputRecord(
            topic: source.topic, partition: source.partition, offset: source.offset,
            timestampMillis: DecimalDigits.value(of: timestamp.span) ?? 0, hasKey: key != nil, hasValue: value != nil,
            origin: nil)
        let log = self.core.journal.ledger.log(of: entry)
        self.core.intake.begin(record, partition: element.partition, log: log, traceparent: traceparent.span, now: now)
        let (key, value) = (key ?? [], value ?? [])
        var refusal = EventRejection(field: "record", reason: why)
        let isInOrder: Bool
        do throws(EventRejection) {
            try self.core.intake.checkNewKey(key.span)
            _ = try self.core.intake.admit(key: key.span, value: value.span, in: self.core.memory, now: now)
            isInOrder = true
        } catch {
            refusal = error
            isInOrder = false
        }
        self.core.memory.counters.forwardsRefused += 1
        self.core.journal.deadLetter(
            self.core.intake, key: key.span, value: value.span, refusal: refusal,
            as: isInOrder ? .strandedEvent : .deadLetter, of: entry, in: &self.core.memory)
        self.acknowledged(acknowledgement, offset: -1, now: now)
    }

    /// Stops the partition: it takes no more records until a person has looked at it.
    public mutating func stop(partition number: Int32, reason: String) {
        guard let partition = self.core.memory.partitions.index(of: number) else { return }
        if self.core.memory.partitions[partition].stopped(reason) { self.ownership.watch(partition) }
    }
}
