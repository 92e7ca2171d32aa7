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
    /// Versions kept for those that a newer one leaves unserved when it expires; at least two.
    static let versionsMax = 3

    var standing = Standing.gone
    /// Differs from use to use of this place.
    var generation: UInt32 = 0
    var partition = PartitionIndex.none
    var app: UInt16 = 0
    /// The audience's id, UTF-8; empty while a restore has met members alone.
    var id: [UInt8] = []
    /// How its members' records name the audience.
    var reference: UInt64 = 0
    /// Of the newest version; 0: there was none.
    var life: Int64 = 0
    /// The owner has said that this life is over.
    var isLifeOver = false
    var stampSeconds: Int64 = 0
    /// The newest last. An older one outlives those behind it.
    var versions: [Version] = []
    /// Whose alert is still owed to some.
    var alert: Version?
    /// Up to one an environment, and one for each channel that members name.
    var passes: [Pass] = []
    /// The audience's channels, as its owner told last.
    var channels: [VersionChannel] = []
    var turn: UInt32 = 0
    /// What it has of start members.
    var starts = CrowdStarts()
    /// When the newest update member joined, seconds since 1970.
    var lastJoinSeconds: Int64 = 0

    /// When the audience's owner, who has forgotten it, is asked anew; steady.
    var askAtMillis: Int64 = .max

    /// Whether an operator has stopped its passes.
    var pause = CrowdPause.goesOn
    /// When a push with priority 10 last left, steady.
    var lastHighMillis: Int64 = .min
    /// Members came from other audiences by records that were taken late: until then, seconds since 1970, no mark of a move is given up.
    var lateMovesUntilSeconds: Int64 = 0

    /// What is written down.
    var records = CrowdRecords()

    // Made when first needed, for all that get the same.
    var plainBody: [UInt8] = []
    var alertBody: [UInt8] = []
    var aloneBody: [UInt8] = []

    /// What is told to the owner, and in outcomes.
    var reports = CrowdReports()

    /// Of a restore: members read and where their records lie, until it is known which of them are served.
    var restoredJoins: [RestoredJoin] = []
    var restoredProgress: PassesRecord?
    var hasRestoredVersions = false

    var newest: Version? { self.versions.last }
    /// Whether a version is newer than all that have come. One of a life that is over was on its way when the void came, and is for nobody.
    func takes(_ version: Version) -> Bool {
        let isOver = self.isLifeOver && version.life <= self.life
        return !isOver && version.isNewer(thanLife: self.life, stampSeconds: self.stampSeconds)
    }
    /// The alert has expired with the version that brought it: where an older one lies that may still be sent.
    ///
    /// An owner says an alert once more with the next version as long as it does not know that it has been told, and that version may expire first.
    func alertBefore(nowSeconds: Int64) -> Int? {
        guard let alert = self.alert, self.passes.allSatisfy({ $0.course.alone == nil }) else { return nil }
        return self.versions.lastIndex {
            $0.hasAlert && $0.stampSeconds < alert.stampSeconds && !$0.isExpired(nowSeconds: nowSeconds)
        }
    }
    /// Drops the alerts of versions that are kept. An alert that is not older than the version's own stays: it came after those that are withdrawn.
    mutating func withdrawAlerts(by version: Version) {
        for index in self.versions.indices
        where !version.hasAlert || self.versions[index].layer.alertSeconds < version.layer.alertSeconds {
            self.versions[index].layer.alert = ByteRange()
        }
    }
    /// An alert is owed that does not fit beside the newest content.
    var alertGoesAlone: Bool {
        guard let alert = self.alert, let newest = self.newest, alert.stampSeconds != newest.stampSeconds else {
            return false
        }
        return !newest.fits(alertOf: alert)
    }
    /// The newest version has been brought to all that it will be brought to.
    @inline(__always) var isFinished: Bool {
        for index in self.passes.indices where !self.passes[index].isFinished { return false }
        return true
    }
    /// The pass over that ring.
    @inline(__always) func passIndex(of ring: RingID) -> Int? {
        for index in self.passes.indices where self.passes[index].ring == ring { return index }
        return nil
    }
    /// The channel that members of a pass listen on, if it is the audience's.
    func channel(ofPass pass: Int) -> VersionChannel? {
        guard self.passes[pass].channelNumber != nil, !self.passes[pass].channelID.isEmpty else { return nil }
        return self.channels.first {
            $0.environment == self.passes[pass].environment && $0.id == self.passes[pass].channelID
        }
    }
    /// The channel that phones started in an environment are told to listen on; empty: none is open.
    func openChannel(_ environment: PushEnvironment) -> [UInt8] {
        self.channels.first { $0.environment == environment && $0.isOpen }?.id ?? []
    }
    @inline(__always) func isAlertExpired(nowSeconds: Int64) -> Bool {
        self.alert?.isExpired(nowSeconds: nowSeconds) ?? false
    }
    @inline(__always) func isNewestExpired(nowSeconds: Int64) -> Bool {
        !self.versions.isEmpty && self.versions[self.versions.count - 1].isExpired(nowSeconds: nowSeconds)
    }
    /// When a start is sent to nobody any longer, seconds since 1970: it has expired, or what it would show is stale.
    /// Inlined, as a crowd that is handed to a function is copied.
    @inline(__always) var startEndsSeconds: Int64 {
        guard self.starts.hasOrder else { return self.starts.orderExpiresSeconds }
        let last = self.versions.count - 1
        let showsNewest = last >= 0 && self.starts.orderShows(self.versions[last])
        let stale = showsNewest ? self.versions[last].layer.staleSeconds : self.starts.orderStaleSeconds
        return min(self.starts.orderExpiresSeconds, stale)
    }
    /// What a push says beside the body.
    /// - Parameter isAlone: the alert's own version, and not the newest.
    @inline(__always) func facts(isAlone: Bool) -> VersionFacts {
        if isAlone { return self.alert.map(VersionFacts.init) ?? VersionFacts() }
        return self.versions.isEmpty ? VersionFacts() : VersionFacts(self.versions[self.versions.count - 1])
    }
    /// Those in which it has members, or had some; one bit each.
    var environments: UInt8 {
        (self.passes.map(\.environment) + self.starts.rounds.map(\.environment)).reduce(0) {
            $0 | AudienceChannels.bit($1)
        }
    }
    mutating func forgetBodies() {
        self.plainBody = []
        self.alertBody = []
        self.aloneBody = []
    }
}
