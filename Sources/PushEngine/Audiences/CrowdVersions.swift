import APNSProtocol
import PushModel

/// The versions of an audience that one of its crowds is sent: their life, those kept beneath the newest, and the alert
/// that is owed.
///
/// Whatever every push reads of it is inlined: what is handed to a function is copied, and versions are large.
struct CrowdVersions {
    /// The phase of the life.
    enum Stage: UInt8 {
        /// No version of it has arrived, or its owner has forgotten it. To `going` with a version, to `over` when its
        /// owner says that it has ended.
        case awaited
        /// Versions of it arrive; they may have expired since. To `awaited` when its owner forgets it, to `over` when
        /// its owner says that it has ended.
        case going
        /// It has ended: a version of it was on its way when the void arrived, and is for nobody. To `going` with a
        /// version of a later life, to `awaited` when the owner forgets a later one.
        case over
    }
    /// Maximum number of versions kept for members that a newer one leaves unserved when it expires; at least two.
    static let countMax = 3

    private(set) var stage = Stage.awaited
    /// The life of the newest version that has arrived, or of the void that followed it; 0: neither has.
    private(set) var life: Int64 = 0
    /// The newest version's stamp in that life; 0: none has arrived.
    private(set) var stampSeconds: Int64 = 0
    /// Versions kept, the newest last. An older one outlives those behind it.
    private(set) var kept: [Version] = []
    /// The version whose alert is still owed to some members.
    private(set) var alert: Version?
    /// The audience's channels, as its owner sent them last.
    private(set) var channels: [VersionChannel] = []
    private(set) var turn: UInt32 = 0

    // Bodies made when first needed, for all members that get the same.
    private var plainBody: [UInt8] = []
    private var alertBody: [UInt8] = []
    private var aloneBody: [UInt8] = []

    @inline(__always) var isEmpty: Bool { self.kept.isEmpty }
    @inline(__always) var count: Int { self.kept.count }
    var newest: Version? { self.kept.last }
    /// Whether a version is newer than all that have arrived, and of a life that is not over.
    func takes(_ version: Version) -> Bool {
        let isOver = self.stage == .over && version.life <= self.life
        return !isOver && version.isNewer(thanLife: self.life, stampSeconds: self.stampSeconds)
    }
    /// Whether a void that says so means the life that is here. A life without a version is not meant: the void is
    /// older, or a repetition.
    func hasEnded(by void: BusRecord.Void) -> Bool {
        // The end itself may have expired here.
        void.isEnded && self.stage == .going || self.newest?.isEnd ?? false
    }
    /// Whether an alert is owed that does not fit beside the newest content.
    var alertGoesAlone: Bool {
        guard let alert = self.alert, let newest = self.newest, alert.stampSeconds != newest.stampSeconds else {
            return false
        }
        return !newest.fits(alertOf: alert)
    }
    @inline(__always) func isAlertExpired(nowSeconds: Int64) -> Bool {
        self.alert?.isExpired(nowSeconds: nowSeconds) ?? false
    }
    @inline(__always) func isNewestExpired(nowSeconds: Int64) -> Bool {
        !self.kept.isEmpty && self.kept[self.kept.count - 1].isExpired(nowSeconds: nowSeconds)
    }
    /// When the first of them expires, seconds since 1970; `Int64.max`: none does.
    @inline(__always) var nextExpirySeconds: Int64 {
        var next = self.alert?.layer.expiresSeconds ?? .max
        for index in self.kept.indices { next = min(next, self.kept[index].layer.expiresSeconds) }
        return next
    }
    /// What a push needs besides the body.
    /// - Parameter isAlone: whether the alert's own version is sent, and not the newest.
    @inline(__always) func facts(isAlone: Bool) -> VersionFacts {
        if isAlone { return self.alert.map(VersionFacts.init) ?? VersionFacts() }
        return self.kept.isEmpty ? VersionFacts() : VersionFacts(self.kept[self.kept.count - 1])
    }
    /// Id of the channel that phones started in an environment are told to listen on; empty: none is open.
    func openChannel(_ environment: PushEnvironment) -> [UInt8] {
        self.channels.first { $0.environment == environment && $0.isOpen }?.id ?? []
    }
    /// Appends the body for members that are owed an alert, or for those that are not. Made once for all.
    mutating func appendBody(hasAlert: Bool, isAlone: Bool, to body: inout [UInt8]) {
        if isAlone {
            if self.aloneBody.isEmpty { self.alert?.appendBody(alertOf: self.alert, to: &self.aloneBody) }
            body.append(contentsOf: self.aloneBody)
        } else if hasAlert {
            if self.alertBody.isEmpty { self.newest?.appendBody(alertOf: self.alert, to: &self.alertBody) }
            body.append(contentsOf: self.alertBody)
        } else {
            if self.plainBody.isEmpty { self.newest?.appendBody(alertOf: nil, to: &self.plainBody) }
            body.append(contentsOf: self.plainBody)
        }
    }
    private mutating func forgetBodies() {
        self.plainBody = []
        self.alertBody = []
        self.aloneBody = []
    }

    // MARK: What happens

    /// Takes a newer version.
    /// - Returns: for each version that was kept, the oldest first, whether it is dropped.
    mutating func take(_ version: Version) -> [Bool] {
        if version.life != self.life { self.endLife() }
        if version.withdrawsAlert { self.withdrawAlerts(by: version) }
        var dropped = self.kept.map { $0.layer.expiresSeconds <= version.layer.expiresSeconds }
        // The oldest lives longest: without it there would be nothing to show in the end.
        if dropped.count >= Self.countMax, dropped.allSatisfy({ !$0 }) { dropped[1] = true }
        if version.hasAlert {
            self.alert = version
        } else if version.withdrawsAlert {
            self.alert = nil
        }
        self.kept = zip(self.kept, dropped).compactMap { $1 ? nil : $0 } + [version]
        self.life = version.life
        self.stage = .going
        self.stampSeconds = version.stampSeconds
        self.channels = version.channels
        self.turn = version.turn
        self.forgetBodies()
        return dropped
    }
    /// Drops the alerts of versions that are kept. An alert that is not older than the version's own stays: it is newer
    /// than those that are withdrawn.
    private mutating func withdrawAlerts(by version: Version) {
        for index in self.kept.indices
        where !version.hasAlert || self.kept[index].layer.alertSeconds < version.layer.alertSeconds {
            self.kept[index].layer.alert = ByteRange()
        }
    }
    /// Takes the newest version again, because which of its channels serve has changed.
    /// - Returns: whether anything is new.
    mutating func takeTurn(of version: Version) -> Bool {
        guard version.life == self.life, version.stampSeconds == self.stampSeconds, version.turn > self.turn else {
            return false
        }
        self.turn = version.turn
        self.channels = version.channels
        for index in self.kept.indices where self.kept[index].stampSeconds == version.stampSeconds {
            self.kept[index].turn = version.turn
            self.kept[index].channels = version.channels
        }
        return true
    }
    /// Forgets the alert, which has expired with the version that brought it. An older version's alert that may still
    /// be sent is owed in its place.
    ///
    /// An owner repeats an alert with the next version until it knows that the alert has been sent. The next version
    /// may expire first.
    /// - Parameter mayReturn: `false`: members get the alert's own version, and cannot return to an older one.
    /// - Returns: index of the older version; `nil`: no alert is owed now.
    mutating func expireAlert(mayReturn: Bool, nowSeconds: Int64) -> Int? {
        guard let alert = self.alert else { return nil }
        let former = self.kept.lastIndex {
            mayReturn && $0.hasAlert && $0.stampSeconds < alert.stampSeconds && !$0.isExpired(nowSeconds: nowSeconds)
        }
        self.alert = former.map { self.kept[$0] }
        self.forgetBodies()
        return former
    }
    /// Drops the newest version, which has expired. Members that it leaves unserved get the one before.
    mutating func expireNewest() {
        self.kept.removeLast()
        self.forgetBodies()
    }
    /// Drops what was shown: nothing of it is for anybody now.
    mutating func endLife() {
        self.leave()
        self.channels = []
        self.turn = 0
        self.stampSeconds = 0
        if self.stage == .going { self.stage = .awaited }
    }
    /// Drops all versions: the crowd's members leave, and none is for anybody here.
    mutating func leave() {
        self.kept = []
        self.alert = nil
        self.forgetBodies()
    }
    /// Ends a life that the owner has forgotten.
    /// - Parameter isEnded: if not, a next owner whose clock is behind may go on with the life.
    mutating func endLife(_ life: Int64, isEnded: Bool) {
        self.endLife()
        self.life = life
        self.stage = isEnded ? .over : .awaited
    }
    /// Notes the life that the owner has forgotten; the crowd is about to leave.
    mutating func voidCame(ofLife life: Int64) { self.life = life }
    /// Forgets the alert: no round owes it to anybody.
    mutating func alertTold() { self.alert = nil }

    // MARK: What state says

    /// The record of the versions.
    func record(epoch: Int64) -> VersionsRecord {
        var record = VersionsRecord()
        record.epoch = epoch
        record.life = self.life
        record.stampSeconds = self.stampSeconds
        record.isLifeOver = self.stage == .over
        record.versions = self.kept
        if let alert = self.alert, alert.stampSeconds != self.newest?.stampSeconds { record.alert = alert }
        return record
    }
    /// Creates the versions from their record.
    init(_ record: VersionsRecord) {
        self.life = record.life
        self.stampSeconds = record.stampSeconds
        self.stage = record.isLifeOver ? .over : record.stampSeconds > 0 ? .going : .awaited
        self.kept = record.versions
        self.alert = record.alert
    }
    init() {}

    /// All versions that a restore has read, the oldest first. The version that brought the alert may no longer be
    /// kept.
    private var read: [Version] {
        guard let alert = self.alert, !self.kept.contains(where: { $0.stampSeconds == alert.stampSeconds }) else {
            return self.kept
        }
        return [alert] + self.kept
    }
    /// Stamps of the versions that have an alert.
    var alertStamps: Set<Int64> { Set(self.read.filter(\.hasAlert).map(\.stampSeconds)) }
    /// Ends a restore. Versions that the progress covers stay; others are taken again, as if they were new. Versions
    /// are known by their own record alone, because progress may be without it.
    /// - Parameter hasRecord: `false`: the versions are known by the progress alone, and are sent again.
    /// - Returns: versions to be taken again, the oldest first.
    mutating func resume(from progress: PassesRecord, hasRecord: Bool) -> [Version] {
        let isOfLife = self.life == progress.life
        let read = self.read
        if !hasRecord { self.life = progress.life }
        self.kept = isOfLife ? self.kept.filter { $0.stampSeconds <= progress.stampSeconds } : []
        self.alert = isOfLife ? read.first { $0.stampSeconds == progress.alertStampSeconds && $0.hasAlert } : nil
        self.channels = self.newest?.channels ?? []
        self.turn = self.newest?.turn ?? 0
        self.stampSeconds = self.newest?.stampSeconds ?? 0
        if self.stage != .over { self.stage = self.kept.isEmpty ? .awaited : .going }
        return read.filter { !isOfLife || $0.stampSeconds > progress.stampSeconds }.sorted {
            $0.stampSeconds < $1.stampSeconds
        }
    }
    /// Notes that a version with that stamp had arrived before the restore, and may have expired since; 0: none had.
    mutating func hasMet(stampSeconds: Int64) {
        guard stampSeconds > 0 else { return }
        self.stampSeconds = stampSeconds
        if self.stage == .awaited { self.stage = .going }
    }
}
