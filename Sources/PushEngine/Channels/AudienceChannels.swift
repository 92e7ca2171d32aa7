import APNSProtocol
import ChannelKeeping
import PushModel

/// What the owner of an audience keeps about the audience's channels (fan-out contract: A channel kept for an
/// audience). There is at most one channel in each environment, for one life. The channels are written at the end of
/// the owner's book.
struct AudienceChannels {
    /// The life as the keeper knows it, seconds since 1970; it only grows. It equals the life of the versions, unless
    /// the keeper knew a later life.
    private(set) var life: Int64 = 0
    /// Revision of the list of channels. It grows with each change, and the versions that the owner keeps get the new
    /// list.
    private(set) var revision: UInt32 = 0
    /// Environments in which partitions have members, one bit each.
    private(set) var environments: UInt8 = 0
    private(set) var all: [Channel] = []
    /// The newest version whose alert some channel has not brought yet: one element, or none.
    private(set) var alerts: [Version] = []
    /// Whether `revision` has changed since partitions were informed. It is not written down: a new owner informs them
    /// again.
    private(set) var isRevisionUnsent = false

    init() {}
    /// Creates the channels from a record of `state`.
    init(
        life: Int64 = 0, revision: UInt32 = 0, environments: UInt8 = 0, all: [Channel] = [], alert: Version? = nil
    ) {
        self.life = life
        self.revision = revision
        self.environments = environments
        self.all = all
        if let alert { self.alerts = [alert] }
    }

    /// Whether there is nothing to be written down.
    var isBlank: Bool { self.life == 0 && self.environments == 0 && self.revision == 0 }
    var alert: Version? { self.alerts.first }
    /// Whether the newest version is broadcast on some channel.
    var areTried: Bool { self.all.contains { $0.isTried } }

    /// One of the channels, accessed in place.
    subscript(_ index: Int) -> Channel {
        _read { yield self.all[index] }
        _modify { yield &self.all[index] }
    }
    func index(_ environment: PushEnvironment) -> Int? { self.all.firstIndex { $0.environment == environment } }
    static func bit(_ environment: PushEnvironment) -> UInt8 { environment == .production ? 1 : 2 }

    /// What a version says of the channels.
    var declared: [VersionChannel] {
        self.all.filter { !$0.id.isEmpty }.map {
            VersionChannel(
                environment: $0.environment, id: $0.id, serves: $0.serves, isOpen: $0.standing == .open,
                takenStampSeconds: $0.takenStampSeconds, takenAlertStampSeconds: $0.takenAlertStampSeconds)
        }
    }
    /// Environments in which the audience may have a channel, but has none.
    func lacking(by rules: OwnerRules) -> [PushEnvironment] {
        guard rules.app.audienceChannel == .auto else { return [] }
        return PushEnvironment.allCases.filter {
            ($0 == .production || self.environments & Self.bit($0) != 0) && self.index($0) == nil
                && rules.app.route($0, .createChannel) != nil && rules.app.route($0, .broadcast) != nil
        }
    }
    /// The next broadcast on one of the channels: a version that the channel has not had, and the alert that goes with
    /// this version. `nil`: the channel has had everything.
    /// - Parameter versions: versions that may be published, the newest last.
    func next(on index: Int, of versions: [Version], nowSeconds: Int64) -> (version: Version, alert: Version?)? {
        let taken = self.all[index].takenStampSeconds
        guard let newest = versions.last(where: { !$0.isExpired(nowSeconds: nowSeconds) }),
            newest.stampSeconds > taken
        else { return nil }
        guard let alert = self.alert, self.all[index].owes(alert), alert.life == newest.life,
            alert.stampSeconds <= newest.stampSeconds,
            !alert.isExpired(nowSeconds: nowSeconds)
        else { return (newest, nil) }
        if alert.stampSeconds == newest.stampSeconds || newest.fitsOnChannel(alertOf: alert) { return (newest, alert) }
        // The alert goes first, with its own version, if the channel has brought neither that version nor a newer one.
        return alert.stampSeconds > taken ? (alert, alert) : (newest, nil)
    }
    /// The stamp up to which versions are no longer broadcast with priority 10. `Int64.max`: no version is broadcast
    /// with priority 10.
    func doneStampSeconds(newest: Version) -> Int64 {
        let stamp = newest.stampSeconds
        var done = Int64.max
        for channel in self.all where channel.takenStampSeconds < stamp {
            if channel.serves { done = min(done, channel.takenStampSeconds) }
            // A version that goes by broadcast and by tokens has taken a unit for each way. Only the newest version is
            // broadcast.
            if channel.isCatchingUp, channel.highStampSeconds == stamp { done = min(done, stamp - 1) }
        }
        return done
    }

    // MARK: The list of channels

    /// Adds environments in which partitions have members.
    /// - Returns: whether one of them is new.
    mutating func add(environments: UInt8) -> Bool {
        guard self.environments | environments != self.environments else { return false }
        self.environments |= environments
        return true
    }
    /// Adds a wanted channel in each of these environments.
    /// - Parameter life: life of the audience, used for its first channel.
    mutating func want(_ environments: [PushEnvironment], life: Int64) {
        if self.life == 0 { self.life = life }
        for environment in environments { self.all.append(Channel(environment: environment)) }
    }
    /// Begins the next life, to which everything that arrives after an end belongs.
    mutating func beginNextLife(atLeast life: Int64) {
        self.all = []
        self.alerts = []
        self.life = max(self.life + 1, life)
    }
    /// Gives up the channels, because the audience is forgotten.
    mutating func giveUp() { self.all = [] }
    /// Takes the keeper's report on a channel. The keeper may know a later life, if the audience was forgotten before,
    /// or the clock has been set back since.
    mutating func take(
        _ news: KeeperNews, of index: Int, newestStampSeconds: Int64, by rules: OwnerRules, now: EngineTime
    ) -> NewsEffect {
        let effect = self.all[index].take(news, newestStampSeconds: newestStampSeconds, by: rules, now: now)
        switch effect {
        case .nothing, .kept, .declared: break
        case .closed: self.all.remove(at: index)
        case .lifeIsOver: self.life = max(self.life + 1, now.wallSeconds)
        }
        return effect
    }

    // MARK: What versions say

    /// Advances the revision, because versions now say something else about the channels.
    mutating func advanceRevision() {
        self.revision &+= 1
        self.isRevisionUnsent = true
    }
    /// Marks the revision as unsent, because a new owner does not know what partitions were sent.
    mutating func revisionMayBeUnsent() { self.isRevisionUnsent = true }
    /// Marks the revision as sent. Partitions are sent the newest version, which describes the channels.
    mutating func revisionIsSent() { self.isRevisionUnsent = false }
    /// Remembers the alert of a version instead of an earlier one. A version that withdraws alerts only removes the
    /// earlier one.
    mutating func keepAlert(of version: Version) {
        if version.hasAlert {
            self.alerts = [version]
        } else if version.withdrawsAlert {
            self.alerts = []
        }
    }
    /// Drops the alert if no channel still has to bring it, or if it has expired.
    mutating func dropAlert(nowSeconds: Int64) {
        guard let alert = self.alerts.first else { return }
        let isOwed = self.all.contains { $0.owes(alert) }
        if !isOwed || alert.isExpired(nowSeconds: nowSeconds) { self.alerts = [] }
    }
}

/// A channel of an audience, as a version describes it.
struct VersionChannel: Equatable {
    var environment: PushEnvironment
    var id: [UInt8]
    /// Whether members that listen on the channel get the version by broadcast.
    var serves: Bool
    /// Whether pushes may ask phones to listen on the channel.
    var isOpen: Bool
    /// Stamp of the newest version that listeners have had.
    var takenStampSeconds: Int64
    /// Stamp of the newest version whose alert needs no broadcast now. Tokens may still be bringing that alert.
    var takenAlertStampSeconds: Int64
}
