import APNSProtocol
import PushModel

/// A crowd: an element of `CrowdTable`.
struct CrowdID: Identifier { let rawValue: Int32 }

/// The members of one audience in one partition, the versions that are sent to them, and how far that is.
///
/// Whatever every push reads of it is inlined: a crowd that is handed to a function is copied, and it is large.
struct Crowd {
    /// The phase of a crowd between its first member and its last.
    enum Standing: UInt8 {
        /// The slot is free for another crowd: `living`.
        case gone
        /// The crowd has members, or had some a moment ago. To `toBeVoided` when its owner says that the audience is
        /// over; to `leaving` if its name never becomes known.
        case living
        /// The audience is over, and `state` must say so before anything is deleted. To `leaving` when Kafka has that.
        case toBeVoided
        /// Members are being removed, a few at a time. To `gone` with the last.
        case leaving

        /// Whether its audience is over.
        var isOver: Bool {
            switch self {
            case .toBeVoided, .leaving: true
            case .gone, .living: false
            }
        }
    }

    private(set) var standing = Standing.gone
    /// Differs between the crowds that use this slot one after another.
    private(set) var generation: UInt32 = 0
    private(set) var partition = PartitionIndex.none
    private(set) var app: UInt16 = 0
    /// The audience's id, UTF-8; empty while a restore has read only members.
    private(set) var id: [UInt8] = []
    /// How its members' records name the audience.
    private(set) var reference: UInt64 = 0
    private(set) var versions = CrowdVersions()
    /// Passes: up to one for each environment, and one for each channel that members name.
    var passes: [Pass] = []
    /// Its start members, and the starts that are sent to them.
    var starts = CrowdStarts()
    /// When the newest update member joined, seconds since 1970.
    private(set) var lastJoinSeconds: Int64 = 0

    /// When the audience's owner, which has forgotten the audience, is asked again; steady.
    private(set) var askAtMillis: Int64 = .max

    /// Whether an operator has stopped its passes.
    var pause = CrowdPause.goesOn
    /// When a push with priority 10 last left, steady.
    private var lastHighMillis: Int64 = .min
    /// Until when no mark of a move is given up, seconds since 1970. Members came from other audiences by records that
    /// were taken late.
    private(set) var lateMovesUntilSeconds: Int64 = 0

    /// Its records of `state`.
    private(set) var records = CrowdRecords()

    /// What is reported to the owner, and in outcomes.
    var reports = CrowdReports()

    /// What a restore has read, until the restore is over.
    private(set) var takeover = CrowdRestore()

    /// Whether the newest version has been sent to everybody that it is for.
    @inline(__always) var isFinished: Bool {
        for index in self.passes.indices where !self.passes[index].isFinished { return false }
        return true
    }
    /// Whether its passes may meet members, if its partition's owner may push at all.
    @inline(__always) var mayServe: Bool {
        mutating get { self.records.isDurable && !self.versions.isEmpty && !self.isPaused }
    }
    /// When something is due that no pass, start or report causes; steady. `Int64.max`: nothing is.
    @inline(__always) mutating func nextDueMillis(now: EngineTime) -> Int64 {
        let expires = self.versions.nextExpirySeconds
        let expiry = expires == .max ? .max : now.steadyMillis + max(0, expires * 1_000 - now.wallMillis)
        return min(expiry, self.records.progressDueMillis(nowMillis: now.steadyMillis), self.askAtMillis)
    }
    /// Index of the pass over that ring.
    @inline(__always) func passIndex(of ring: RingID) -> Int? {
        for index in self.passes.indices where self.passes[index].ring == ring { return index }
        return nil
    }
    /// The channel that members of a pass listen on, if it is the audience's.
    func channel(ofPass pass: Int) -> VersionChannel? {
        guard self.passes[pass].channelNumber != nil, !self.passes[pass].channelID.isEmpty else { return nil }
        return self.versions.channels.first {
            $0.environment == self.passes[pass].environment && $0.id == self.passes[pass].channelID
        }
    }
    /// When a start is sent to nobody any longer, seconds since 1970: it has expired, or its content is stale. Mutating,
    /// although it changes nothing: a crowd is then lent in place, and not copied.
    @inline(__always) mutating func startEndsSeconds() -> Int64 {
        guard self.starts.hasOrder else { return self.starts.orderExpiresSeconds }
        let last = self.versions.count - 1
        let showsNewest = last >= 0 && self.starts.orderShows(self.versions.kept[last])
        let stale = showsNewest ? self.versions.kept[last].layer.staleSeconds : self.starts.orderStaleSeconds
        return min(self.starts.orderExpiresSeconds, stale)
    }
    /// Environments in which it has or had members, one bit each.
    var environments: UInt8 {
        (self.passes.map(\.environment) + self.starts.rounds.map(\.environment)).reduce(0) {
            $0 | AudienceChannels.bit($1)
        }
    }

    // MARK: Its life

    /// Begins the crowd of an audience whose first member is about to join.
    mutating func begin(app: UInt16, id: [UInt8], reference: UInt64, partition: PartitionIndex) {
        self.standing = .living
        self.partition = partition
        self.app = app
        self.id = id
        self.reference = reference
    }
    /// Frees the crowd's slot: nothing of it is left.
    mutating func end() {
        let generation = self.generation &+ 1
        self = Crowd()
        self.generation = generation
    }
    /// Sets the name, which a join has brought and a restore had not read.
    mutating func named(app: UInt16, id: [UInt8]) {
        self.restoredName(app: app, id: id)
        self.takeover = CrowdRestore()
    }
    /// Voids the crowd: its owner has forgotten the audience, and nobody has joined since.
    mutating func voided() {
        self.versions.leave()
        // A record that deletes something must not be written without the void. After reading the void again, a new
        // owner would take the members for those of the next life.
        self.standing = .toBeVoided
    }
    /// Notes that `state` has the void.
    /// - Returns: whether the crowd has waited for that.
    mutating func voidAcknowledged() -> Bool {
        guard self.standing == .toBeVoided else { return false }
        self.standing = .leaving
        return true
    }
    /// Lets its members be removed from now on. Its name is unknown, or a restore has read that the audience is over.
    mutating func left() { self.standing = .leaving }

    // MARK: Members and their owner

    /// Notes that an update member has joined, or changed what it says.
    @inline(__always) mutating func joined(seconds: UInt32) {
        self.lastJoinSeconds = max(self.lastJoinSeconds, Int64(seconds))
    }
    /// Takes the audience's name from a join; no record had it. Nothing that a restore has read counts.
    mutating func introduced(joinedSeconds: UInt32) {
        self.takeover = CrowdRestore()
        self.lastJoinSeconds = Int64(joinedSeconds)
    }
    /// Sets when the audience's owner is asked again.
    mutating func ask(atMillis millis: Int64) { self.askAtMillis = millis }
    /// Notes that the owner has been asked.
    mutating func asked() { self.askAtMillis = .max }

    // MARK: Members that come from other audiences

    /// Number of seconds for which a move counts as within the hour. A join's time is in whole seconds.
    private static var movedSeconds: Int64 { RollingBudget.windowMillis / 1_000 + 1 }
    /// Notes that a member comes from another audience. Its record may be older than its last push there.
    mutating func moved(joinedSeconds: UInt32, nowSeconds: Int64) {
        guard nowSeconds > Int64(joinedSeconds) + 1 else { return }
        // Written down once a minute, no matter how many members come.
        let until = nowSeconds + Self.movedSeconds
        guard until > self.lateMovesUntilSeconds else { return }
        self.lateMovesUntilSeconds = until + 60
        self.records.progressed()
    }
    /// Whether the hour of a member that came from another audience, and joined then, is over. Until then it may have
    /// had pushes with priority 10 there.
    @inline(__always) func isMoveOver(joinedSeconds: UInt32, nowSeconds: Int64) -> Bool {
        nowSeconds >= Int64(joinedSeconds) + Self.movedSeconds && nowSeconds >= self.lateMovesUntilSeconds
    }
    /// Notes that a push with priority 10 leaves, or may have left until now.
    @inline(__always) mutating func sentHigh(nowMillis: Int64) { self.lastHighMillis = nowMillis }
    /// Whether its members may have had priority 10 within the hour.
    func hasHadTens(nowMillis: Int64) -> Bool {
        self.lastHighMillis != .min && self.lastHighMillis + RollingBudget.windowMillis > nowMillis
    }

    // MARK: Versions

    /// Takes a newer version. The caller informs the passes itself.
    /// - Returns: for each version that was kept, the oldest first, whether it is dropped.
    mutating func take(_ version: Version) -> [Bool] { self.versions.take(version) }
    /// Takes the newest version again, because which of its channels serve has changed.
    /// - Returns: whether anything is new.
    mutating func takesTurn(of version: Version) -> Bool {
        guard self.versions.takeTurn(of: version) else { return false }
        self.starts.contentChanged()
        return true
    }
    /// Forgets the alert, which has expired with the version that brought it.
    /// - Returns: index of an older version whose alert is owed in its place; `nil`: no alert is owed now.
    mutating func expireAlert(nowSeconds: Int64) -> Int? {
        // A member that gets the alert's own version cannot return to an older one.
        self.versions.expireAlert(mayReturn: self.passes.allSatisfy { $0.course.alone == nil }, nowSeconds: nowSeconds)
    }
    /// Drops the newest version, which has expired. Members that it leaves unserved get the one before.
    mutating func expireNewest() {
        self.versions.expireNewest()
        self.starts.contentChanged()
        self.records.progressed()
    }
    /// Takes over the start members of another crowd, whose audience is over.
    mutating func takeOver(_ starts: CrowdStarts, ofLife life: Int64) {
        self.starts = starts
        self.versions.endLife(life, isEnded: true)
    }
    /// Drops what was shown: nothing of it is for anybody now.
    mutating func endLife() { self.versions.endLife() }
    /// Ends a life that the owner has forgotten. Members wait for the next.
    mutating func endLife(_ life: Int64, isEnded: Bool) { self.versions.endLife(life, isEnded: isEnded) }
    /// Whether members leave after the owner has forgotten the audience, instead of waiting for what comes next. They
    /// joined before its end, or so long ago that their cards are over.
    func isOver(by void: BusRecord.Void, lifetimeMillis: Int64, nowSeconds: Int64) -> Bool {
        self.versions.hasEnded(by: void) || (nowSeconds - self.lastJoinSeconds) * 1_000 >= lifetimeMillis
    }
    /// Notes the life that the crowd's void ends: the owner has forgotten the audience.
    mutating func voidCame(ofLife life: Int64) { self.versions.voidCame(ofLife: life) }
    /// Appends the body for members that are owed an alert, or for those that are not.
    @inline(__always) mutating func appendBody(hasAlert: Bool, isAlone: Bool, to body: inout [UInt8]) {
        self.versions.appendBody(hasAlert: hasAlert, isAlone: isAlone, to: &body)
    }

    // MARK: What is written down

    /// Notes that something has happened that a progress record covers.
    @inline(__always) mutating func progressed() { self.records.progressed() }
    /// Notes that a pass has met a member.
    @inline(__always) mutating func met() { self.records.met() }
    /// The record of its versions.
    func versionsRecord(epoch: Int64) -> VersionsRecord {
        var record = self.versions.record(epoch: epoch)
        // The version that brought a start may have expired before it.
        if let order = self.starts.order, !(record.versions.last?.start.map { $0.isSame(as: order) } ?? false) {
            record.orders = [order]
        }
        return record
    }
    mutating func versionsWritten() { self.records.versionsWritten() }
    /// Lets passes at priority 10 go as far as the record that is written now allows.
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
    /// Notes that Kafka has a record of versions.
    /// - Returns: whether it is the last one.
    mutating func versionsAcknowledged(_ number: UInt32) -> Bool { self.records.versionsAcknowledged(number) }
    /// Notes that Kafka has a record of progress. After the last one passes go on as far as it says.
    mutating func progressAcknowledged(_ number: UInt32) {
        guard self.records.progressAcknowledged(number) else { return }
        for pass in self.passes.indices { self.passes[pass].progressWritten() }
    }

    // MARK: A restore

    /// Takes a member's record. Whether the member is served is not known yet.
    mutating func restored(_ join: RestoredJoin) { self.takeover.read(join) }
    mutating func restoredName(app: UInt16, id: [UInt8]) {
        self.app = app
        self.id = id
        for pass in self.passes.indices {
            self.passes[pass].named(lane: LaneIndex(app: app, environment: self.passes[pass].environment))
        }
    }
    mutating func restored(_ progress: PassesRecord) {
        self.lastJoinSeconds = max(self.lastJoinSeconds, progress.lastJoinSeconds)
        self.takeover.read(progress)
    }
    mutating func restored(_ record: VersionsRecord) {
        self.versions = CrowdVersions(record)
        self.starts.ordersRead(record.orders)
        self.takeover.readVersions()
    }
    /// Takes the void of that life: the owner had forgotten it, and the crowd was leaving.
    mutating func restoredVoid(ofLife life: Int64) {
        self.versions.voidCame(ofLife: life)
        self.versions.leave()
        self.starts.ordersRead([])
    }
    /// Takes the tombstone of one of the crowd's records: its last member had gone. Otherwise a later crowd of that
    /// name would have versions of a former life.
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
        // Nothing says its name now. Its members came after the tombstone, and their joins come again and name it.
        self.id = []
        for pass in self.passes.indices { self.passes[pass].named(lane: .none) }
    }
    /// Ends a restore, and returns what it has read. Versions go on as the progress says.
    mutating func resume(nowMillis: Int64) -> CrowdRestore.Outcome {
        let restored = self.takeover.settle(&self.versions)
        self.takeover = CrowdRestore()
        self.lateMovesUntilSeconds = restored.progress.lateMovesUntilSeconds
        // The former owner may have used priority 10 until now.
        if !self.versions.isEmpty { self.sentHigh(nowMillis: nowMillis) }
        return restored
    }
    /// Ends a restore of a crowd that leaves, or whose name is unknown. It does not matter whom it serves.
    mutating func forgetRestored() { self.takeover = CrowdRestore() }
    /// Passes are where the progress says. The alert is told, unless a round, a broadcast, or a member that has joined since is to have it.
    mutating func settleAlert(owedTo joins: [RestoredJoin]) {
        let stampSeconds = self.versions.alert?.stampSeconds
        guard !self.passes.contains(where: { $0.course.owesAlert || $0.apart.retries.owesAlert }),
            !self.passes.indices.contains(where: { self.isAlertLeft(toChannelOf: $0) }),
            !joins.contains(where: { $0.owedAlertStampSeconds == stampSeconds })
        else { return }
        self.versions.alertTold()
    }
    /// A restore is over, and so is all that `take` has had to say about versions.
    mutating func resumed(_ outcome: borrowing CrowdRestore.Outcome) {
        self.versions.hasMet(stampSeconds: outcome.stampSeconds)
        self.records.restored(isTold: outcome.newest == nil)
    }
}
