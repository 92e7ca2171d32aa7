import PushModel

/// Takes records that shards send each other over `routed`.
extension ShardEngine {
    /// Takes a record of `routed` that is not an event, and is not counted as an event. If something remains to be done
    /// for the record, its offset stays unresolved.
    mutating func consumeBus(_ kind: RoutedKind, key: Span<UInt8>, value: Span<UInt8>, now: EngineTime) {
        do throws(StateError) {
            switch kind {
            case .event: return
            case .question:
                let question = try BusRecord.Question(value)
                self.passBusRecord()
                self.publisher.takeQuestion(question, key: key, in: &self.core, now: now)
            case .report:
                let report = try BusRecord.Report(value)
                self.passBusRecord()
                self.publisher.takeReport(report, key: key, in: &self.core, now: now)
            case .version:
                let versions = try BusRecord.Versions(value, topicHashes: self.core.journal.topicHashes, now: now)
                self.passBusRecord()
                self.fanOut.takeVersions(versions, key: key, in: &self.core, now: now)
            case .void:
                let void = try BusRecord.Void(value)
                self.passBusRecord()
                self.fanOut.takeVoid(void, key: key, in: &self.core, now: now)
            case .pause:
                let pause = try BusRecord.Pause(value)
                self.passBusRecord()
                self.fanOut.takePause(pause, key: key, in: &self.core, now: now)
            case .channelWish:
                let wish = try BusRecord.ChannelWish(value)
                self.passBusRecord()
                self.keeperHost.takeWish(wish, key: key, in: &self.core, now: now)
            case .channelNews:
                let news = try BusRecord.ChannelNews(value)
                self.passBusRecord()
                self.publisher.takeNews(news, key: key, in: &self.core, now: now)
            case .keptQuestion:
                let question = try BusRecord.KeptQuestion(value)
                self.passBusRecord()
                self.keeperHost.takeKeptQuestion(question, key: key, in: &self.core)
            case .keptAnswer:
                let answer = try BusRecord.KeptAnswer(value)
                self.passBusRecord()
                self.core.takeKeptAnswer(answer, key: key, now: now)
            case .unknown: self.stopPartition("holds a record of kind “\(self.core.intake.kindName)”")
            }
        } catch {
            self.stopPartition("holds a record that cannot be understood: \(error)")
        }
    }
    /// Counts an understood record as read, so that reading continues behind it. An unknown record is never skipped.
    private mutating func passBusRecord() {
        self.core.journal.ledger.consumed(log: self.core.intake.log, offset: self.core.intake.record.offset)
    }
    /// Stops the partition, because only a newer release can continue (contract: Unknown kinds).
    private mutating func stopPartition(_ reason: String) {
        let partition = self.core.intake.partition
        let topic = self.core.memory.configuration.inputTopics[Int(self.core.intake.record.topic)]
        let reason =
            "\(topic)[\(self.core.intake.record.partition)]@\(self.core.intake.record.offset) \(reason); a newer release wrote it"
        if self.core.memory.partitions[partition].stopped(reason) { self.ownership.watch(partition) }
    }
}
