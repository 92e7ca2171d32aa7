import PushModel

/// The record that stops the pushes to members of an audience, or of all audiences of an app, or lets them continue. It
/// is written to every partition of the routed topic. Each partition obeys for its own members, even if it does not own
/// the audience, and remembers it in `state`.
public enum PauseRecord {
    /// - Parameters:
    ///   - bundleID: bundle identifier of the app.
    ///   - audience: id of the audience; `nil`: all of the app.
    ///   - isPaused: `false`: pushes go on.
    /// - Returns: key and value of a record whose header `RecordHeader.kind` is that of `RoutedKind.pause`.
    public static func make(
        bundleID: String, audience: String?, isPaused: Bool
    ) -> (key: [UInt8], value: [UInt8]) {
        let pause = BusRecord.Pause(
            bundleID: Array(bundleID.utf8), isOfApp: audience == nil, isPaused: isPaused)
        var (value, scratch): ([UInt8], [UInt8]) = ([], [])
        value.append(using: &scratch) {
            pause.write(to: &$0)
        }
        return (Array((audience ?? bundleID).utf8), value)
    }
}

/// Passes that an operator has stopped.
extension ShardEngine {
    /// Takes an operator's order. The last one that arrives in this partition counts.
    mutating func takePause(_ pause: BusRecord.Pause, key: Span<UInt8>, now: EngineTime) {
        guard let app = self.app(named: pause.bundleID), pause.isOfApp || (try? EventRules.checkKey(key)) != nil else {
            return
        }
        let partition = self.intake.partition
        var audience: [UInt8] = []
        if !pause.isOfApp { audience.append(copying: key) }
        let pauseKey = PauseTable.Key(partition: partition, app: app, audience: audience)
        guard !pause.isPaused || self.makeRoom(for: pauseKey) else { return }
        let entry = self.journal.ledger.open(
            log: self.intake.log, offset: self.intake.record.offset, settled: false)
        if pause.isPaused {
            self.audiences.pauses.set(pauseKey, sinceMillis: now.wallMillis)
        } else {
            self.audiences.pauses.remove(pauseKey)
        }
        self.journal.writePause(pauseKey, sinceMillis: self.audiences.pauses[pauseKey], entry: entry, in: &self.memory)
        for crowd in self.audiences.crowds.crowds(of: partition)
        where self.audiences.crowds[crowd].app == app
            && (pause.isOfApp || self.audiences.crowds[crowd].id == audience)
        {
            switch self.readPause(crowd) {
            case .stopped:
                self.withdrawStarts(crowd, now: now)
                self.endPassTraces(crowd, .paused)
            case .wentOn: self.resumePassTraces(crowd, now: now)
            case .nothing, .counted: break
            }
            self.schedule(crowd, now: now)
        }
    }
    /// Makes room for a pause. If there are too many, the first to go are audiences without a member in this partition,
    /// in the order in which they were paused.
    /// - Returns: `false`: all remembered pauses are of audiences with members here; this audience is not paused.
    private mutating func makeRoom(for pause: PauseTable.Key) -> Bool {
        guard !self.audiences.pauses.hasRoom(for: pause) else { return true }
        self.memory.counters.pausesDropped += 1
        let references = Set(
            self.audiences.crowds.crowds(of: pause.partition).map { self.audiences.crowds[$0].reference })
        let idle = self.audiences.pauses.oldest(of: pause.partition) { key in
            !references.contains(
                CrowdTable.reference(bundleID: self.intake.bundleID(app: key.app).span, id: key.audience.span))
        }
        guard let idle else { return false }
        self.audiences.pauses.remove(idle)
        self.journal.writePause(idle, sinceMillis: nil, entry: .none, in: &self.memory)
        return true
    }
    /// Reads what operators have said about the crowd's audience, and its app.
    @discardableResult mutating func readPause(_ crowd: CrowdID) -> CrowdPause.Change {
        let change = self.audiences.crowds[crowd].readPause(in: self.audiences.pauses)
        self.count(change)
        return change
    }
    /// Counts members that wait because of a pause apart from the others.
    @inline(__always) mutating func countPaused(_ crowd: CrowdID) {
        self.count(self.audiences.crowds[crowd].countPaused())
    }
    /// Takes the crowd out of every gauge: it leaves memory, or its audience is over.
    mutating func uncount(_ crowd: CrowdID) {
        self.count(self.audiences.crowds[crowd].leavesPause())
        self.memory.counters.membersRefused -= self.audiences.crowds[crowd].refusedCount
    }
    @inline(__always) private mutating func count(_ change: CrowdPause.Change) {
        switch change {
        case .nothing: break
        case .stopped: self.memory.counters.audiencesPaused += 1
        case .counted(let step): self.memory.counters.membersPaused += step
        case .wentOn(let waitingCount):
            self.memory.counters.audiencesPaused -= 1
            self.memory.counters.membersPaused -= waitingCount
        }
    }

    // MARK: In state
    /// Beginning of the key `h/<bundle id>/<audience id>`; without an audience id, it means all of the app.
    static var pauseKeyPrefix: StaticString { "h/" }
    /// The audience or app that a key names; `nil`: the key is of another kind, or of an app that is no longer
    /// configured.
    func pauseKey(ofState key: Span<UInt8>, partition: PartitionIndex) -> PauseTable.Key? {
        guard key.count > 2, key[0] == UInt8(ascii: "h"), key[1] == UInt8(ascii: "/") else { return nil }
        for app in self.memory.configuration.apps.indices {
            let bundleID = self.intake.bundleID(app: UInt16(app))
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
    /// - Returns: `nil`: it was written by an owner that had already lost the partition.
    mutating func restorePause(
        key: Span<UInt8>, reader: inout StateReader, partition: PartitionIndex
    ) throws(StateError) -> RestoreResult? {
        let pause = try PausedRecord(&reader)
        guard let key = self.pauseKey(ofState: key, partition: partition) else { return .ignored }
        guard self.memory.isBelieved(pause.epoch, partition: partition) else { return nil }
        self.audiences.pauses.set(key, sinceMillis: pause.sinceMillis)
        return .restored
    }
    /// Repairs a record that another has written about a pause, found in a gap.
    /// - Returns: `nil`: it is about something else.
    mutating func repairPause(partition: PartitionIndex, key: Span<UInt8>) -> StateRepair? {
        guard let pauseKey = self.pauseKey(ofState: key, partition: partition) else { return nil }
        self.memory.counters.stateRecordsForeign += 1
        let since = self.audiences.pauses[pauseKey]
        self.journal.writePause(pauseKey, sinceMillis: since, entry: .none, in: &self.memory)
        return since == nil ? .removed : .overwritten
    }
}

extension Journal {
    /// - Parameters:
    ///   - sinceMillis: start of the pause; `nil`: it is no longer paused.
    ///   - entry: settled once Kafka has the record.
    mutating func writePause(
        _ pause: PauseTable.Key, sinceMillis: Int64?, entry: EntryID, in memory: inout ShardMemory
    ) {
        let keyStart = self.batch.bytes.count
        self.batch.bytes.append(utf8: ShardEngine.pauseKeyPrefix)
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
