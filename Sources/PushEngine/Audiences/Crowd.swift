import APNSProtocol
import PushModel

/// A crowd: an element of `CrowdTable`.
struct CrowdID: Identifier { let rawValue: Int32 }

/// The members of one audience in one partition, the versions that are brought to them, and how far that is.
///
/// What every push asks of it is inlined: a crowd that is handed to a function is copied, and it is large.
struct Crowd {
    /// Where it stands between its first member and its last.
    enum Standing: UInt8 {
        /// The place is free, to be taken by another: `living`.
        case gone
        /// It has members, or had some a moment ago. `toBeVoided` when its owner says that the audience is over; `leaving` if nobody ever told its name.
        case living
        /// Its audience is over, and `state` is to say so before anything is taken away: `leaving` once Kafka has that.
        case toBeVoided
        /// Its members are removed, a few at a time: `gone` with the last.
        case leaving

        /// Its audience is over.
        var isOver: Bool {
            switch self {
            case .toBeVoided, .leaving: true
            case .gone, .living: false
            }
        }
    }

    private(set) var standing = Standing.gone
    /// Differs from use to use of this place.
    private(set) var generation: UInt32 = 0
    private(set) var partition = PartitionIndex.none
    private(set) var app: UInt16 = 0
    /// The audience's id, UTF-8; empty while a restore has met members alone.
    private(set) var id: [UInt8] = []
    /// How its members' records name the audience.
    private(set) var reference: UInt64 = 0
    private(set) var versions = CrowdVersions()
    /// Up to one an environment, and one for each channel that members name.
    var passes: [Pass] = []
    /// What it has of start members.
    var starts = CrowdStarts()
    /// When the newest update member joined, seconds since 1970.
    private(set) var lastJoinSeconds: Int64 = 0

    /// When the audience's owner, who has forgotten it, is asked anew; steady.
    private(set) var askAtMillis: Int64 = .max

    /// Whether an operator has stopped its passes.
    var pause = CrowdPause.goesOn
    /// When a push with priority 10 last left, steady.
    private var lastHighMillis: Int64 = .min
    /// Members came from other audiences by records that were taken late: until then, seconds since 1970, no mark of a move is given up.
    private(set) var lateMovesUntilSeconds: Int64 = 0

    /// What is written down.
    private(set) var records = CrowdRecords()

    /// What is told to the owner, and in outcomes.
    var reports = CrowdReports()

    /// What a restore has read, until that is over.
    private(set) var takeover = CrowdRestore()

    /// The newest version has been brought to all that it will be brought to.
    @inline(__always) var isFinished: Bool {
        for index in self.passes.indices where !self.passes[index].isFinished { return false }
        return true
    }
    /// Its passes may meet members, if its partition's owner may push at all.
    @inline(__always) var mayServe: Bool { self.records.isDurable && !self.versions.isEmpty && !self.isPaused }
    /// When something is due that no pass, start or report brings about; steady. `Int64.max`: nothing is.
    @inline(__always) func nextDueMillis(now: EngineTime) -> Int64 {
        let expires = self.versions.nextExpirySeconds
        let expiry = expires == .max ? .max : now.steadyMillis + max(0, expires * 1_000 - now.wallMillis)
        return min(expiry, self.records.progressDueMillis(nowMillis: now.steadyMillis), self.askAtMillis)
    }
    /// The pass over that ring.
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
    /// When a start is sent to nobody any longer, seconds since 1970: it has expired, or what it would show is stale.
    /// Inlined, as a crowd that is handed to a function is copied.
    @inline(__always) var startEndsSeconds: Int64 {
        guard self.starts.hasOrder else { return self.starts.orderExpiresSeconds }
        let last = self.versions.count - 1
        let showsNewest = last >= 0 && self.starts.orderShows(self.versions.kept[last])
        let stale = showsNewest ? self.versions.kept[last].layer.staleSeconds : self.starts.orderStaleSeconds
        return min(self.starts.orderExpiresSeconds, stale)
    }
    /// Those in which it has members, or had some; one bit each.
    var environments: UInt8 {
        (self.passes.map(\.environment) + self.starts.rounds.map(\.environment)).reduce(0) {
            $0 | AudienceChannels.bit($1)
        }
    }

    // MARK: Its life

    /// It is made for an audience, whose first member is about to come.
    mutating func begin(app: UInt16, id: [UInt8], reference: UInt64, partition: PartitionIndex) {
        self.standing = .living
        self.partition = partition
        self.app = app
        self.id = id
        self.reference = reference
    }
    /// Nothing of it is left: its place is free.
    mutating func end() {
        let generation = self.generation &+ 1
        self = Crowd()
        self.generation = generation
    }
    /// A join has told its name, which a restore had not met.
    mutating func named(app: UInt16, id: [UInt8]) {
        self.restoredName(app: app, id: id)
        self.takeover = CrowdRestore()
    }
    /// The owner has forgotten the audience, and nobody has joined since.
    mutating func voided() {
        self.versions.leave()
        // No record that takes something away may be there without the void: who reads the void again would take the members for those of the next
        // life.
        self.standing = .toBeVoided
    }
    /// The void lies in `state`.
    /// - Returns: whether it has waited for that.
    mutating func voidAcknowledged() -> Bool {
        guard self.standing == .toBeVoided else { return false }
        self.standing = .leaving
        return true
    }
    /// Its members are removed from here on: nobody has told its name, or a restore has read that the audience is over.
    mutating func left() { self.standing = .leaving }

    // MARK: Members and their owner

    /// An update member has joined, or said something new.
    @inline(__always) mutating func joined(seconds: UInt32) {
        self.lastJoinSeconds = max(self.lastJoinSeconds, Int64(seconds))
    }
    /// A join tells the audience's name that no record has told; none of what a restore has read counts.
    mutating func introduced(joinedSeconds: UInt32) {
        self.takeover = CrowdRestore()
        self.lastJoinSeconds = Int64(joinedSeconds)
    }
    /// The audience's owner is to be asked anew.
    mutating func ask(atMillis millis: Int64) { self.askAtMillis = millis }
    /// It has been.
    mutating func asked() { self.askAtMillis = .max }

    // MARK: Members that come from other audiences

    /// A move is within the hour for so long; a join says its time in whole seconds.
    private static var movedSeconds: Int64 { RollingBudget.windowMillis / 1_000 + 1 }
    /// A member comes from another audience. Its record may be older than its last push there.
    mutating func moved(joinedSeconds: UInt32, nowSeconds: Int64) {
        guard nowSeconds > Int64(joinedSeconds) + 1 else { return }
        // Written down once a minute, however many come.
        let until = nowSeconds + Self.movedSeconds
        guard until > self.lateMovesUntilSeconds else { return }
        self.lateMovesUntilSeconds = until + 60
        self.records.progressed()
    }
    /// Whether a member that came from another audience, and joined then, may have had its tens there no more within the hour.
    @inline(__always) func isMoveOver(joinedSeconds: UInt32, nowSeconds: Int64) -> Bool {
        nowSeconds >= Int64(joinedSeconds) + Self.movedSeconds && nowSeconds >= self.lateMovesUntilSeconds
    }
    /// A push with priority 10 leaves, or may have left until now.
    @inline(__always) mutating func sentHigh(nowMillis: Int64) { self.lastHighMillis = nowMillis }
    /// Whether its members may have had priority 10 within the hour.
    func hasHadTens(nowMillis: Int64) -> Bool {
        self.lastHighMillis != .min && self.lastHighMillis + RollingBudget.windowMillis > nowMillis
    }

    // MARK: Versions

    /// A newer version has come. Passes are told apart.
    /// - Returns: of each that was kept, the oldest first, whether it is dropped.
    mutating func take(_ version: Version) -> [Bool] { self.versions.take(version) }
    /// The newest version is told again, as which of its channels serve has changed.
    /// - Returns: whether anything is new.
    mutating func takesTurn(of version: Version) -> Bool {
        guard self.versions.takeTurn(of: version) else { return false }
        self.starts.contentChanged()
        return true
    }
    /// The alert has expired with the version that brought it.
    /// - Returns: where an older version lies whose alert is owed in its place; `nil`: no alert is owed now.
    mutating func expireAlert(nowSeconds: Int64) -> Int? {
        // A member that gets the alert's own version cannot return to an older one.
        self.versions.expireAlert(mayReturn: self.passes.allSatisfy { $0.course.alone == nil }, nowSeconds: nowSeconds)
    }
    /// The newest has expired: members that it leaves unserved get the one before.
    mutating func expireNewest() {
        self.versions.expireNewest()
        self.starts.contentChanged()
        self.records.progressed()
    }
    /// The crowd is made for the start members of another, whose audience is over.
    mutating func takeOver(_ starts: CrowdStarts, ofLife life: Int64) {
        self.starts = starts
        self.versions.endLife(life, isEnded: true)
    }
    /// Nothing that was shown is for anybody now.
    mutating func endLife() { self.versions.endLife() }
    /// The owner has forgotten a life, and members wait for the next.
    mutating func endLife(_ life: Int64, isEnded: Bool) { self.versions.endLife(life, isEnded: isEnded) }
    /// The owner has forgotten the audience: whether members leave, and do not wait for what comes next. They joined before its end, or so long ago that
    /// their cards are over.
    func isOver(by void: BusRecord.Void, lifetimeMillis: Int64, nowSeconds: Int64) -> Bool {
        self.versions.hasEnded(by: void) || (nowSeconds - self.lastJoinSeconds) * 1_000 >= lifetimeMillis
    }
    /// The owner has forgotten the audience: that life is what the crowd's void is of.
    mutating func voidCame(ofLife life: Int64) { self.versions.voidCame(ofLife: life) }
    /// What members get that are owed an alert or not.
    @inline(__always) mutating func appendBody(hasAlert: Bool, isAlone: Bool, to body: inout [UInt8]) {
        self.versions.appendBody(hasAlert: hasAlert, isAlone: isAlone, to: &body)
    }

    // MARK: What is written down

    /// Something that a progress record tells of has happened.
    @inline(__always) mutating func progressed() { self.records.progressed() }
    /// A pass has met a member.
    @inline(__always) mutating func met() { self.records.met() }
    /// What is written down of its versions.
    func versionsRecord(epoch: Int64) -> VersionsRecord {
        var record = self.versions.record(epoch: epoch)
        // The version that brought a start may have expired before it.
        if let order = self.starts.order, !(record.versions.last?.start.map { $0.isSame(as: order) } ?? false) {
            record.orders = [order]
        }
        return record
    }
    mutating func versionsWritten() { self.records.versionsWritten() }
    /// Passes at priority 10 go as far as the record that is written now allows.
    mutating func progressWritten(in table: borrowing MemberTable, nowMillis: Int64) {
        self.records.progressWritten(nowMillis: nowMillis)
        for pass in self.passes.indices {
            self.passes[pass].extendHorizon(
                members: self.records.horizonCount, of: table.count(of: self.passes[pass].ring))
        }
    }
    /// Nobody is served before Kafka has the versions that were written last.
    mutating func awaitVersions() { self.records.awaitVersions() }
    /// Nobody is served before Kafka has the progress that was written last.
    mutating func awaitProgress() { self.records.awaitProgress() }
    /// Kafka has a record of versions.
    /// - Returns: whether it is the last one.
    mutating func versionsAcknowledged(_ number: UInt32) -> Bool { self.records.versionsAcknowledged(number) }
    /// Kafka has a record of progress. With the last one passes go on as far as it says.
    mutating func progressAcknowledged(_ number: UInt32) {
        guard self.records.progressAcknowledged(number) else { return }
        for pass in self.passes.indices { self.passes[pass].progressWritten() }
    }

    // MARK: A restore

    /// A member's record was read, and it is not known yet whether the member is served.
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
    /// The owner had forgotten that life, and the crowd was leaving.
    mutating func restoredVoid(ofLife life: Int64) {
        self.versions.voidCame(ofLife: life)
        self.versions.leave()
        self.starts.ordersRead([])
    }
    /// The tombstone of one of its records was read: its last member had gone. Without it a later crowd of that name would have versions of a life before.
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
        // Nothing tells its name now: its members came after it, and name it with joins that come again.
        self.id = []
        for pass in self.passes.indices { self.passes[pass].named(lane: .none) }
    }
    /// A restore is over, and what it has read is given back: versions go on as the progress says.
    mutating func resume(nowMillis: Int64) -> CrowdRestore.Outcome {
        let restored = self.takeover.settle(&self.versions)
        self.takeover = CrowdRestore()
        self.lateMovesUntilSeconds = restored.progress.lateMovesUntilSeconds
        // The owner before may have used priority 10 until now.
        if !self.versions.isEmpty { self.sentHigh(nowMillis: nowMillis) }
        return restored
    }
    /// A restore is over, and the crowd leaves, or nobody has told its name: whom it serves is all the same.
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
