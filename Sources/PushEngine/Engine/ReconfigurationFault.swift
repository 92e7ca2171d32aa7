/// What of another configuration an engine that runs cannot take.
public struct ReconfigurationFault: Equatable, Sendable {
    /// Which setting is meant.
    public enum What: String, Equatable, Sendable {
        /// The apps there are.
        case apps
        /// An environment of an app.
        case environments = "apns.environments"
        /// What a running engine does not change; the names are those of the settings.
        case placement, topics
        case requestTimeout = "apns.request-timeout"
        case audienceChannel = "audience.channel"
        case audienceChannelStorage = "audience.channel-storage"
        case channelStorage = "channel.storage"
        case channelLinger = "channel.linger"
        case channelsExclusive = "channels.exclusive"
        case channelsWarm = "channels.warm"
        /// What no setting says.
        case other = "the engine"
    }
    /// Why.
    public enum Cause: Equatable, Sendable {
        /// The app, or its environment, is gone or stands elsewhere in the list.
        case gone
        /// The value is kept as long as the engine lives.
        case fixed
        /// `state` holds records of the app that this engine passed over when it took its partitions over.
        case passedOver
    }

    /// The app's bundle identifier; `nil`: it concerns none.
    public var app: String?
    /// The setting.
    public var what: What
    /// Why it is not taken.
    public var cause: Cause

    /// One thing that is not taken.
    public init(app: String? = nil, what: What, cause: Cause) {
        self.app = app
        self.what = what
        self.cause = cause
    }

    /// The whole name of the setting.
    public var name: String {
        guard let app = self.app else { return self.what.rawValue }
        return self.what == .apps ? "apps.\(app)" : "apps.\(app).\(self.what.rawValue)"
    }

    /// What an operator is told of it.
    public var text: String {
        switch self.cause {
        case .gone: "is gone: it needs a restart"
        case .fixed: "is another: it needs a restart"
        case .passedOver: "is new, but state holds records of it that this worker has passed over: it needs a restart"
        }
    }

    /// By the two configurations alone.
    static func all(from old: EngineConfiguration, to new: EngineConfiguration) -> [Self] {
        var faults: [Self] = []
        func fixed(_ what: What, _ isSame: Bool, app: String? = nil) {
            if !isSame { faults.append(Self(app: app, what: what, cause: .fixed)) }
        }
        fixed(.topics, old.inputTopics == new.inputTopics && old.routedTopicIndex == new.routedTopicIndex)
        fixed(.placement, old.settings.placement == new.settings.placement)
        fixed(.requestTimeout, old.settings.requestTimeoutMillis == new.settings.requestTimeoutMillis)
        fixed(
            .other,
            old.partitionCount == new.partitionCount && old.clusterID == new.clusterID
                && old.settings.lifetimeMillis == new.settings.lifetimeMillis
                && old.settings.channelMinuteMillis == new.settings.channelMinuteMillis)
        for (index, before) in old.apps.enumerated() {
            // Slots name an app by its index.
            guard index < new.apps.count, new.apps[index].bundleID == before.bundleID else {
                faults.append(Self(app: before.bundleID, what: .apps, cause: .gone))
                continue
            }
            let after = new.apps[index]
            let hadRoutes = before.routes.map { $0 != nil }
            if zip(hadRoutes, after.routes).contains(where: { $0 && $1 == nil }) {
                faults.append(Self(app: before.bundleID, what: .environments, cause: .gone))
            }
            // What a channel was made to be, and what its keeper began with.
            fixed(.audienceChannel, before.audienceChannel == after.audienceChannel, app: before.bundleID)
            fixed(
                .audienceChannelStorage, before.audienceChannelStorage == after.audienceChannelStorage,
                app: before.bundleID)
            fixed(.channelStorage, before.channelStorage == after.channelStorage, app: before.bundleID)
            fixed(.channelLinger, before.channelLingerMillis == after.channelLingerMillis, app: before.bundleID)
            fixed(.channelsExclusive, before.channelsExclusive == after.channelsExclusive, app: before.bundleID)
            fixed(.channelsWarm, before.channelsWarm == after.channelsWarm, app: before.bundleID)
        }
        return faults
    }
}

/// An engine that runs does not take a configuration, and goes on with the one it has.
public struct ReconfigurationRefusal: Error, Equatable, Sendable {
    /// At least one.
    public var faults: [ReconfigurationFault]

    public init(faults: [ReconfigurationFault]) { self.faults = faults }
}

extension ReconfigurationRefusal: CustomStringConvertible {
    public var description: String { self.faults.map { "\($0.name) \($0.text)" }.joined(separator: "; ") }
}

extension AppConfiguration {
    /// In one order for all apps.
    fileprivate var routes: [UInt16?] {
        [
            self.productionRoute, self.developmentRoute, self.productionBroadcastRoute, self.developmentBroadcastRoute,
            self.productionManageRoute, self.developmentManageRoute,
        ]
    }
}

/// Apps whose records of `state` were passed over by restores, as they were not configured then. One that is configured later would be without its
/// activities.
struct PassedOverApps {
    /// More are not told apart: no app is taken any more then.
    static let countMax = 256

    private var bundleIDs: Set<[UInt8]> = []

    mutating func note(_ bundleID: [UInt8]) {
        if self.bundleIDs.count < Self.countMax { self.bundleIDs.insert(bundleID) }
    }

    func contains(_ bundleID: String) -> Bool {
        self.bundleIDs.count >= Self.countMax || self.bundleIDs.contains(Array(bundleID.utf8))
    }

    /// The bundle id in a key such as `a/<bundle id>/<activity>`; `nil`: it names none.
    static func bundleID(ofState key: Span<UInt8>) -> [UInt8]? {
        guard key.count > 2, key[1] == UInt8(ascii: "/") else { return nil }
        var bundleID: [UInt8] = []
        for index in 2..<key.count {
            if key[index] == UInt8(ascii: "/") { return bundleID.isEmpty ? nil : bundleID }
            bundleID.append(key[index])
        }
        return nil
    }
}
