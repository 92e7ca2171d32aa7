import PushModel

/// What the owner of an audience has been told of one version, by partition, and when it says so in an `audience` record (fan-out contract: Member records).
struct RollUp {
    struct Told {
        var isFinished = false
        var counts = CrowdReport()
    }
    /// Versions of an audience that are summed; the oldest is given up. The newest that brought a start is kept beside them, and so are as many
    /// of what outlives a version.
    static let countMax = 4
    /// What is missing then is named.
    static let patienceMillis: Int64 = 60_000
    /// Once it is written, later reports are this often at most; and once more when the last partition has finished.
    static let rewriteMillis: Int64 = 60_000

    /// Of the slot, which another audience may have taken since.
    var generation: UInt32
    /// Older content that has had no round of its own: it goes to those whom a version that expires leaves unserved.
    var isOfOutliving = false
    /// The version: its event speaks for all that were merged into it.
    var version: Version
    var mergedCount: UInt32
    /// Partitions that were told, in ascending order.
    var asked: [Int32]
    /// By partition, those that asked later too.
    var told: [Int32: Told] = [:]
    /// Steady.
    var dueMillis: Int64
    var lastWriteMillis: Int64 = .min
    var wasComplete = false
    /// By partition, of the start that it brought first.
    var starts: [Int32: StartReport] = [:]
    /// When it was last written with all of those over, steady.
    var lastStartsMillis: Int64
    /// What became of it on the audience's channels.
    var broadcasts: [VersionBroadcast] = []
    /// Reasons for which APNs refused the message itself, and for which a dead letter was written.
    var letters: [String] = []

    init(of publication: AudienceBook.Publication, generation: UInt32, asked: [Int32], nowMillis: Int64) {
        self.generation = generation
        self.version = publication.version
        self.mergedCount = publication.mergedCount
        self.asked = asked
        self.lastStartsMillis = nowMillis - Self.rewriteMillis
        self.dueMillis = asked.isEmpty ? nowMillis : nowMillis + Self.patienceMillis
    }

    /// The start that it carries began with it.
    private var bringsStart: Bool { self.version.starts.contains { $0.stampSeconds == self.version.stampSeconds } }
    /// Of content that outlives a version, and of which nobody may ever tell: nothing is due before somebody does.
    init(ofOutliving version: Version, generation: UInt32, nowMillis: Int64) {
        var publication = AudienceBook.Publication()
        publication.version = version
        self.init(of: publication, generation: generation, asked: [], nowMillis: nowMillis)
        self.isOfOutliving = true
        self.dueMillis = .max
    }

    /// Which of an audience's versions is given up first; `nil`: there is room for all.
    static func indexToGiveUp(in rollUps: [RollUp]) -> Int? {
        let outliving = rollUps.indices.filter { rollUps[$0].isOfOutliving }
        if outliving.count > Self.countMax { return outliving.first }
        let versions = rollUps.indices.filter { !rollUps[$0].isOfOutliving }
        guard versions.count > Self.countMax else { return nil }
        // A start goes round for minutes, while a new version may come every second.
        guard versions.last(where: { rollUps[$0].bringsStart }) == versions.first else { return versions.first }
        return versions.count > Self.countMax + 1 ? versions[1] : nil
    }
    /// Every partition that was told has finished.
    var isComplete: Bool { self.asked.allSatisfy { self.told[$0]?.isFinished ?? false } }
    /// Partitions of which nothing has come.
    var missing: [Int32] { self.asked.filter { self.told[$0] == nil } }
    /// Partitions that have members it is still owed to.
    var unfinished: [Int32] { self.told.filter { !$0.value.isFinished }.keys.sorted() }
    var sum: CrowdReport {
        var sum = CrowdReport()
        sum.stampSeconds = self.version.stampSeconds
        for told in self.told.values { sum.add(told.counts) }
        sum.refusals.sort()
        return sum
    }

    /// A partition's report replaces its former one.
    mutating func take(_ report: BusRecord.Report, nowMillis: Int64) {
        // Whoever says that it was due to nobody, where it was to some, has not counted them.
        let former = report.counts.counts.due == 0 ? self.told[report.partition]?.counts : nil
        self.told[report.partition] = Told(isFinished: report.isFinished, counts: former ?? report.counts)
        if self.isComplete, !self.wasComplete {
            self.dueMillis = nowMillis
        } else if self.lastWriteMillis != .min {
            self.dueMillis = min(self.dueMillis, max(nowMillis, self.lastWriteMillis + Self.rewriteMillis))
        }
    }
    mutating func written(nowMillis: Int64) {
        self.wasComplete = self.isComplete
        self.lastWriteMillis = nowMillis
        if !self.starts.isEmpty, self.starts.values.allSatisfy({ $0.waitingCount == 0 }) {
            self.lastStartsMillis = nowMillis
        }
        self.dueMillis = .max
    }
}

/// Versions of audiences, summed by their owner.
extension ShardEngine {
    /// Whoever takes the audience over asks its partitions once more how far they are.
    func isRecent(_ publication: AudienceBook.Publication, now: EngineTime) -> Bool {
        now.wallMillis - publication.version.layer.recordMillis < Self.toldAnewMillis
    }
    /// A version is about to be told.
    mutating func beginRollUp(
        of publication: AudienceBook.Publication, slot: SlotID, asked: [Int32], now: EngineTime
    ) {
        let generation = self.memory.slots[slot].generation
        var rollUps = (self.audiences.rollUps[slot] ?? []).filter { $0.generation == generation }
        guard
            !rollUps.contains(where: {
                ($0.version.life, $0.version.stampSeconds)
                    == (publication.version.life, publication.version.stampSeconds)
            })
        else { return }
        // What was a version itself has been summed as one.
        let former = rollUps.map(\.version.stampSeconds).max() ?? .min
        for version in publication.fallbacks
        where version.life == publication.version.life && version.stampSeconds > former {
            rollUps.append(RollUp(ofOutliving: version, generation: generation, nowMillis: now.steadyMillis))
        }
        var rollUp = RollUp(of: publication, generation: generation, asked: asked, nowMillis: now.steadyMillis)
        rollUp.beginBroadcasts(on: self.memory.books[slot]?.channels.all ?? [])
        rollUps.append(rollUp)
        while let index = RollUp.indexToGiveUp(in: rollUps) {
            let oldest = rollUps.remove(at: index)
            if oldest.dueMillis != .max { self.journal.recordRollUp(oldest, of: slot, in: &self.memory) }
        }
        self.audiences.rollUps[slot] = rollUps
        self.scheduleRollUps(slot)
    }
    /// A partition tells how far it is with a version.
    mutating func rollUp(_ report: BusRecord.Report, slot: SlotID, now: EngineTime) {
        guard
            let index = self.audiences.rollUps[slot]?.firstIndex(where: {
                $0.generation == self.memory.slots[slot].generation && $0.version.life == report.life
                    && $0.version.stampSeconds == report.counts.stampSeconds
            })
        else { return }
        self.audiences.rollUps[slot]?[index].take(report, nowMillis: now.steadyMillis)
        self.writeLetters(report.counts, slot: slot, index: index)
        self.scheduleRollUps(slot)
    }
    /// A message that APNs refuses is handed back once for each reason, however many members it was for.
    private mutating func writeLetters(_ counts: CrowdReport, slot: SlotID, index: Int) {
        for refusal in counts.refusals.all where refusal.isOfMessage {
            guard let rollUp = self.audiences.rollUps[slot]?[index], !rollUp.letters.contains(refusal.reason),
                rollUp.letters.count < RefusalCounts.reasonsMax
            else { continue }
            self.audiences.rollUps[slot]?[index].letters.append(refusal.reason)
            var details = OutcomeDetails()
            details.status = refusal.status
            details.reason = refusal.reason
            self.journal.deadLetter(rollUp.version.layer, of: slot, details: details, in: &self.memory)
        }
    }
    mutating func scheduleRollUps(_ slot: SlotID) {
        let due = self.audiences.rollUps[slot]?.map(\.dueMillis).min() ?? .max
        if due == .max {
            self.audiences.rollUpDeadlines.remove(slot)
        } else {
            self.audiences.rollUpDeadlines.set(due, for: slot)
        }
    }
    /// Writes the `audience` records that are due.
    mutating func advanceRollUps(now: EngineTime) {
        while let slot = self.audiences.rollUpDeadlines.popDue(nowMillis: now.steadyMillis) {
            guard let count = self.audiences.rollUps[slot]?.count, self.memory.slots[slot].isLive else { continue }
            guard self.memory.partitions[self.memory.slots[slot].partition].sends else { continue }
            for index in 0..<count {
                guard let rollUp = self.audiences.rollUps[slot]?[index], rollUp.dueMillis <= now.steadyMillis else {
                    continue
                }
                self.journal.recordRollUp(rollUp, of: slot, in: &self.memory)
                self.audiences.rollUps[slot]?[index].written(nowMillis: now.steadyMillis)
            }
            self.scheduleRollUps(slot)
        }
    }
    /// The slot leaves memory.
    mutating func forgetRollUps(_ slot: SlotID) {
        guard self.audiences.rollUps.removeValue(forKey: slot) != nil else { return }
        self.audiences.rollUpDeadlines.remove(slot)
    }
}
