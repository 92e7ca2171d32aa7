import APNSProtocol
import PushModel

/// What partitions have reported on one version to its audience's owner, and when these reports are written in an
/// `audience` record (fan-out contract: Member records).
struct RollUp {
    struct Reported {
        var isFinished = false
        var counts = CrowdReport()
    }
    /// How long the first record waits for reports, milliseconds. After that it names the partitions that have not
    /// reported.
    static let patienceMillis: Int64 = 60_000
    /// The least time from one record of a version to the next, milliseconds. It may be less once all
    /// partitions have finished with the version or its start, or APNs has accepted the version on a channel.
    static let rewriteMillis: Int64 = 60_000
    /// How long a record waits for the next partition while partitions ask one after the other, milliseconds.
    static let askingMillis: Int64 = 1_000

    /// Whether `version` is older content without a round of its own. It goes to members that an expiring version has
    /// not reached.
    let isOfOutliving: Bool
    /// The version. Its event stands for all events that were merged into the version.
    private(set) var version: Version
    let mergedCount: UInt32
    /// The partitions that were sent the version, in ascending order; none if `isOfOutliving`.
    private(set) var asked: [Int32]
    /// Time of the last question that came after the version had been sent (steady clock).
    private var lastAskedMillis: Int64 = .min
    /// The last report of each partition that has reported, even if the partition is not in `asked`.
    private(set) var reported: [Int32: Reported] = [:]
    /// When the record is due (steady clock); `Int64.max`: there is nothing new.
    private(set) var dueMillis: Int64
    private var lastWriteMillis: Int64 = .min
    private var wasComplete = false
    /// Each partition's report on the start that the version was the first to carry.
    private(set) var starts: [Int32: StartReport] = [:]
    /// When a record was last written while no member waited for the start any longer (steady clock).
    private var lastStartsMillis: Int64
    /// What became of the version on the audience's channels.
    private(set) var broadcasts: [VersionBroadcast] = []
    /// APNs' reasons for refusing the message itself. There is a dead letter for each.
    private var letters: [String] = []

    /// Begins the roll-up of a version.
    /// - Parameter channels: the audience's channels. After a takeover they say whether the former owner has had the
    ///   version accepted.
    init(
        of publication: AudienceOwner.Publication, asked: [Int32], channels: [AudienceChannels.Channel],
        nowMillis: Int64
    ) {
        self.isOfOutliving = false
        self.version = publication.version
        self.mergedCount = publication.mergedCount
        self.asked = asked
        self.lastStartsMillis = nowMillis - Self.rewriteMillis
        // A partition with members may not have asked yet. If it asks within this time, the first record includes it.
        self.dueMillis = nowMillis + Self.patienceMillis
        self.broadcasts = self.version.channels.filter { declared in
            declared.serves || channels.contains { $0.id == declared.id && $0.isCatchingUp }
        }.map { declared in
            var broadcast = VersionBroadcast(environment: declared.environment, channel: declared.id)
            broadcast.isAccepted = channels.contains {
                $0.id == declared.id && $0.takenStampSeconds == publication.version.stampSeconds
            }
            return broadcast
        }
    }
    /// Begins the roll-up of older content that expires later than a version. Perhaps nobody will report on it, so
    /// nothing is due before a report arrives.
    init(ofOutliving version: Version, nowMillis: Int64) {
        self.isOfOutliving = true
        self.version = version
        self.mergedCount = 1
        self.asked = []
        self.lastStartsMillis = nowMillis - Self.rewriteMillis
        self.dueMillis = .max
    }

    /// Whether the version is the first that carries its start.
    var bringsStart: Bool { self.version.starts.contains { $0.stampSeconds == self.version.stampSeconds } }
    func isOf(life: Int64, stampSeconds: Int64) -> Bool {
        (self.version.life, self.version.stampSeconds) == (life, stampSeconds)
    }
    /// Whether every partition of `asked` has finished.
    var isComplete: Bool { self.asked.allSatisfy { self.reported[$0]?.isFinished ?? false } }
    /// The partitions that have reported nothing yet.
    var missing: [Int32] { self.asked.filter { self.reported[$0] == nil } }
    /// The partitions that have reported, and whose members are not all done with the version.
    var unfinished: [Int32] { self.reported.filter { !$0.value.isFinished }.keys.sorted() }
    var sum: CrowdReport {
        var sum = CrowdReport()
        sum.stampSeconds = self.version.stampSeconds
        for reported in self.reported.values { sum.add(reported.counts) }
        sum.refusals.sort()
        return sum
    }
    /// The sum of all reports on the start; `nil`: there is no start, or no report on it.
    var startSum: StartReport? {
        guard !self.starts.isEmpty else { return nil }
        var sum = StartReport()
        for report in self.starts.values { sum.add(report) }
        sum.refusals.sort()
        return sum
    }
    private var areStartsOver: Bool { self.starts.values.allSatisfy { $0.waitingCount == 0 } }

    // MARK: What happens

    /// Adds a partition that asked after the version had been sent, and is sent the version now. A record that was
    /// written before does not include this partition.
    mutating func ask(_ partition: Int32, nowMillis: Int64) {
        guard self.reported[partition] == nil, !self.asked.contains(partition) else { return }
        self.asked.append(partition)
        self.asked.sort()
        self.lastAskedMillis = nowMillis
        self.wasComplete = false
        self.dueMillis = min(self.dueMillis, nowMillis + Self.patienceMillis)
    }
    /// Takes a partition's report, which replaces its earlier one.
    mutating func take(_ report: BusRecord.Report, nowMillis: Int64) {
        // If a partition first reported members to whom the version was due, and now reports none, the earlier counts
        // remain.
        let former = report.counts.counts.due == 0 ? self.reported[report.partition]?.counts : nil
        self.reported[report.partition] = Reported(isFinished: report.isFinished, counts: former ?? report.counts)
        if self.isComplete, !self.wasComplete {
            self.dueMillis = max(nowMillis, self.lastAskedMillis + Self.askingMillis)
        } else if self.lastWriteMillis != .min {
            self.dueMillis = min(self.dueMillis, max(nowMillis, self.lastWriteMillis + Self.rewriteMillis))
        }
    }
    /// Takes a partition's report on the version's start, which replaces its earlier one.
    mutating func take(_ report: StartReport, from partition: Int32, nowMillis: Int64) {
        self.starts[partition] = report
        // The first record waits until all partitions have finished with the version, or for `patienceMillis`.
        guard self.lastWriteMillis != .min else { return }
        let last = self.areStartsOver ? self.lastStartsMillis : self.lastWriteMillis
        self.dueMillis = min(self.dueMillis, max(nowMillis, last + Self.rewriteMillis))
    }
    /// Decides whether a refusal needs a dead letter. Only a refusal of the message itself does, and only the first
    /// with its reason.
    /// - Returns: whether to write a dead letter.
    mutating func handsBack(_ refusal: RefusalCounts.Refusal) -> Bool {
        guard refusal.isOfMessage, !self.letters.contains(refusal.reason),
            self.letters.count < RefusalCounts.reasonsMax
        else { return false }
        self.letters.append(refusal.reason)
        return true
    }
    /// Takes the result of a broadcast of the version; the answer may have been lost.
    /// - Parameter channel: the channel of the broadcast.
    mutating func take(_ result: PushAnswer.Result, on channel: [UInt8], nowMillis: Int64) {
        guard let index = self.broadcasts.firstIndex(where: { $0.channel == channel }) else { return }
        let wasAccepted = self.broadcasts[index].isAccepted
        guard self.broadcasts[index].take(result), self.lastWriteMillis != .min else { return }
        // The record that was written last does not include this result.
        let isNews = self.broadcasts[index].isAccepted != wasAccepted
        self.dueMillis = min(
            self.dueMillis, isNews ? nowMillis : max(nowMillis, self.lastWriteMillis + Self.rewriteMillis))
    }
    /// Moves the version to another life. The version must not have been sent to any partition.
    mutating func enterLife(_ life: Int64) { self.version.enterLife(life) }
    /// Remembers when the record was written, and whether it was complete.
    mutating func written(nowMillis: Int64) {
        self.wasComplete = self.isComplete
        self.lastWriteMillis = nowMillis
        if !self.starts.isEmpty, self.areStartsOver { self.lastStartsMillis = nowMillis }
        self.dueMillis = .max
    }
}

/// What partitions have reported to the owner of an audience on its newest versions, the oldest first.
struct RollUps {
    /// Maximum number of versions of an audience whose reports are summed; beyond it the oldest is dropped. The newest
    /// version that brought a start is kept in addition. The maximum also applies, separately, to roll-ups of older
    /// content that expires later.
    static let countMax = 4
    private(set) var all: [RollUp] = []

    /// When the first roll-up has a record to write (steady clock); `Int64.max`: none has.
    var nextMillis: Int64 { self.all.map(\.dueMillis).min() ?? .max }
    /// Whether the version has a roll-up here that is not complete.
    func isIncomplete(stampSeconds: Int64) -> Bool {
        self.all.last { $0.version.stampSeconds == stampSeconds }.map { !$0.isComplete } ?? false
    }

    /// Begins the roll-up of a version that is about to be sent to partitions.
    mutating func begin(
        _ publication: AudienceOwner.Publication, asked: [Int32], channels: [AudienceChannels.Channel],
        nowMillis: Int64, into effects: inout OwnerEffects
    ) {
        let version = publication.version
        guard !self.all.contains(where: { $0.isOf(life: version.life, stampSeconds: version.stampSeconds) }) else {
            return
        }
        // Older content that was once a version of its own has a roll-up already.
        let former = self.all.map(\.version.stampSeconds).max() ?? .min
        for older in publication.fallbacks where older.life == version.life && older.stampSeconds > former {
            self.all.append(RollUp(ofOutliving: older, nowMillis: nowMillis))
        }
        self.all.append(RollUp(of: publication, asked: asked, channels: channels, nowMillis: nowMillis))
        while let index = self.indexToGiveUp {
            let oldest = self.all.remove(at: index)
            if oldest.dueMillis != .max { effects.append(.record(oldest)) }
        }
        effects.append(.scheduleRollUps)
    }
    /// The index of the roll-up that is given up first; `nil`: there is room for all.
    private var indexToGiveUp: Int? {
        let outliving = self.all.indices.filter { self.all[$0].isOfOutliving }
        if outliving.count > Self.countMax { return outliving.first }
        let versions = self.all.indices.filter { !self.all[$0].isOfOutliving }
        guard versions.count > Self.countMax else { return nil }
        // The newest version that brings a start is kept longer: a start goes round for minutes, while a new version
        // may arrive every second.
        guard versions.last(where: { self.all[$0].bringsStart }) == versions.first else { return versions.first }
        return versions.count > Self.countMax + 1 ? versions[1] : nil
    }
    /// Adds a partition that has asked, and is sent the newest version.
    mutating func ask(
        _ partition: Int32, life: Int64, stampSeconds: Int64, nowMillis: Int64, into effects: inout OwnerEffects
    ) {
        guard let index = self.index(life: life, stampSeconds: stampSeconds), !self.all[index].isOfOutliving else {
            return
        }
        self.all[index].ask(partition, nowMillis: nowMillis)
        effects.append(.scheduleRollUps)
    }
    /// Takes a partition's report.
    mutating func take(_ report: BusRecord.Report, nowMillis: Int64, into effects: inout OwnerEffects) {
        if let starts = report.starts {
            guard let index = self.index(life: starts.life, stampSeconds: starts.stampSeconds) else { return }
            self.all[index].take(starts, from: report.partition, nowMillis: nowMillis)
        } else {
            guard let index = self.index(life: report.life, stampSeconds: report.counts.stampSeconds) else { return }
            self.all[index].take(report, nowMillis: nowMillis)
            for refusal in report.counts.refusals.all where self.all[index].handsBack(refusal) {
                var details = OutcomeDetails()
                details.status = refusal.status
                details.reason = refusal.reason
                effects.append(.deadLetter(self.all[index].version.layer, details))
            }
        }
        effects.append(.scheduleRollUps)
    }
    private func index(life: Int64, stampSeconds: Int64) -> Int? {
        self.all.firstIndex { $0.isOf(life: life, stampSeconds: stampSeconds) }
    }
    /// Takes the result of a broadcast of the version; the answer may have been lost.
    mutating func take(
        _ result: PushAnswer.Result, on channel: [UInt8], stampSeconds: Int64, nowMillis: Int64,
        into effects: inout OwnerEffects
    ) {
        guard let index = self.all.firstIndex(where: { $0.version.stampSeconds == stampSeconds }) else { return }
        self.all[index].take(result, on: channel, nowMillis: nowMillis)
        effects.append(.scheduleRollUps)
    }
    /// Moves versions of one life to another. These versions must not have been sent to any partition.
    mutating func enterLife(_ life: Int64, from former: Int64) {
        for index in self.all.indices where self.all[index].version.life == former { self.all[index].enterLife(life) }
    }
    /// Writes the records that are due.
    mutating func timePassed(nowMillis: Int64, into effects: inout OwnerEffects) {
        for index in self.all.indices where self.all[index].dueMillis <= nowMillis {
            effects.append(.record(self.all[index]))
            self.all[index].written(nowMillis: nowMillis)
        }
        effects.append(.scheduleRollUps)
    }
}
