import APNSProtocol
import PushModel

/// Names a crowd: an element of `CrowdTable`.
struct CrowdID: Identifier { let rawValue: Int32 }

/// The members of one audience in one partition, the versions that are sent to them, and how far each version has got.
///
/// A crowd is never copied: methods access it in place, whether they change it or not.
struct Crowd: ~Copyable {
    /// The phase of a crowd between its first member and its last.
    enum Standing: UInt8 {
        /// The element of `CrowdTable` is free. Becomes `living` when a crowd begins in it, or `nameless` if the
        /// audience's name is not known yet.
        case gone
        /// The crowd has members, but no record or join has named their audience yet. Becomes `living` with the name,
        /// or `leaving` if the name stays unknown.
        case nameless
        /// The audience's name is known, and the audience is not over. Becomes `toBeVoided` when a void of the
        /// audience's owner arrives, unless the members wait for the audience's next life. During a restore the crowd
        /// becomes `leaving` if the audience is over, and `nameless` if the records with the name are gone.
        case living
        /// The audience is over, and `state` must say so before anything is deleted. Becomes `leaving` when Kafka has
        /// the record that says so.
        case toBeVoided
        /// Members are being removed, a few at a time. Becomes `gone` with the last.
        case leaving

        /// Whether the crowd's members must leave: the audience is over, or its name has stayed unknown.
        var isOver: Bool {
            switch self {
            case .toBeVoided, .leaving: true
            case .gone, .nameless, .living: false
            }
        }
    }

    private(set) var standing = Standing.gone
    /// Whether there is a crowd here whose members may stay.
    @inline(__always) var isLiving: Bool { self.standing == .living || self.standing == .nameless }
    /// Whether the audience's name is still unknown.
    var isNameless: Bool { self.standing == .nameless }
    /// What has to be done for a crowd when its deadline has come, or when a restore is over.
    enum Need {
        /// Nothing has to be done: there is no crowd, or `state` must say first that the audience is over.
        case nothing
        /// The audience's name is missing. If the name stays unknown for long, the members are removed, unless they
        /// may be of an app that is not configured here.
        case name
        /// Some members have to be removed.
        case removal
        /// Members are served, and what is due is written and reported.
        case service
    }
    @inline(__always) var need: Need {
        switch self.standing {
        case .gone, .toBeVoided: .nothing
        case .nameless: .name
        case .leaving: .removal
        case .living: .service
        }
    }
    /// Whether the crowd's members must leave: the audience is over, or its name has stayed unknown.
    @inline(__always) var isOver: Bool { self.standing.isOver }
    /// Whether the audience's name is known. Without the name nothing can be written about the crowd.
    @inline(__always) var isNamed: Bool { !self.id.isEmpty }
    /// The audience's id for a log line. Anything in it that looks like a token is shortened.
    var shownID: String { TokenText.shortened(String(decoding: self.id, as: UTF8.self)) }
    /// Distinguishes the crowds that use this element of `CrowdTable` one after another.
    private(set) var generation: UInt32 = 0
    private(set) var partition = PartitionIndex.none
    private(set) var app: UInt16 = 0
    /// The audience's id, UTF-8; empty: no record or join has brought the id yet.
    private(set) var id: [UInt8] = []
    /// The number by which records of members name the audience.
    private(set) var reference: UInt64 = 0
    private(set) var versions = CrowdVersions()
    /// The passes. In each environment there is at most one for members that do not listen, and at most one for each
    /// channel that members name.
    var passes: [Pass] = []
    /// The crowd's start members, and the starts that are sent to them.
    var starts = CrowdStarts()
    /// When an update member last joined, seconds since 1970; 0: none has joined.
    private(set) var lastJoinSeconds: Int64 = 0

    /// When the audience's owner, which had forgotten the audience, is asked for versions again (steady clock).
    /// `Int64.max`: no question is planned.
    private var askAtMillis: Int64 = .max

    /// Whether an operator has stopped the crowd's passes.
    var pause = CrowdPause.goesOn
    /// When a push with priority 10 last left, or may have left (steady clock); `Int64.min`: never.
    private var lastHighMillis: Int64 = .min
    /// Until this time, in seconds since 1970, every member with the flag `isMoved` counts as moved within the hour.
    /// Some joins were taken long after they were written, so the time of a join does not show when the member's hour
    /// is over.
    private(set) var delayedMovesUntilSeconds: Int64 = 0

    /// Which records of the crowd `state` has, and which have to be written.
    private(set) var records = CrowdRecords()

    /// The counts that are reported to the owner, and written in outcomes.
    var reports = CrowdReports()

    /// What a restore has read so far. Empty once the restore is over.
    private(set) var takeover = CrowdRestore()

    /// Number of update members that are owed something, including those whose push is unanswered.
    var waitingCount: Int { self.passes.reduce(0) { $0 + $1.waitingCount } }
    /// Whether the newest version is owed to nobody, and no push to an update member is unanswered.
    @inline(__always) var isFinished: Bool {
        for index in self.passes.indices where !self.passes[index].isFinished { return false }
        return true
    }
    /// Whether the crowd's passes may meet members, provided that the partition's owner may push at all.
    @inline(__always) var mayServe: Bool { self.records.isDurable && !self.versions.isEmpty && !self.isPaused }
    /// When a version or an alert expires, a record or report is due, or the owner is asked again (steady clock);
    /// `Int64.max`: nothing is due. Pushes of passes, and starts, have their own times.
    @inline(__always) func nextDueMillis(now: EngineTime) -> Int64 {
        let expires = self.versions.nextExpirySeconds
        let expiry = expires == .max ? .max : now.steadyMillis + max(0, expires * 1_000 - now.wallMillis)
        return min(
            expiry, self.records.progressDueMillis(nowMillis: now.steadyMillis), self.askAtMillis,
            self.reportDueMillis(nowMillis: now.steadyMillis))
    }
    /// Indexes of the passes.
    @inline(__always) var passIndices: Range<Int> { self.passes.indices }
    /// The ring that a pass goes round.
    @inline(__always) func ring(ofPass pass: Int) -> RingID { self.passes[pass].ring }
    /// Index of the pass that goes round the ring; `nil`: the crowd has no such pass.
    @inline(__always) func passIndex(of ring: RingID) -> Int? {
        for index in self.passes.indices where self.passes[index].ring == ring { return index }
        return nil
    }
    /// The channel that members of a pass listen on; `nil`: they listen on none, or the owner's newest list of channels
    /// does not have it.
    func channel(ofPass pass: Int) -> VersionChannel? {
        guard self.passes[pass].channelNumber != nil, !self.passes[pass].channelID.isEmpty else { return nil }
        return self.versions.channels.first {
            $0.environment == self.passes[pass].environment && $0.id == self.passes[pass].channelID
        }
    }
    /// Time from which a start is no longer sent, seconds since 1970. The start has then expired, or its content is
    /// stale.
    @inline(__always) var startEndsSeconds: Int64 {
        guard self.starts.hasOrder else { return self.starts.orderExpiresSeconds }
        let last = self.versions.count - 1
        let showsNewest = last >= 0 && self.starts.orderShows(self.versions.kept[last])
        let stale = showsNewest ? self.versions.kept[last].layer.staleSeconds : self.starts.orderStaleSeconds
        return min(self.starts.orderExpiresSeconds, stale)
    }
    /// Environments in which the crowd has or had members, one bit each.
    var environments: UInt8 {
        (self.passes.map(\.environment) + self.starts.rounds.map(\.environment)).reduce(0) {
            $0 | AudienceChannels.bit($1)
        }
    }

    // MARK: Life

    /// Whether records of members name the crowd's audience by that number.
    func isNamed(by reference: UInt64) -> Bool { self.reference == reference }
    /// Begins a crowd in a free element of `CrowdTable`.
    /// - Parameter id: the audience's id; empty: its name is not known yet.
    mutating func begin(app: UInt16, id: [UInt8], reference: UInt64, partition: PartitionIndex) {
        self.standing = id.isEmpty ? .nameless : .living
        self.partition = partition
        self.app = app
        self.id = id
        self.reference = reference
    }
    /// Ends the crowd. Its element of `CrowdTable` is free for another crowd.
    mutating func end() {
        let generation = self.generation &+ 1
        self = Crowd()
        self.generation = generation
    }
    /// Sets the audience's name, which a join has brought and no restored record has. Drops what a restore has read.
    mutating func named(app: UInt16, id: [UInt8]) {
        self.restoredName(app: app, id: id)
        self.takeover = CrowdRestore()
    }
    /// Voids the crowd, because the owner has forgotten the audience. Its members are removed once Kafka has the void's
    /// record.
    mutating func voided() {
        self.versions.leave()
        // Nothing may be deleted from `state` before it has the void. Otherwise a new owner that reads the void again
        // would take the remaining members for those of the next life.
        self.standing = .toBeVoided
    }
    /// Takes Kafka's acknowledgement of the void's record.
    /// - Returns: whether the crowd waited for the acknowledgement.
    mutating func voidAcknowledged() -> Bool {
        guard self.standing == .toBeVoided else { return false }
        self.standing = .leaving
        return true
    }
    /// Lets the crowd's members be removed from now on. The audience's name is unknown, or a restore has read that the
    /// audience is over.
    mutating func left() { self.standing = .leaving }

    // MARK: Members and their owner

    /// Remembers when an update member joined, or joined again.
    @inline(__always) mutating func joined(seconds: UInt32) {
        self.lastJoinSeconds = max(self.lastJoinSeconds, Int64(seconds))
    }
    /// Prepares a crowd without a name for the join that will name its audience. Drops what a restore has read.
    mutating func introduced(joinedSeconds: UInt32) {
        self.takeover = CrowdRestore()
        self.lastJoinSeconds = Int64(joinedSeconds)
    }
    /// The question to the audience's owner: which version is the newest?
    /// - Parameters:
    ///   - joining: environment of the member that is joining; `nil`: nobody is joining.
    ///   - members: members of the crowd's partition; `nil`: the partition never had any.
    func question(
        joining: PushEnvironment?, app: borrowing AppConfiguration, members: CrowdTable.Members?
    ) -> BusRecord.Question {
        var question = BusRecord.Question(
            bundleID: Array(app.bundleID.utf8), life: self.versions.life, lastJoinSeconds: self.lastJoinSeconds)
        if let members {
            question.startsUntilSeconds = self.starts.untilSeconds(
                lifeMillis: app.startMemberLifeMillis, in: members.table)
        }
        guard app.audienceChannel == .auto else { return question }
        question.environments = self.environments
        if let joining { question.environments |= AudienceChannels.bit(joining) }
        return question
    }
    /// Sets when the audience's owner is asked again (steady clock).
    mutating func ask(atMillis millis: Int64) { self.askAtMillis = millis }
    /// Sets when the owner, which has forgotten the audience, is asked again (steady clock). If all start members
    /// joined at least `startLifeMillis` ago, they leave first.
    mutating func ownerForgot(
        askingAtMillis millis: Int64, startLifeMillis: Int64, in table: borrowing MemberTable, now: EngineTime
    ) {
        self.starts.ownerForgot(lifeMillis: startLifeMillis, in: table, now: now)
        self.ask(atMillis: millis)
    }
    /// Whether the owner must be asked again now. The answer is `true` once: the time is then cleared.
    mutating func asksAgain(nowMillis: Int64) -> Bool {
        guard self.askAtMillis <= nowMillis else { return false }
        self.askAtMillis = .max
        return true
    }

    // MARK: Members that move from other audiences

    /// How long after its join a member counts as moved within the hour, seconds. One second is added, because a join's
    /// time is in whole seconds.
    private static var movedSeconds: Int64 { RollingBudget.windowMillis / 1_000 + 1 }
    /// Takes the join of a member that has moved here from another audience. If the join was written more than a second
    /// ago, the member may have had pushes in the other audience since.
    mutating func moved(joinedSeconds: UInt32, nowSeconds: Int64) {
        guard nowSeconds > Int64(joinedSeconds) + 1 else { return }
        // A minute is added, so that the time is written down once a minute at most, no matter how many members come.
        let until = nowSeconds + Self.movedSeconds
        guard until > self.delayedMovesUntilSeconds else { return }
        self.delayedMovesUntilSeconds = until + 60
        self.records.progressed()
    }
    /// Whether an hour has passed since a member moved here from another audience. Before that, the member may have had
    /// pushes with priority 10 there within the last hour.
    /// - Parameter joinedSeconds: when the member joined this audience.
    @inline(__always) func isMoveOver(joinedSeconds: UInt32, nowSeconds: Int64) -> Bool {
        nowSeconds >= Int64(joinedSeconds) + Self.movedSeconds && nowSeconds >= self.delayedMovesUntilSeconds
    }
    /// Remembers that a push with priority 10 leaves, or may have left until now.
    @inline(__always) mutating func sentHigh(nowMillis: Int64) { self.lastHighMillis = nowMillis }
    /// Whether members may have had priority 10 within the last hour.
    func hasHadTens(nowMillis: Int64) -> Bool {
        self.lastHighMillis != .min && self.lastHighMillis + RollingBudget.windowMillis > nowMillis
    }
    /// Whether a token that joins may have got priority 10 in another audience within the last hour.
    func comesFromAnother(_ key: FanOut.DepartedKey, among leavers: borrowing RecentLeavers, nowMillis: Int64) -> Bool {
        leavers.comesFromAnother(key, to: self.reference, nowMillis: nowMillis)
    }
    /// What is remembered of a leaving member for an hour.
    /// - Parameters:
    ///   - hasMoved: whether the member has moved here from another audience within the last hour.
    ///   - hadTens: whether the member may have been sent a push of priority 10 within the last hour.
    func leaver(_ token: Span<UInt8>, hasMoved: Bool, hadTens: Bool, nowMillis: Int64) -> RecentLeavers.Trace {
        var bytes: [UInt8] = []
        bytes.append(copying: token)
        return RecentLeavers.Trace(
            token: bytes, reference: hasMoved ? 0 : self.reference, hadTens: hadTens,
            untilMillis: nowMillis + RollingBudget.windowMillis)
    }

    // MARK: Versions

    /// Takes a newer version. The caller informs the passes.
    /// - Returns: for each version that was kept, the oldest first, whether it is dropped.
    mutating func take(_ version: Version) -> [Bool] { self.versions.take(version) }
    /// Takes the newest version's list of channels, if the list is newer than the one that is known here.
    /// - Returns: whether the list is newer.
    mutating func takesChannels(of version: Version) -> Bool {
        guard self.versions.takeChannels(of: version) else { return false }
        self.starts.contentChanged()
        return true
    }
    /// Forgets the alert if it has expired. It expires with the version that brought it.
    /// - Returns: the expired alert; `nil`: no alert has expired.
    mutating func expireAlert(nowSeconds: Int64) -> ExpiredAlert? {
        guard self.versions.isAlertExpired(nowSeconds: nowSeconds) else { return nil }
        let stampSeconds = self.alertStampSeconds
        // An alert goes alone if it does not fit beside the newest content. While a pass brings the expired alert that
        // way, no older alert replaces it.
        let former = self.versions.expireAlert(
            mayReturn: self.passes.allSatisfy { $0.course.alone == nil }, nowSeconds: nowSeconds)
        return ExpiredAlert(stampSeconds: stampSeconds, former: former)
    }
    /// Drops the newest version if it has expired. Members that it did not reach get the previous one, if there is one.
    /// - Returns: whether the version had expired.
    mutating func expireNewest(nowSeconds: Int64) -> Bool {
        guard self.versions.isNewestExpired(nowSeconds: nowSeconds) else { return false }
        self.versions.expireNewest()
        self.starts.contentChanged()
        self.records.progressed()
        return true
    }
    /// Hands over the crowd's start members. The crowd has none from then on.
    mutating func handOverStarts() -> CrowdStarts {
        var starts = CrowdStarts()
        swap(&starts, &self.starts)
        return starts
    }
    /// Takes over the start members of the audience's former crowd.
    /// - Parameter life: the life of that crowd, which is over.
    mutating func takeOver(_ starts: consuming CrowdStarts, ofLife life: Int64) {
        self.starts = starts
        self.versions.endLife(life, isEnded: true)
    }
    /// Drops all versions of the audience's life. They are owed to nobody now.
    mutating func endLife() { self.versions.endLife() }
    /// Ends a life that the owner has forgotten. Members wait for the next life.
    /// - Parameter isEnded: see `CrowdVersions.endLife`.
    mutating func endLife(_ life: Int64, isEnded: Bool) { self.versions.endLife(life, isEnded: isEnded) }
    /// Whether members are removed by a void, instead of waiting for the audience's next life. They are removed if the
    /// life has ended for good, or if all of them joined so long ago that their cards are over.
    func isOver(by void: BusRecord.Void, lifetimeMillis: Int64, nowSeconds: Int64) -> Bool {
        self.versions.hasEnded(by: void) || (nowSeconds - self.lastJoinSeconds) * 1_000 >= lifetimeMillis
    }
    /// Remembers which life the crowd's void ends.
    mutating func voidCame(ofLife life: Int64) { self.versions.voidCame(ofLife: life) }
    /// Appends the body of a push.
    /// - Parameters:
    ///   - hasAlert: whether the push has the alert that is owed.
    ///   - isAlone: whether the push brings the alert's own version instead of the newest.
    @inline(__always) mutating func appendBody(hasAlert: Bool, isAlone: Bool, to body: inout [UInt8]) {
        self.versions.appendBody(hasAlert: hasAlert, isAlone: isAlone, to: &body)
    }

    // MARK: What is written down

    /// Whether the crowd knows a life of its audience. If so, the record of the crowd's versions names that life.
    var knowsLife: Bool { self.versions.life != 0 }
    /// Makes a progress record due: something has happened that no record covers yet.
    @inline(__always) mutating func progressed() { self.records.progressed() }
    /// Counts a member that was sent a push.
    @inline(__always) mutating func met() { self.records.met() }
    /// Makes the record of the crowd's versions.
    func versionsRecord(epoch: Int64) -> VersionsRecord {
        var record = self.versions.record(epoch: epoch)
        // If the newest version does not have the start, the record has it separately. The start may expire later than
        // the version that brought it.
        if let order = self.starts.order, !(record.versions.last?.start.map { $0.isSame(as: order) } ?? false) {
            record.orders = [order]
        }
        return record
    }
    /// Whether a progress record must be written now.
    func isProgressDue(nowMillis: Int64) -> Bool { self.records.progressDueMillis(nowMillis: nowMillis) <= nowMillis }
    mutating func versionsWritten() { self.records.versionsWritten() }
    /// Counts a progress record that is written, and sets how far it lets passes go at priority 10. Passes may go that
    /// far when Kafka has the record.
    mutating func progressWritten(in table: borrowing MemberTable, nowMillis: Int64) {
        self.records.progressWritten(nowMillis: nowMillis)
        for pass in self.passes.indices {
            self.passes[pass].extendHorizon(
                members: self.records.horizonCount, of: table.count(of: self.passes[pass].ring))
        }
    }
    /// Serves nobody until Kafka has the versions that were written last.
    mutating func awaitVersions() { self.records.awaitVersions() }
    /// Serves nobody until Kafka has the progress that was written last.
    mutating func awaitProgress() { self.records.awaitProgress() }
    /// Takes Kafka's acknowledgement of a record of versions.
    /// - Returns: whether it is the last one written.
    mutating func versionsAcknowledged(_ number: UInt32) -> Bool { self.records.versionsAcknowledged(number) }
    /// Takes Kafka's acknowledgement of a progress record. If it is the last one written, passes may continue as far
    /// as the record allows.
    mutating func progressAcknowledged(_ number: UInt32) {
        guard self.records.progressAcknowledged(number) else { return }
        for pass in self.passes.indices { self.passes[pass].progressWritten() }
    }

    // MARK: A restore

    /// Whether something has happened since the last progress record. If so, another is written before the partition
    /// leaves.
    var hasUnwrittenProgress: Bool { self.standing == .living && self.records.isProgressDue }
    /// Takes a member's record. Whether the member has been served is not known yet.
    mutating func restored(_ join: RestoredJoin) { self.takeover.read(join) }
    mutating func restoredName(app: UInt16, id: [UInt8]) {
        self.app = app
        self.id = id
        self.standing = .living
        for pass in self.passes.indices {
            self.passes[pass].named(lane: LaneIndex(app: app, environment: self.passes[pass].environment))
        }
    }
    mutating func restored(_ progress: PassesRecord) {
        self.lastJoinSeconds = max(self.lastJoinSeconds, progress.lastJoinSeconds)
        self.takeover.read(progress)
    }
    mutating func restored(_ progress: StartProgressRecord, now: EngineTime) {
        self.starts.progressRead(progress, now: now)
    }
    mutating func restored(_ record: VersionsRecord) {
        self.versions = CrowdVersions(record)
        self.starts.ordersRead(record.orders)
        self.takeover.readVersions()
    }
    /// Takes the record of a void. The owner had forgotten that life of the audience, and the crowd's members were
    /// being removed.
    mutating func restoredVoid(ofLife life: Int64) {
        self.versions.voidCame(ofLife: life)
        self.versions.leave()
        self.starts.ordersRead([])
    }
    /// Takes the tombstone of one of the crowd's records. Tombstones are written when the last member has gone. Without
    /// them, the audience's next crowd would have versions of a former life.
    mutating func restoredTombstone(of record: StateCodec.CrowdRecord) {
        switch record {
        case .versions:
            self.versions = CrowdVersions()
            self.starts.ordersRead([])
            self.takeover.versionsGone()
        case .progress:
            self.lastJoinSeconds = 0
            self.takeover.progressGone()
        case .starts: self.starts.progressForgotten()
        case .voided: break
        }
        guard !self.takeover.isNamed, self.starts.restored.progress == nil else { return }
        // No record names the audience now. The crowd's present members joined after the tombstone was written. Their
        // joins will be read again, and name the audience.
        self.id = []
        self.standing = .nameless
        for pass in self.passes.indices { self.passes[pass].named(lane: .none) }
    }
    /// Returns what a restore has read, and forgets it. Versions continue from where the progress says.
    mutating func resume(nowMillis: Int64) -> CrowdRestore.Outcome {
        let restored = self.takeover.settle(&self.versions)
        self.takeover = CrowdRestore()
        self.delayedMovesUntilSeconds = restored.progress.delayedMovesUntilSeconds
        // The former owner may have used priority 10 until now.
        if !self.versions.isEmpty { self.sentHigh(nowMillis: nowMillis) }
        return restored
    }
    /// Ends the restore of a crowd that leaves, or whose name is unknown: it serves nobody.
    mutating func forgetRestored() { self.takeover = CrowdRestore() }
    /// Ends the restore of a crowd that serves nobody, and forgets what its members are owed. Its passes may have been
    /// made while there were versions, which a tombstone has removed since.
    mutating func forgetRestored(in table: inout MemberTable) {
        self.forgetRestored()
        for pass in self.passes.indices { self.passes[pass].reset(in: &table) }
    }
    /// Drops the alert after a restore, unless it is still owed. It is owed if a round, the retry set or a channel
    /// brings it. It is also owed if one of the joins says that its member waits for it.
    mutating func settleAlert(owedTo joins: [RestoredJoin]) {
        let stampSeconds = self.versions.alert?.stampSeconds
        guard !self.passes.contains(where: { $0.course.owesAlert || $0.apart.retries.owesAlert }),
            !self.passes.indices.contains(where: { self.isAlertLeft(toChannelOf: $0) }),
            !joins.contains(where: { $0.owedAlertStampSeconds == stampSeconds })
        else { return }
        self.versions.forgetOwedAlert()
    }
    /// Completes a restore, after the versions that `resume` returned have been taken.
    mutating func resumed(_ outcome: borrowing CrowdRestore.Outcome) {
        self.versions.hasMet(stampSeconds: outcome.stampSeconds)
        self.records.restored(isWritten: outcome.newest == nil)
    }
}
