import APNSProtocol
import ChannelKeeping
import PushModel

/// The owner of an audience (fan-out contract: Owner and versions). It knows which partitions have asked, which
/// versions are on their way to them, what they report, and the audience's channels.
///
/// It only decides: it knows neither slots nor Kafka. It has one method for each thing that can happen, and appends
/// what has to be done to the effects that are passed in. In `state` it is the *book*, a part of the slot's record.
struct AudienceOwner {
    /// What became of the start that waited when a version was made.
    enum StartEffect { case nothing, leaves, expired }
    /// What follows from a broadcast's answer.
    enum BroadcastEffect: Equatable {
        /// The broadcast was not on one of the audience's present channels.
        case ignored
        case done
        /// The broadcast is tried again. The values are the number of earlier attempts, APNs' `retry-after`, and the
        /// least distance between throttled broadcasts in milliseconds.
        case goesAgain(attempt: UInt8, retryAfterSeconds: Int64?, distanceMillis: Int64)
    }
    /// Number of versions at which the next one waits, unless that is an end before a start. Only versions whose event
    /// has no outcome yet count. There are several if a partition of `routed` is slow.
    static let publicationsMax = 4
    /// Maximum number of versions beyond `publicationsMax`. Each of them is an end that must become a version before a
    /// later start.
    static let endsBeforeStartsMax = 4

    /// Number of the audience's life. It is at least the time when the life began, in seconds since 1970, and grows
    /// from life to life.
    private(set) var life: Int64 = 0
    /// Partitions that have asked for versions, in ascending order.
    private(set) var asked: [Int32] = []
    /// The versions on their way, the oldest first. The newest one stays, so that later questions can be answered.
    private(set) var publications: [Publication] = []
    var budget = AudienceBudget()
    /// For each partition that has reported: a stamp. The partition no longer sends versions up to this stamp with
    /// priority 10.
    private(set) var reported: [Int32: Int64] = [:]
    /// Time until which at least one partition keeps start members, seconds since 1970; 0: no partition does.
    private(set) var startsUntilSeconds: Int64 = 0
    /// A start that goes out with the next version: one element, or none.
    private(set) var waitingStarts: [StartOrder] = []
    var channels = AudienceChannels()
    /// The results reported for the audience's newest versions. They are not written down.
    var rollUps = RollUps()

    init() {}
    /// Restores the owner from a record of `state`.
    init(
        life: Int64 = 0, startsUntilSeconds: Int64 = 0, waitingStart: StartOrder? = nil,
        asked: [(partition: Int32, doneStampSeconds: Int64)] = [], budget: AudienceBudget = AudienceBudget(),
        publications: [Publication] = [], channels: AudienceChannels = AudienceChannels()
    ) {
        self.life = life
        self.startsUntilSeconds = startsUntilSeconds
        if let waitingStart { self.waitingStarts = [waitingStart] }
        self.asked = asked.map(\.partition)
        for one in asked where one.doneStampSeconds > 0 { self.reported[one.partition] = one.doneStampSeconds }
        self.budget = budget
        self.publications = publications
        self.channels = channels
    }

    /// Number of publications whose event has no outcome.
    var openCount: Int { self.publications.count { $0.isOpen } }
    /// The newest version that may be sent to partitions.
    var newest: Publication? { self.publications.last { $0.isDurable } }
    /// The newest version that has been made.
    var newestVersion: Version? { self.publications.last?.version }
    /// Whether a start goes out with the next version.
    var hasWaitingStart: Bool { !self.waitingStarts.isEmpty }

    // MARK: Lives

    /// Begins the life with the audience's first version or first channel, so that the records of both have the same
    /// life.
    private mutating func beginLife(now: EngineTime) {
        guard self.life == 0 else { return }
        self.life = self.channels.life == 0 ? max(1, now.wallSeconds) : self.channels.life
    }
    /// Remembers a partition that asks for versions.
    /// - Returns: whether it had not asked before.
    private mutating func ask(_ partition: Int32) -> Bool {
        guard !self.asked.contains(partition) else { return false }
        self.asked.append(partition)
        self.asked.sort()
        return true
    }
    /// Takes a partition's question.
    mutating func questionCame(
        _ question: BusRecord.Question, by rules: OwnerRules, now: EngineTime,
        into effects: inout OwnerEffects
    ) {
        let isFirst = self.asked.isEmpty
        let isKnown = !self.ask(question.partition)
        if self.publications.isEmpty {
            // If an `open` event has begun a life, the audience stays in that life, unless the asking partition knows
            // that life or a later one.
            let named = self.channels.life == 0 ? now.wallSeconds : self.channels.life
            self.life = max(self.life, question.life + 1, named)
        } else if question.life > self.life {
            // The clock has been set back since the previous life, or differs from the former owner's. The next version
            // gets a life that is newer than all that are known.
            let former = self.life
            self.life = question.life + 1
            if isFirst {
                // No partition has been sent the present versions, so they get the new life, too.
                for index in self.publications.indices { self.publications[index].enterLife(self.life) }
                self.rollUps.enterLife(self.life, from: former)
            }
        }
        self.startsUntilSeconds = max(self.startsUntilSeconds, question.startsUntilSeconds)
        self.add(environments: question.environments, by: rules, now: now, into: &effects)
        effects.append(.write)
        guard let newest = self.newest else { return }
        // The answer is the newest version, and older versions that expire later. A version keeps its alert if the
        // partition's newest member joined before the version's event. All versions keep their alerts while the newest
        // one is still on its way to partitions, because this answer may arrive first.
        let versions = newest.versions.map {
            var version = $0.answer(keepsAlert: newest.isOpen || question.hasMembers(before: $0))
            // Members that joined lately may have missed a broadcast that has left already.
            if !(newest.isOpen && isKnown) { version.leaveNothingToChannels() }
            // The asking partition knows a newer life that is over. It would take this version for one of an older
            // life, and ignore it. Other partitions keep what they were sent.
            if question.life > version.life { version.enterLife(self.life) }
            return version
        }
        effects.append(.answer(versions, to: question.partition))
        guard newest.version.life == self.life else { return }
        self.rollUps.ask(
            question.partition, life: self.life, stampSeconds: newest.version.stampSeconds,
            nowMillis: now.steadyMillis, into: &effects)
    }
    /// Takes a partition's report about a version or a start of this life.
    mutating func reportCame(_ report: BusRecord.Report, now: EngineTime, into effects: inout OwnerEffects) {
        // The partition serves members of this life, even if its question is not known here.
        if self.ask(report.partition) { effects.append(.write) }
        self.reported[report.partition] = max(self.reported[report.partition] ?? 0, report.doneStampSeconds)
        self.returnUnits(now: now)
        self.rollUps.take(report, nowMillis: now.steadyMillis, into: &effects)
    }
    /// Forgets the audience, because nothing has arrived for it for too long, or it has ended. Partitions that have
    /// asked are informed.
    mutating func forgotten(by rules: OwnerRules, into effects: inout OwnerEffects) {
        if let end = self.newestVersion, end.isEnd {
            self.reportEnds(end, by: rules, into: &effects)
        } else {
            for channel in self.channels.all {
                effects.append(.wish(.voided, channel.environment, life: self.channels.life, stateWaits: true))
            }
        }
        self.channels.giveUp()
        effects.append(.sendVoid(life: self.life, to: self.asked))
    }

    // MARK: Starts

    /// Keeps a start for the next version, in place of a start that waited before.
    mutating func startCame(_ order: StartOrder) { self.waitingStarts = [order] }
    /// Forgets the waiting start, because the audience's life is over, and nobody is started from here on.
    mutating func forgetStart() { self.waitingStarts = [] }
    /// Drops an unsent start that has expired, or whose waiting content is stale, to make room for another start.
    /// - Parameter staleSeconds: when the content that waits with the start becomes stale.
    /// - Returns: whether a start was dropped.
    mutating func dropExpiredStart(staleSeconds: Int64, now: EngineTime) -> Bool {
        guard let order = self.waitingStarts.first,
            order.isExpired(nowSeconds: now.wallSeconds) || staleSeconds <= now.wallSeconds
        else { return false }
        self.waitingStarts = []
        return true
    }
    /// Takes out the waiting start. It leaves with the version, unless it has expired, the version is stale, or the
    /// version is an end. After an end, a start begins a new life, and so does a version that is not an end.
    private mutating func takeStart(for offer: VersionOffer, now: EngineTime) -> (StartOrder?, StartEffect) {
        let order = self.waitingStarts.first
        self.waitingStarts = []
        if self.newestVersion?.isEnd == true, order != nil || !offer.isEnd {
            self.life = max(self.life + 1, now.wallSeconds)
        }
        // No start leaves with an end. A start that waits is dropped.
        guard let order, !offer.isEnd else { return (nil, .nothing) }
        // Update members get the waiting content, and the start would show this content too. So the content must not
        // be stale.
        guard !order.isExpired(nowSeconds: now.wallSeconds), offer.top.staleSeconds > now.wallSeconds else {
            return (nil, .expired)
        }
        return (order, .leaves)
    }

    // MARK: Versions

    /// Makes a version of what waits. The version gets its life, its channels and its priority here. Its priority does
    /// not change later.
    mutating func publish(
        _ offer: VersionOffer, by rules: OwnerRules, now: EngineTime,
        into effects: inout OwnerEffects
    ) -> StartEffect {
        self.beginLife(now: now)
        let (start, startEffect) = self.takeStart(for: offer, now: now)
        let beneath = offer.under.map { Version(life: self.life, stampSeconds: $0.stampSeconds, layer: $0.layer) }
        // Members that have not got this version when it expires get older versions that expire later.
        let older = (self.publications.last?.versions ?? []).filter { $0.life == self.life }
        let fallbacks = Version.outliving(offer.top.expiresSeconds, of: older + beneath)
        var version = Version(life: self.life, stampSeconds: offer.stampSeconds, layer: offer.top)
        version.withdrawsAlert = offer.withdrawsAlert
        if let start { version.begin(start) }
        if let former = self.newestVersion {
            version.bringAlong(contentOf: former)
            version.carry(startOf: former, nowSeconds: now.wallSeconds)
        }
        if offer.isHigh { self.budget.takeUnits(for: &version, by: rules, now: now) }
        self.declareChannels(on: &version, by: rules, now: now, into: &effects)
        self.publications.append(
            Publication(version: version, fallbacks: fallbacks, mergedCount: offer.mergedCount))
        self.dropDone()
        return startEffect
    }
    /// Drops the oldest publications while their event has its outcome and `state` has a newer publication.
    private mutating func dropDone() {
        while self.publications.count > 1, let first = self.publications.first, !first.isOpen,
            self.publications.dropFirst().contains(where: { $0.isDurable })
        {
            self.publications.removeFirst()
        }
    }
    /// Lets the present versions leave, because `state` has their record.
    mutating func stateWritten(now: EngineTime, into effects: inout OwnerEffects) {
        for index in self.publications.indices where !self.publications[index].isDurable {
            self.publications[index].stateWritten()
            self.sendFirst(index, now: now, into: &effects)
        }
        self.sendRevision(into: &effects)
        self.finish(into: &effects)
    }
    /// Takes the audience over from a former owner. Versions whose event has no outcome, and recent
    /// versions, are sent again unchanged. Partitions then report on these versions again.
    /// - Parameter sinceMillis: since when the former owner has sent nothing (steady clock).
    mutating func takenOver(
        sinceMillis: Int64, by rules: OwnerRules, now: EngineTime, into effects: inout OwnerEffects
    ) {
        if !self.channels.all.isEmpty {
            let newest = self.newest?.version.stampSeconds ?? 0
            for index in self.channels.all.indices {
                self.channels[index].takenOver(sinceMillis: sinceMillis, newestStampSeconds: newest, by: rules)
            }
            self.channels.revisionMayBeUnsent()
        }
        for index in self.publications.indices
        where self.publications[index].isOpen
            || now.wallMillis - self.publications[index].version.layer.recordMillis < CrowdReports.sentAnewMillis
        {
            self.sendFirst(index, now: now, into: &effects)
        }
        self.sendRevision(into: &effects)
        self.finish(into: &effects)
    }
    /// Sends a version for the first time, or for the first time after a takeover. Its reports are summed from here on.
    private mutating func sendFirst(_ index: Int, now: EngineTime, into effects: inout OwnerEffects) {
        self.rollUps.begin(
            self.publications[index], asked: self.asked, channels: self.channels.all, nowMillis: now.steadyMillis,
            into: &effects)
        self.send(index, into: &effects)
        if index == self.publications.count - 1 { self.channels.revisionIsSent() }
    }
    /// Sends partitions the newest version again, because its list of channels has changed.
    private mutating func sendRevision(into effects: inout OwnerEffects) {
        guard self.channels.isRevisionUnsent else { return }
        self.channels.revisionIsSent()
        guard let index = self.publications.lastIndex(where: { $0.isDurable }) else { return }
        self.send(index, into: &effects)
    }
    /// Sends a published version to every partition that has asked. Older versions that expire later go with it, in
    /// the order of stamps.
    private mutating func send(_ index: Int, into effects: inout OwnerEffects) {
        guard !self.asked.isEmpty else { return }
        self.publications[index].leaves(to: self.asked.count)
        effects.append(.send(self.publications[index].versions, to: self.asked))
    }
    /// Counts Kafka's acknowledgement of a version for one partition.
    /// - Parameter stampLow: the lower half of the version's stamp.
    mutating func versionAcknowledged(stampLow: UInt32, into effects: inout OwnerEffects) {
        guard
            let index = self.publications.firstIndex(where: {
                UInt32(truncatingIfNeeded: $0.version.stampSeconds) == stampLow
            })
        else { return }
        if self.publications[index].acknowledged() { self.finish(into: &effects) }
    }
    /// Finishes publications. When all partitions have a version, the version's event gets its outcome.
    private mutating func finish(into effects: inout OwnerEffects) {
        if self.leaveAlertsToTokens() { effects.append(.write) }
        var isChanged = false
        for index in self.publications.indices {
            guard self.publications[index].finishes() else { continue }
            isChanged = true
            var details = OutcomeDetails()
            details.versionStampSeconds = self.publications[index].version.stampSeconds
            details.mergedCount = self.publications[index].mergedCount
            effects.append(.fannedOut(self.publications[index].version.layer, details))
        }
        guard isChanged else { return }
        self.dropDone()
        effects.append(.write)
        effects.append(.reschedule)
    }
    /// Writes roll-ups that are due.
    mutating func timePassed(now: EngineTime, into effects: inout OwnerEffects) {
        self.rollUps.timePassed(nowMillis: now.steadyMillis, into: &effects)
    }
    /// Lets the ledgers' units return for versions that no partition and no channel sends with priority 10 any longer.
    mutating func returnUnits(now: EngineTime) {
        var done = self.asked.map { self.reported[$0] ?? 0 }.min() ?? .max
        if let newest = self.newestVersion { done = min(done, self.channels.doneStampSeconds(newest: newest)) }
        self.budget.startReturn(upTo: done, nowMillis: now.steadyMillis)
    }

    // MARK: Channels

    /// Takes an `open` event: channels are wanted, even if there is no version yet.
    mutating func openCame(by rules: OwnerRules, now: EngineTime, into effects: inout OwnerEffects) {
        _ = self.wantChannels(by: rules, now: now)
        effects.append(.writeFirst)
    }
    /// Asks for channels in environments where the audience may have one and has none.
    /// - Returns: whether more channels are wanted than before.
    private mutating func wantChannels(by rules: OwnerRules, now: EngineTime) -> Bool {
        let environments = self.channels.lacking(by: rules)
        guard !environments.isEmpty else { return false }
        if self.channels.life == 0 { self.beginLife(now: now) }
        self.channels.want(environments, life: self.life)
        return true
    }
    /// Adds the environments in which a partition has members. Asks for channels there, if the audience has channels
    /// already.
    private mutating func add(
        environments: UInt8, by rules: OwnerRules, now: EngineTime, into effects: inout OwnerEffects
    ) {
        guard environments != 0, rules.app.audienceChannel == .auto, self.channels.add(environments: environments),
            !self.channels.all.isEmpty, self.newestVersion?.isEnd != true
        else { return }
        if self.wantChannels(by: rules, now: now) { effects.append(.writeFirst) }
    }
    /// Adds to a version the list of the audience's channels. Asks for channels that the audience lacks.
    private mutating func declareChannels(
        on version: inout Version, by rules: OwnerRules, now: EngineTime, into effects: inout OwnerEffects
    ) {
        guard rules.app.audienceChannel == .auto || !self.channels.isBlank else { return }
        if !version.isEnd {
            if let end = self.newestVersion, end.isEnd {
                self.reportEnds(end, by: rules, into: &effects)
                self.channels.beginNextLife(atLeast: version.life)
            }
            _ = self.wantChannels(by: rules, now: now)
        }
        guard !self.channels.all.isEmpty else { return }
        self.channels.keepAlert(of: version)
        for index in self.channels.all.indices {
            if self.channels[index].isCatchingUp {
                self.goBothWays(version, channel: index, by: rules, now: now)
            } else {
                self.channels[index].versionComes()
            }
        }
        self.channels.dropAlert(nowSeconds: now.wallSeconds)
        version.channels = self.channels.declared
        version.channelRevision = self.channels.revision
    }
    /// Reports to the keepers that the life of the channels is over. The next `state` record of the audience waits
    /// until Kafka has these reports.
    private mutating func reportEnds(_ end: Version, by rules: OwnerRules, into effects: inout OwnerEffects) {
        for index in self.channels.all.indices { self.reportEnd(end, channel: index, by: rules, into: &effects) }
    }
    mutating func reportEnd(
        _ end: Version, channel index: Int, by rules: OwnerRules, into effects: inout OwnerEffects
    ) {
        guard self.channels[index].reportsEnd() else { return }
        var content: [UInt8] = []
        // If a channel stores the newest message, it stores the end that APNs has accepted. That end need not be
        // broadcast again.
        let isStored =
            rules.app.audienceChannelStorage.policy == .mostRecent
            && self.channels[index].takenStampSeconds >= end.stampSeconds
        if !isStored { end.appendBody(alertOf: nil, to: &content) }
        effects.append(
            .wish(
                .ended(content: content), self.channels[index].environment, life: self.channels.life,
                stateWaits: true))
    }
    /// Takes the keeper's report on a channel.
    /// - Returns: whether something has changed, which must be written down before anything follows from it; `nil`: the
    ///   audience has no such channel.
    mutating func newsCame(_ news: BusRecord.ChannelNews, by rules: OwnerRules, now: EngineTime) -> Bool? {
        guard news.life == self.channels.life, let index = self.channels.index(news.environment) else { return nil }
        let newest = self.newestVersion?.stampSeconds ?? 0
        switch self.channels.take(news.news, of: index, newestStampSeconds: newest, by: rules, now: now) {
        case .nothing: return false
        case .kept, .lifeIsOver: return true
        case .declared, .closed:
            self.redeclareChannels()
            return true
        }
    }
    /// Puts the present list of channels into all versions that are kept here, because the list has changed.
    mutating func redeclareChannels() {
        self.channels.advanceRevision()
        for index in self.publications.indices { self.publications[index].declare(self.channels) }
    }
    /// Leaves alerts to tokens once all partitions have the newest version. The version says which channels do not
    /// bring it. Members that listen on one of those get the version's alert, and all earlier alerts, by token. Later
    /// broadcasts do not bring these alerts, unless the channel is catching up.
    /// - Returns: whether something has changed.
    private mutating func leaveAlertsToTokens() -> Bool {
        guard !self.channels.isRevisionUnsent, let newest = self.publications.last, newest.isDurable,
            newest.outstanding == 0
        else { return false }
        var isChanged = false
        for index in self.channels.all.indices
        where self.channels[index].leavesAlertToTokens(upTo: newest.version.stampSeconds) {
            isChanged = true
        }
        return isChanged
    }
}
