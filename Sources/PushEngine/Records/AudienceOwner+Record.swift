import PushModel

/// Writes and reads the book of an audience's owner, at the end of the audience's record.
extension AudienceOwner {
    private static let askedMax = 1_000_000
    private static let publicationsReadMax = 16

    func write(topicHashes: [UInt32], now: EngineTime, to writer: inout ByteCursor) {
        writer.signed(self.life)
        writer.signed(self.startsUntilSeconds)
        writer.byte(self.waitingStarts.isEmpty ? 0 : 1)
        self.waitingStarts.first?.write(topicHashes: topicHashes, to: &writer)
        writer.unsigned(UInt64(self.asked.count))
        for partition in self.asked {
            writer.signed(Int64(partition))
            writer.signed(self.reported[partition] ?? 0)
        }
        self.budget.ledger.write(now: now, to: &writer)
        self.budget.frequentLedger.write(now: now, to: &writer)
        writer.unsigned(UInt64(self.publications.count))
        for publication in self.publications { publication.write(topicHashes: topicHashes, to: &writer) }
        // Most records end here, because most audiences have no channels.
        guard !self.channels.isBlank else { return }
        writer.run { self.channels.write(topicHashes: topicHashes, to: &$0) }
    }
    init(_ reader: inout StateReader, topicHashes: [UInt32], now: EngineTime) throws(StateError) {
        let life = try StateCodec.readSeconds(&reader)
        let startsUntilSeconds = try StateCodec.readSeconds(&reader)
        let starts = try reader.byte()
        guard starts < 2 else { throw .malformed("\(starts) starts wait") }
        let waitingStart =
            starts == 1 ? try StartOrder(&reader, life: 0, topicHashes: topicHashes, now: now) : nil
        var asked: [(partition: Int32, doneStampSeconds: Int64)] = []
        for _ in 0..<(try reader.count(atMost: Self.askedMax, "partitions")) {
            asked.append((try StateCodec.readPartition(&reader), try StateCodec.readSeconds(&reader)))
        }
        let ledger = try VersionLedger(&reader, now: now)
        let budget = AudienceBudget(ledger: ledger, frequentLedger: try VersionLedger(&reader, now: now))
        var publications: [Publication] = []
        for _ in 0..<(try reader.count(atMost: Self.publicationsReadMax, "publications")) {
            publications.append(try Publication(&reader, topicHashes: topicHashes, now: now))
        }
        var channels = AudienceChannels()
        if !reader.isAtEnd {
            let bytes = try reader.run(byteCountMax: Version.channelsByteCountMax)
            var run = StateReader(bytes.span)
            channels = try AudienceChannels(&run, topicHashes: topicHashes, now: now)
        }
        self.init(
            life: life, startsUntilSeconds: startsUntilSeconds, waitingStart: waitingStart, asked: asked,
            budget: budget, publications: publications, channels: channels)
    }

    var described: StateRecordDescription.Book {
        .init(
            audienceLife: self.life,
            partitions: self.asked.map { .init(partition: $0, doneStampSeconds: self.reported[$0] ?? 0) },
            versions: self.publications.map(\.described), budgetUnitsOut: self.budget.ledger.count,
            frequentBudgetUnitsOut: self.budget.frequentLedger.count, channels: self.channels.all.map(\.described))
    }
}

extension AudienceOwner.Publication {
    func write(topicHashes: [UInt32], to writer: inout ByteCursor) {
        writer.byte(self.isOpen ? 1 : 0)
        writer.unsigned(UInt64(self.mergedCount))
        Version.write(self.versions, topicHashes: topicHashes, to: &writer)
    }
    init(_ reader: inout StateReader, topicHashes: [UInt32], now: EngineTime) throws(StateError) {
        let isOpen = try reader.byte() != 0
        let mergedCount = UInt32(try reader.count(atMost: StateCodec.mergedCountMax, "merged events"))
        var fallbacks = try Version.read(&reader, topicHashes: topicHashes, now: now)
        guard let newest = fallbacks.popLast() else { throw .malformed("a publication of nothing") }
        self.init(version: newest, fallbacks: fallbacks, status: isOpen ? .sent : .done, mergedCount: mergedCount)
    }

    var described: StateRecordDescription.Book.Version {
        .init(
            stampSeconds: self.version.stampSeconds, isOpen: self.isOpen, event: "\(self.version.kind)",
            mergedCount: Int(self.mergedCount))
    }
}

extension VersionLedger {
    func write(now: EngineTime, to writer: inout ByteCursor) {
        writer.unsigned(UInt64(self.open.count))
        for stamp in self.open { writer.signed(stamp) }
        writer.unsigned(UInt64(self.returning.count))
        for time in self.returning { writer.signed(now.wallMillis - (now.steadyMillis - time)) }
    }
    init(_ reader: inout StateReader, now: EngineTime) throws(StateError) {
        var (open, ages): ([Int64], [Int64]) = ([], [])
        for _ in 0..<(try reader.count(atMost: SlotRecord.budgetUnitsMax, "budget units")) {
            open.append(try StateCodec.readSeconds(&reader))
        }
        for _ in 0..<(try reader.count(atMost: SlotRecord.budgetUnitsMax, "budget units")) {
            ages.append(now.wallMillis - (try StateCodec.readMillis(&reader)))
        }
        self.restore(open: open, ages: ages, nowMillis: now.steadyMillis)
    }
    /// Number of units that are out, as of the ledger's last update.
    fileprivate var count: Int { self.open.count + self.returning.count }
}
