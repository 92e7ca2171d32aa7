/// One reason why an engine that runs cannot take another configuration.
public struct ReconfigurationFault: Equatable, Sendable {
    /// What stands in the way.
    public enum Cause: Equatable, Sendable {
        /// The app is gone, or stands elsewhere in the list.
        case appGone
        /// An environment of the app is gone.
        case environmentGone
        /// `state` holds records of the app that this engine passed over when it took its partitions over.
        case passedOver
        /// A value is another that the engine keeps for its whole life. The rows of settings say which those are, and a changed one is put back before
        /// an engine is asked. This cause therefore tells of a row that is wrong.
        case keptForLife
    }

    /// The app's bundle identifier; `nil`: it concerns none.
    public var app: String?
    /// Why it is not taken.
    public var cause: Cause

    /// One thing that is not taken.
    public init(app: String? = nil, cause: Cause) {
        self.app = app
        self.cause = cause
    }

    /// The setting, or the place in the settings, that is meant.
    public var name: String {
        guard let app = self.app else { return "the engine" }
        return self.cause == .environmentGone ? "apps.\(app).apns.environments" : "apps.\(app)"
    }

    /// What an operator is told of it.
    public var text: String {
        let found =
            switch self.cause {
            case .appGone, .environmentGone: "is gone"
            case .passedOver: "is new, but state holds records of it that this worker has passed over"
            case .keptForLife: "has another value for what is kept for life"
            }
        return "\(found): it needs a restart"
    }

    /// By the two configurations alone.
    static func all(from old: EngineConfiguration, to new: EngineConfiguration) -> [Self] {
        var faults: [Self] = []
        if !old.hasSameLife(as: new) { faults.append(Self(cause: .keptForLife)) }
        for (index, before) in old.apps.enumerated() {
            // Slots name an app by its index.
            guard index < new.apps.count, new.apps[index].bundleID == before.bundleID else {
                faults.append(Self(app: before.bundleID, cause: .appGone))
                continue
            }
            let after = new.apps[index]
            let hadRoutes = before.routes.map { $0 != nil }
            if zip(hadRoutes, after.routes).contains(where: { $0 && $1 == nil }) {
                faults.append(Self(app: before.bundleID, cause: .environmentGone))
            }
            if !before.hasSameLife(as: after) { faults.append(Self(app: before.bundleID, cause: .keptForLife)) }
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

extension EngineConfiguration {
    /// Whether everything is the same that an engine keeps for its whole life, apps aside.
    fileprivate func hasSameLife(as other: Self) -> Bool {
        self.inputTopics == other.inputTopics && self.routedTopicIndex == other.routedTopicIndex
            && self.partitionCount == other.partitionCount && self.clusterID == other.clusterID
            && self.settings.placement == other.settings.placement
            && self.settings.requestTimeoutMillis == other.settings.requestTimeoutMillis
            && self.settings.lifetimeMillis == other.settings.lifetimeMillis
            && self.settings.channelMinuteMillis == other.settings.channelMinuteMillis
    }
}

extension AppConfiguration {
    /// Whether everything is the same that a channel was made to be, and that its keeper began with.
    fileprivate func hasSameLife(as other: Self) -> Bool {
        self.audienceChannel == other.audienceChannel && self.audienceChannelStorage == other.audienceChannelStorage
            && self.channelStorage == other.channelStorage && self.channelLingerMillis == other.channelLingerMillis
            && self.channelsExclusive == other.channelsExclusive && self.channelsWarm == other.channelsWarm
    }

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
