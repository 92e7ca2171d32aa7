import APNSProtocol
import ChannelKeeping
import PushModel

/// The owner of an audience (fan-out contract: Owner and versions): who has asked, which versions are on their way to
/// them, what they report, and the audience's channels.
///
/// It decides, and knows neither slots nor Kafka. It has one method for each event. What has to be done is appended to
/// the effects that are lent to it. Its record in `state` is the *book*, part of the slot's record.
struct AudienceOwner {
    /// What became of the start that waited when a version was made.
    enum StartEffect { case nothing, leaves, expired }
    /// What follows a broadcast's answer.
    enum BroadcastEffect: Equatable {
        /// The broadcast was on no channel that the audience has now.
        case ignored
        case done
        /// The broadcast is tried again. The values: the number of attempts before, APNs' `retry-after`, and the least
        /// distance between throttled broadcasts in milliseconds.
        case goesAgain(attempt: UInt8, retryAfterSeconds: Int64?, distanceMillis: Int64)
    }
    /// Number of versions whose event may be without an outcome because a partition of `routed` is slow. At the limit
    /// the next version waits.
    static let publicationsMax = 4
    /// Number of ends that may become versions beyond that, because a start arrived behind each.
    static let endsBeforeStartsMax = 4

    /// Which life of the audience this is: the time in seconds since 1970 when it began, or later. It only grows.
    private(set) var life: Int64 = 0
    /// Partitions that have asked, in ascending order.
    private(set) var asked: [Int32] = []
    /// The versions on their way, the oldest first. The newest stays, to answer new questions.
    private(set) var publications: [Publication] = []
    var budget = AudienceBudget()
    /// The newest stamp up to which no member gets priority 10, for each partition that has asked.
    private(set) var reported: [Int32: Int64] = [:]
    /// Until when some partition keeps start members, seconds since 1970; 0: none does.
    private(set) var startsUntilSeconds: Int64 = 0
    /// A start that goes out with the next version: one element, or none.
    private(set) var waitingStarts: [StartOrder] = []
    var channels = AudienceChannels()
    /// The results reported for its newest versions. They are not written down.
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

    /// Begins the life with the audience's first version or first channel. A reader of its channel and one of its
    /// version find the same life.
    private mutating func beginLife(now: EngineTime) {
        guard self.life == 0 else { return }
        self.life = self.channels.life == 0 ? max(1, now.wallSeconds) : self.channels.life
    }
    /// Notes that a partition asks.
    /// - Returns: whether it has not asked before.
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
            // A life named by an `open` is the life of everything that follows.
            let named = self.channels.life == 0 ? now.wallSeconds : self.channels.life
            self.life = max(self.life, question.life + 1, named)
        } else if question.life > self.life {
            // The clock has been set back since the previous life, or is another's. The next version belongs to a life
            // that is newer for everybody.
            let former = self.life
            self.life = question.life + 1
            if isFirst {
                // The present versions have not been sent to anybody: they belong to that life as well.
                for index in self.publications.indices { self.publications[index].enterLife(self.life) }
                self.rollUps.enterLife(self.life, from: former)
            }
        }
        self.startsUntilSeconds = max(self.startsUntilSeconds, question.startsUntilSeconds)
        self.note(environments: question.environments, by: rules, now: now, into: &effects)
        effects.append(.write)
        guard let newest = self.newest else { return }
        // The newest version, and what outlives it. Its content is late for the partition that asks now, unless it is
        // still on its way there: this answer may arrive first.
        let versions = newest.versions.map {
            var version = $0.answer(keepsAlert: newest.isOpen)
            // Members that have joined since may have missed a broadcast that has left.
            if !(newest.isOpen && isKnown) { version.leaveNothingToChannels() }
            // The asking partition knows a newer life, which is over, and would take this version for an older one.
            // Others keep what they were sent.
            if question.life > version.life { version.enterLife(self.life) }
            return version
        }
        effects.append(.answer(versions, to: question.partition))
        guard newest.version.life == self.life else { return }
        self.rollUps.ask(
            question.partition, life: self.life, stampSeconds: newest.version.stampSeconds,
            nowMillis: now.steadyMillis, into: &effects)
    }
    /// Takes a partition's report about a version of this life.
    mutating func reportCame(_ report: BusRecord.Report, now: EngineTime, into effects: inout OwnerEffects) {
        // The partition serves members of this life, whether or not its question is known here.
        if self.ask(report.partition) { effects.append(.write) }
        self.reported[report.partition] = max(self.reported[report.partition] ?? 0, report.doneStampSeconds)
        self.returnUnits(now: now)
        self.rollUps.take(report, nowMillis: now.steadyMillis, into: &effects)
    }
    /// Forgets the audience: nothing has arrived for it for too long, or it has ended. Partitions that have asked are
    /// told.
    mutating func forgotten(by rules: OwnerRules, into effects: inout OwnerEffects) {
        if let end = self.newestVersion, end.isEnd {
            self.tellEnds(end, by: rules, into: &effects)
        } else {
            for channel in self.channels.all {
                effects.append(.wish(.voided, channel.environment, life: self.channels.life, stateWaits: true))
            }
        }
        self.channels.giveUp()
        effects.append(.tellVoid(life: self.life, to: self.asked))
    }

    // MARK: Starts

    /// Takes a start that waits for the next version, in place of an earlier one.
    mutating func startCame(_ order: StartOrder) { self.waitingStarts = [order] }
    /// Forgets the waiting start: the audience's life is over, and nobody is started from here on.
    mutating func forgetStart() { self.waitingStarts = [] }
    /// Drops a start that has expired unsent, which makes room for another.
    /// - Parameter staleSeconds: when the content that waits with it becomes stale.
    /// - Returns: whether a start was dropped.
    mutating func dropExpiredStart(staleSeconds: Int64, now: EngineTime) -> Bool {
        guard let order = self.waitingStarts.first,
            order.isExpired(nowSeconds: now.wallSeconds) || staleSeconds <= now.wallSeconds
        else { return false }
        self.waitingStarts = []
        return true
    }
    /// The start that goes out with a version, if one waits and has not expired. A start after an end belongs to a new
    /// life.
    private mutating func takeStart(for offer: VersionOffer, now: EngineTime) -> (StartOrder?, StartEffect) {
        let order = self.waitingStarts.first
        self.waitingStarts = []
        if self.newestVersion?.isEnd == true, order != nil || !offer.isEnd {
            self.life = max(self.life + 1, now.wallSeconds)
        }
        // An end ends the audience, and the start that waits.
        guard let order, !offer.isEnd else { return (nil, .nothing) }
        // The waiting content is what update members get, and what the start would show.
        guard !order.isExpired(nowSeconds: now.wallSeconds), offer.top.staleSeconds > now.wallSeconds else {
            return (nil, .expired)
        }
        return (order, .leaves)
    }

    // MARK: Versions

    /// Makes a version of what waits. It gets its life, its priority and its channels here, once.
    mutating func publish(
        _ offer: VersionOffer, by rules: OwnerRules, now: EngineTime,
        into effects: inout OwnerEffects
    ) -> StartEffect {
        self.beginLife(now: now)
        let (start, startEffect) = self.takeStart(for: offer, now: now)
        let beneath = offer.under.map { Version(life: self.life, stampSeconds: $0.stampSeconds, layer: $0.layer) }
        // Members that join after the newest has expired get what outlives it.
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
    /// Drops publications that nobody needs: their event has its outcome, and a newer one is there.
    private mutating func dropDone() {
        while self.publications.count > 1, let first = self.publications.first, !first.isOpen,
            self.publications.dropFirst().contains(where: { $0.isDurable })
        {
            self.publications.removeFirst()
        }
    }
    /// Notes that `state` has a record of the present versions, which may leave now.
    mutating func stateWritten(now: EngineTime, into effects: inout OwnerEffects) {
        for index in self.publications.indices where !self.publications[index].isDurable {
            self.publications[index].stateWritten()
            self.tellFirst(index, now: now, into: &effects)
        }
        self.tellTurn(into: &effects)
        self.finish(into: &effects)
    }
    /// Takes the audience over from an earlier owner. Versions that it had not sent to all are sent again unchanged.
    /// Partitions are asked once more how far recent versions are.
    /// - Parameter sinceMillis: since when the previous owner has sent nothing, steady.
    mutating func takenOver(
        sinceMillis: Int64, by rules: OwnerRules, now: EngineTime, into effects: inout OwnerEffects
    ) {
        if !self.channels.all.isEmpty {
            let newest = self.newest?.version.stampSeconds ?? 0
            for index in self.channels.all.indices {
                self.channels[index].takenOver(sinceMillis: sinceMillis, newestStampSeconds: newest, by: rules)
            }
            self.channels.turnIsUnknown()
        }
        for index in self.publications.indices
        where self.publications[index].isOpen
            || now.wallMillis - self.publications[index].version.layer.recordMillis < CrowdReports.toldAnewMillis
        {
            self.tellFirst(index, now: now, into: &effects)
        }
        self.tellTurn(into: &effects)
        self.finish(into: &effects)
    }
    /// Sends a version for the first time. Its reports are summed from here on.
    private mutating func tellFirst(_ index: Int, now: EngineTime, into effects: inout OwnerEffects) {
        self.rollUps.begin(
            self.publications[index], asked: self.asked, channels: self.channels.all, nowMillis: now.steadyMillis,
            into: &effects)
        self.tell(index, into: &effects)
        if index == self.publications.count - 1 { self.channels.turnIsTold() }
    }
    /// Sends partitions a change in which channels serve the newest version.
    private mutating func tellTurn(into effects: inout OwnerEffects) {
        guard self.channels.isTurnUntold else { return }
        self.channels.turnIsTold()
        guard let index = self.publications.lastIndex(where: { $0.isDurable }) else { return }
        self.tell(index, into: &effects)
    }
    /// Sends every partition that has asked what is published, in the order of stamps.
    private mutating func tell(_ index: Int, into effects: inout OwnerEffects) {
        guard !self.asked.isEmpty else { return }
        self.publications[index].leaves(to: self.asked.count)
        effects.append(.tell(self.publications[index].versions, to: self.asked))
    }
    /// Notes that Kafka has a version for one partition.
    /// - Parameter stampLow: the lower half of the version's stamp.
    mutating func versionTold(stampLow: UInt32, into effects: inout OwnerEffects) {
        guard
            let index = self.publications.firstIndex(where: {
                UInt32(truncatingIfNeeded: $0.version.stampSeconds) == stampLow
            })
        else { return }
        if self.publications[index].told() { self.finish(into: &effects) }
    }
    /// Finishes publications: events whose version all partitions have got their outcome.
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
    /// Returns units of the ledgers once no partition and no channel gives priority 10 by a version.
    mutating func returnUnits(now: EngineTime) {
        var done = self.asked.map { self.reported[$0] ?? 0 }.min() ?? .max
        if let newest = self.newestVersion { done = min(done, self.channels.doneStampSeconds(newest: newest)) }
        self.budget.startReturn(upTo: done, nowMillis: now.steadyMillis)
    }

    // MARK: Channels

    /// Takes an `open`: a channel is wanted before the first version.
    mutating func openCame(by rules: OwnerRules, now: EngineTime, into effects: inout OwnerEffects) {
        _ = self.wantChannels(by: rules, now: now)
        effects.append(.writeFirst)
    }
    /// Wants channels where the audience may have them and has none.
    /// - Returns: whether more are wanted than before.
    private mutating func wantChannels(by rules: OwnerRules, now: EngineTime) -> Bool {
        let environments = self.channels.lacking(by: rules)
        guard !environments.isEmpty else { return false }
        if self.channels.life == 0 { self.beginLife(now: now) }
        self.channels.want(environments, life: self.life)
        return true
    }
    /// Notes in which environments a partition has members.
    private mutating func note(
        environments: UInt8, by rules: OwnerRules, now: EngineTime, into effects: inout OwnerEffects
    ) {
        guard environments != 0, rules.app.audienceChannel == .auto, self.channels.note(environments: environments),
            !self.channels.all.isEmpty, self.newestVersion?.isEnd != true
        else { return }
        if self.wantChannels(by: rules, now: now) { effects.append(.writeFirst) }
    }
    /// Declares in a version which channels bring it.
    private mutating func declareChannels(
        on version: inout Version, by rules: OwnerRules, now: EngineTime, into effects: inout OwnerEffects
    ) {
        guard rules.app.audienceChannel == .auto || !self.channels.isBlank else { return }
        if !version.isEnd {
            if let end = self.newestVersion, end.isEnd {
                self.tellEnds(end, by: rules, into: &effects)
                self.channels.beginNextLife(atLeast: version.life)
            }
            _ = self.wantChannels(by: rules, now: now)
        }
        guard !self.channels.all.isEmpty else { return }
        self.channels.noteAlert(of: version)
        for index in self.channels.all.indices {
            if self.channels[index].isCatchingUp {
                self.goBothWays(version, channel: index, by: rules, now: now)
            } else {
                self.channels[index].versionComes()
            }
        }
        self.channels.dropAlert(nowSeconds: now.wallSeconds)
        version.channels = self.channels.declared
        version.turn = self.channels.turn
    }
    /// Tells the keepers that the life of the channels is over, before `state` has it.
    private mutating func tellEnds(_ end: Version, by rules: OwnerRules, into effects: inout OwnerEffects) {
        for index in self.channels.all.indices { self.tellEnd(end, channel: index, by: rules, into: &effects) }
    }
    mutating func tellEnd(
        _ end: Version, channel index: Int, by rules: OwnerRules, into effects: inout OwnerEffects
    ) {
        guard self.channels[index].tellsEnd() else { return }
        var content: [UInt8] = []
        // Where APNs stores the newest message, it stores the end that it has taken.
        let isStored =
            rules.app.audienceChannelStorage.policy == .mostRecent
            && self.channels[index].takenStampSeconds >= end.stampSeconds
        if !isStored { end.appendBody(alertOf: nil, to: &content) }
        effects.append(
            .wish(
                .ended(content: content), self.channels[index].environment, life: self.channels.life,
                stateWaits: true))
    }
    /// Takes the keeper's news of a channel.
    /// - Returns: `nil`: the audience has no such channel. Otherwise whether something has changed, and must be written
    ///   down before anything follows from it.
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
    /// Declares the channels anew in the present versions: which exist, and which serve, has changed.
    mutating func redeclareChannels() {
        self.channels.noteTurn()
        for index in self.publications.indices { self.publications[index].declare(self.channels) }
    }
    /// Leaves alerts to tokens once all partitions know the newest version and which channels do not bring it.
    /// Listeners on those get its alert, and each alert before it, by token. No later broadcast brings these alerts,
    /// and no later version owes them once more.
    /// - Returns: whether something has changed.
    private mutating func leaveAlertsToTokens() -> Bool {
        guard !self.channels.isTurnUntold, let newest = self.publications.last, newest.isDurable,
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
