import PushModel

/// The record that stops pushes to members of an audience, or of all audiences of an app, or lets them continue. It is
/// written to every partition of the routed topic. Each partition obeys for its own members, even if the audience's id
/// belongs to another partition, and remembers the order in `state`.
public enum PauseRecord {
    /// Makes the record.
    /// - Parameters:
    ///   - bundleID: bundle identifier of the app.
    ///   - audience: id of the audience; `nil`: all audiences of the app.
    ///   - isPaused: `false`: pushes continue.
    /// - Returns: key and value of the record. The caller adds the header `RecordHeader.kind` with the name of
    ///   `RoutedKind.pause`.
    public static func make(
        bundleID: String, audience: String?, isPaused: Bool
    ) -> (key: [UInt8], value: [UInt8]) {
        let pause = BusRecord.Pause(bundleID: Array(bundleID.utf8), isOfApp: audience == nil, isPaused: isPaused)
        var (value, scratch): ([UInt8], [UInt8]) = ([], [])
        value.append(using: &scratch) {
            pause.write(to: &$0)
        }
        return (Array((audience ?? bundleID).utf8), value)
    }
}

/// How operators stop passes.
extension FanOut {
    /// Takes an operator's order. The last order that arrives in this partition counts.
    mutating func takePause(_ pause: BusRecord.Pause, key: Span<UInt8>, in core: inout ShardCore, now: EngineTime) {
        guard let app = core.memory.app(named: pause.bundleID), pause.isOfApp || (try? EventRules.checkKey(key)) != nil
        else { return }
        let partition = core.intake.partition
        var audience: [UInt8] = []
        if !pause.isOfApp { audience.append(copying: key) }
        let pauseKey = PauseTable.Key(partition: partition, app: app, audience: audience)
        guard !pause.isPaused || self.makeRoom(for: pauseKey, in: &core) else { return }
        let entry = core.journal.ledger.open(log: core.intake.log, offset: core.intake.record.offset, settled: false)
        if pause.isPaused {
            core.pauses.set(pauseKey, sinceMillis: now.wallMillis)
        } else {
            core.pauses.remove(pauseKey)
        }
        core.journal.writePause(pauseKey, sinceMillis: core.pauses[pauseKey], entry: entry, in: &core.memory)
        for crowd in self.crowds.crowds(of: partition) where self.crowds[crowd].isMeant(by: pauseKey) {
            switch self.readPause(crowd, in: &core) {
            case .stopped:
                self.withdrawStarts(crowd, in: &core, now: now)
                self.endPassTraces(crowd, .paused, in: &core)
            case .wentOn: self.resumePassTraces(crowd, in: &core, now: now)
            case .nothing, .counted: break
            }
            self.schedule(crowd, in: &core, now: now)
        }
    }
    /// Makes room for a pause. If the partition has too many pauses, it forgets the oldest pause of an audience without
    /// members here.
    /// - Returns: `false`: there is no room, because all paused audiences have members here.
    private mutating func makeRoom(for pause: PauseTable.Key, in core: inout ShardCore) -> Bool {
        guard !core.pauses.hasRoom(for: pause) else { return true }
        core.memory.counters.pausesDropped += 1
        let references = self.crowds.references(of: pause.partition)
        let idle = core.pauses.oldest(of: pause.partition) { key in
            !references.contains(
                CrowdTable.reference(bundleID: core.intake.bundleID(app: key.app).span, id: key.audience.span))
        }
        guard let idle else { return false }
        core.pauses.remove(idle)
        core.journal.writePause(idle, sinceMillis: nil, entry: .none, in: &core.memory)
        return true
    }
    /// Brings the crowd up to date with operators' pauses of its audience and of its app.
    /// - Returns: what changed for the crowd.
    @discardableResult mutating func readPause(_ crowd: CrowdID, in core: inout ShardCore) -> CrowdPause.Change {
        let change = self.crowds[crowd].readPause(in: core.pauses)
        self.count(change, in: &core)
        return change
    }
    /// Counts the crowd's members that wait because of a pause.
    @inline(__always) mutating func countPaused(_ crowd: CrowdID, in core: inout ShardCore) {
        self.count(self.crowds[crowd].countPaused(), in: &core)
    }
    /// Takes the crowd out of the gauges of pauses and of refused members, because it leaves memory, or its audience is
    /// over.
    mutating func uncount(_ crowd: CrowdID, in core: inout ShardCore) {
        self.count(self.crowds[crowd].leavesPause(), in: &core)
        core.memory.counters.membersRefused -= self.crowds[crowd].refusedCount
    }
    @inline(__always) private mutating func count(_ change: CrowdPause.Change, in core: inout ShardCore) {
        switch change {
        case .nothing: break
        case .stopped: core.memory.counters.audiencesPaused += 1
        case .counted(let step): core.memory.counters.membersPaused += step
        case .wentOn(let waitingCount):
            core.memory.counters.audiencesPaused -= 1
            core.memory.counters.membersPaused -= waitingCount
        }
    }

    // MARK: In state
    /// Prefix of the key `h/<bundle id>/<audience id>` of a pause's record. A key without an audience id stands for
    /// all audiences of the app.
    static var pauseKeyPrefix: StaticString { "h/" }
    /// The audience or app that a key names; `nil`: the key is of another kind, or of an app that is no longer
    /// configured.
    func pauseKey(ofState key: Span<UInt8>, partition: PartitionIndex, in core: borrowing ShardCore) -> PauseTable.Key?
    {
        guard key.count > 2, key[0] == UInt8(ascii: "h"), key[1] == UInt8(ascii: "/") else { return nil }
        for app in core.memory.configuration.apps.indices {
            let bundleID = core.intake.bundleID(app: UInt16(app))
            let end = 2 + bundleID.count
            guard key.count > end, key[end] == UInt8(ascii: "/"),
                key.extracting(2..<end).holdsSameBytes(as: bundleID.span)
            else { continue }
            var audience: [UInt8] = []
            audience.append(copying: key.extracting((end + 1)..<key.count))
            return PauseTable.Key(partition: partition, app: UInt16(app), audience: audience)
        }
        return nil
    }
    /// Restores a pause from its record.
    /// - Returns: the result; `nil`: the record was written by an owner that had already lost the partition.
    mutating func restorePause(
        key: Span<UInt8>, reader: inout StateReader, partition: PartitionIndex, in core: inout ShardCore
    ) throws(StateError) -> RestoreResult? {
        let pause = try PausedRecord(&reader)
        guard let key = self.pauseKey(ofState: key, partition: partition, in: core) else { return .ignored }
        guard core.memory.isBelieved(pause.epoch, partition: partition) else { return nil }
        core.pauses.set(key, sinceMillis: pause.sinceMillis)
        return .restored
    }
    /// Repairs another writer's record of a pause, found in a gap.
    /// - Returns: what was done; `nil`: the record is not about a pause, or its app is not configured.
    mutating func repairPause(partition: PartitionIndex, key: Span<UInt8>, in core: inout ShardCore) -> StateRepair? {
        guard let pauseKey = self.pauseKey(ofState: key, partition: partition, in: core) else { return nil }
        core.memory.counters.stateRecordsForeign += 1
        let since = core.pauses[pauseKey]
        core.journal.writePause(pauseKey, sinceMillis: since, entry: .none, in: &core.memory)
        return since == nil ? .removed : .overwritten
    }
}

extension Journal {
    /// Writes a pause, or its end.
    /// - Parameters:
    ///   - sinceMillis: start of the pause; `nil`: the pause is over or forgotten.
    ///   - entry: settled once Kafka has the record.
    mutating func writePause(
        _ pause: PauseTable.Key, sinceMillis: Int64?, entry: EntryID, in memory: inout ShardMemory
    ) {
        let keyStart = self.batch.bytes.count
        self.batch.bytes.append(utf8: FanOut.pauseKeyPrefix)
        self.batch.bytes.append(contentsOf: memory.configuration.apps[Int(pause.app)].bundleID.utf8)
        self.batch.bytes.append(UInt8(ascii: "/"))
        self.batch.bytes.append(contentsOf: pause.audience)
        let key = keyStart..<self.batch.bytes.count
        guard let sinceMillis else {
            return self.writeTombstone(key: key, of: pause.partition, entry: entry, in: &memory)
        }
        let record = PausedRecord(epoch: memory.partitions[pause.partition].epoch, sinceMillis: sinceMillis)
        let value = self.appendValue { record.write(to: &$0) }
        memory.counters.stateRecords += 1
        self.batch.append(
            .state, partition: memory.partitions[pause.partition].number, key: key,
            value: value,
            acknowledgement: self.open(.logState(entry), partition: pause.partition, in: &memory))
    }
}
