import APNSProtocol
import PushModel

/// The versions of an audience that one of its crowds is sent: their life, the newest version, older ones that are
/// kept, and the alert that is owed.
///
/// Functions that every push calls are inlined, because a value that is passed to a function is copied, and versions
/// are large.
struct CrowdVersions {
    /// The phase of the audience's life.
    enum Stage: UInt8 {
        /// No version of the life has arrived, or the owner has forgotten the audience. Becomes `going` with a version,
        /// or `over` when the owner says that the life has ended.
        case awaited
        /// Versions of the life arrive; they may have expired since. Becomes `awaited` when the owner forgets the
        /// audience, or `over` when the owner says that the life has ended.
        case going
        /// The life has ended. Versions of it that were still on their way when the void arrived are not sent. Becomes
        /// `going` with a version of a later life, or `awaited` when the owner forgets a later life.
        case over
    }
    /// Maximum number of kept versions, the newest included; at least two. Members that the newest version does not
    /// reach before it expires get an older one.
    static let countMax = 3

    private(set) var stage = Stage.awaited
    /// The life of the newest version or void that has arrived; 0: none has arrived.
    private(set) var life: Int64 = 0
    /// Stamp of the newest version of `life`; 0: none has arrived.
    private(set) var stampSeconds: Int64 = 0
    /// The versions that are kept, the newest last. Each one expires later than those after it.
    private(set) var kept: [Version] = []
    /// The version whose alert is still owed to some members; `nil`: no alert is owed.
    private(set) var alert: Version?
    /// The audience's channels, as its owner last announced them.
    private(set) var channels: [VersionChannel] = []
    private(set) var channelRevision: UInt32 = 0

    /// The newest version's body without alert; empty: not needed yet. Members that get the same content share a body.
    private var plainBody: [UInt8] = []
    /// The newest version's body with the alert that is owed; empty: not needed yet.
    private var alertBody: [UInt8] = []
    /// The body of the version that brought the alert; empty: not needed yet.
    private var aloneBody: [UInt8] = []

    @inline(__always) var isEmpty: Bool { self.kept.isEmpty }
    @inline(__always) var count: Int { self.kept.count }
    var newest: Version? { self.kept.last }
    /// Whether a version is newer than all that have arrived, and belongs to a life that is not over.
    func takes(_ version: Version) -> Bool {
        let isOver = self.stage == .over && version.life <= self.life
        return !isOver && version.isNewer(thanLife: self.life, stampSeconds: self.stampSeconds)
    }
    /// Whether the life that is known here has ended for good, now that a void has arrived. It has ended if the newest
    /// version is an end, or if the void says so and a version of the life has arrived.
    func hasEnded(by void: BusRecord.Void) -> Bool {
        // The version that ends the life may have expired here.
        void.isEnded && self.stage == .going || self.newest?.isEnd ?? false
    }
    /// Whether an alert is owed that does not fit into one push with the newest content.
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
    /// When a kept version or the owed alert expires next, seconds since 1970; `Int64.max`: never.
    @inline(__always) var nextExpirySeconds: Int64 {
        var next = self.alert?.layer.expiresSeconds ?? .max
        for index in self.kept.indices { next = min(next, self.kept[index].layer.expiresSeconds) }
        return next
    }
    /// What a push needs besides the body.
    /// - Parameter isAlone: whether the alert's own version is sent instead of the newest.
    @inline(__always) func facts(isAlone: Bool) -> VersionFacts {
        if isAlone { return self.alert.map(VersionFacts.init) ?? VersionFacts() }
        return self.kept.isEmpty ? VersionFacts() : VersionFacts(self.kept[self.kept.count - 1])
    }
    /// Id of the open channel in the environment, on which a start lets phones listen; empty: no channel is open.
    func openChannel(_ environment: PushEnvironment) -> [UInt8] {
        self.channels.first { $0.environment == environment && $0.isOpen }?.id ?? []
    }
    /// Appends the body of a push, with the alert or without it. Each body is made once, and shared by all members.
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
        // The oldest version expires last. It is kept, because members get it when all newer versions have expired.
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
        self.channelRevision = version.channelRevision
        self.forgetBodies()
        return dropped
    }
    /// Drops the alerts of kept versions, because `version` withdraws alerts. If `version` has an alert itself, only
    /// older alerts are dropped.
    private mutating func withdrawAlerts(by version: Version) {
        for index in self.kept.indices
        where !version.hasAlert || self.kept[index].layer.alertSeconds < version.layer.alertSeconds {
            self.kept[index].layer.alert = ByteRange()
        }
    }
    /// Takes the newest version's list of channels, if the list is newer than the one that is known here.
    /// - Returns: whether the list is newer.
    mutating func takeChannels(of version: Version) -> Bool {
        guard version.life == self.life, version.stampSeconds == self.stampSeconds,
            version.channelRevision > self.channelRevision
        else {
            return false
        }
        self.channelRevision = version.channelRevision
        self.channels = version.channels
        for index in self.kept.indices where self.kept[index].stampSeconds == version.stampSeconds {
            self.kept[index].channelRevision = version.channelRevision
            self.kept[index].channels = version.channels
        }
        return true
    }
    /// Forgets the alert, which has expired with the version that brought it. If an older version's alert may still be
    /// sent, the older alert is owed instead.
    ///
    /// The audience's owner repeats an alert with the next version until the owner knows that the alert has been sent.
    /// The next version may expire before the version that first had the alert.
    /// - Parameter mayReturn: whether an older alert may be owed. It may not be while a pass brings the expired alert
    ///   alone.
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
    /// Drops the newest version, which has expired. Members that it did not reach get the previous one.
    mutating func expireNewest() {
        self.kept.removeLast()
        self.forgetBodies()
    }
    /// Drops all versions of the life. Nobody is owed them now.
    mutating func endLife() {
        self.leave()
        self.channels = []
        self.channelRevision = 0
        self.stampSeconds = 0
        if self.stage == .going { self.stage = .awaited }
    }
    /// Drops all versions and the alert, because the life has ended or the crowd's members leave.
    mutating func leave() {
        self.kept = []
        self.alert = nil
        self.forgetBodies()
    }
    /// Ends a life that the owner has forgotten.
    /// - Parameter isEnded: whether the life has ended for good. If not, a next owner whose clock is behind may
    ///   continue it.
    mutating func endLife(_ life: Int64, isEnded: Bool) {
        self.endLife()
        self.life = life
        self.stage = isEnded ? .over : .awaited
    }
    /// Sets the life that the owner has forgotten. The crowd's members are about to be removed.
    mutating func voidCame(ofLife life: Int64) { self.life = life }
    /// Forgets the alert, because nobody is owed it.
    mutating func forgetOwedAlert() { self.alert = nil }

    // MARK: What state says

    /// Makes the `state` record of the versions.
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

    /// All versions that a restore has read. The version that brought the alert is among them, even if it is not kept.
    private var read: [Version] {
        guard let alert = self.alert, !self.kept.contains(where: { $0.stampSeconds == alert.stampSeconds }) else {
            return self.kept
        }
        return [alert] + self.kept
    }
    /// Stamps of the versions with an alert that a restore has read.
    var alertStamps: Set<Int64> { Set(self.read.filter(\.hasAlert).map(\.stampSeconds)) }
    /// Ends a restore. Versions that the progress covers are kept. The others are returned, and taken again as if they
    /// were new.
    /// - Parameter hasRecord: whether a record of the versions was read. If not, only the progress names the life, and
    ///   all versions of that life that the owner sends are new here.
    /// - Returns: versions to be taken again, the oldest first.
    mutating func resume(from progress: PassesRecord, hasRecord: Bool) -> [Version] {
        let isOfLife = self.life == progress.life
        let read = self.read
        if !hasRecord { self.life = progress.life }
        self.kept = isOfLife ? self.kept.filter { $0.stampSeconds <= progress.stampSeconds } : []
        self.alert = isOfLife ? read.first { $0.stampSeconds == progress.alertStampSeconds && $0.hasAlert } : nil
        self.channels = self.newest?.channels ?? []
        self.channelRevision = self.newest?.channelRevision ?? 0
        self.stampSeconds = self.newest?.stampSeconds ?? 0
        if self.stage != .over { self.stage = self.kept.isEmpty ? .awaited : .going }
        return read.filter { !isOfLife || $0.stampSeconds > progress.stampSeconds }.sorted {
            $0.stampSeconds < $1.stampSeconds
        }
    }
    /// Sets the stamp of the newest version that had arrived before the restore, even if it has expired since. 0: none
    /// had arrived.
    mutating func hasMet(stampSeconds: Int64) {
        guard stampSeconds > 0 else { return }
        self.stampSeconds = stampSeconds
        if self.stage == .awaited { self.stage = .going }
    }
}
