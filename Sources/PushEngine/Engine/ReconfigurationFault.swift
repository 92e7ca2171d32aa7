/// One reason why a running engine cannot take another configuration.
public struct ReconfigurationFault: Equatable, Sendable {
    /// What prevents the change of configuration.
    public enum Cause: Equatable, Sendable {
        /// The app is gone, or has another index in the list.
        case appGone
        /// An environment of the app is gone.
        case environmentGone
        /// A restore skipped records of the app in `state`, because the app was not configured then.
        case passedOver
        /// The configurations differ in a value that the engine keeps for its whole life. The worker puts the old value
        /// of such a setting back before it asks an engine. This cause therefore shows a mistake in the worker's table
        /// of settings (`SettingRow`).
        case keptForLife
    }

    /// The app's bundle identifier; `nil`: the fault concerns no app.
    public var app: String?
    /// Why the configuration is refused.
    public var cause: Cause

    /// Creates a fault.
    public init(app: String? = nil, cause: Cause) {
        self.app = app
        self.cause = cause
    }

    /// The path of the refused setting, such as `apps.com.example.pizza`. Without an app it is "the engine".
    public var name: String {
        guard let app = self.app else { return "the engine" }
        return self.cause == .environmentGone ? "apps.\(app).apns.environments" : "apps.\(app)"
    }

    /// The text that an operator is shown.
    public var text: String {
        let found =
            switch self.cause {
            case .appGone, .environmentGone: "is gone"
            case .passedOver: "is new, but state holds records of it that this worker has passed over"
            case .keptForLife: "has another value for something that cannot change in a running worker"
            }
        return "\(found): it needs a restart"
    }

    /// All faults that the two configurations show without a look at the engine.
    static func all(from old: EngineConfiguration, to new: EngineConfiguration) -> [Self] {
        var faults: [Self] = []
        if !old.hasSameLife(as: new) { faults.append(Self(cause: .keptForLife)) }
        for (index, before) in old.apps.enumerated() {
            // Slots name an app by its index, so the index must stay the same.
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

/// The refusal of a configuration by a running engine. The engine continues with its present one.
public struct ReconfigurationRefusal: Error, Equatable, Sendable {
    /// The reasons, at least one.
    public var faults: [ReconfigurationFault]

    public init(faults: [ReconfigurationFault]) { self.faults = faults }
}

extension ReconfigurationRefusal: CustomStringConvertible {
    public var description: String { self.faults.map { "\($0.name) \($0.text)" }.joined(separator: "; ") }
}

extension EngineConfiguration {
    /// Whether all values that an engine keeps for its whole life are equal, apart from those of apps.
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
    /// Whether the two configurations agree in the values with which channels are made and keepers begin.
    fileprivate func hasSameLife(as other: Self) -> Bool {
        self.audienceChannel == other.audienceChannel && self.audienceChannelStorage == other.audienceChannelStorage
            && self.channelStorage == other.channelStorage && self.channelLingerMillis == other.channelLingerMillis
            && self.channelsExclusive == other.channelsExclusive && self.channelsWarm == other.channelsWarm
    }

    /// The app's routes, in the same order for all apps.
    fileprivate var routes: [UInt16?] {
        [
            self.productionRoute, self.developmentRoute, self.productionBroadcastRoute, self.developmentBroadcastRoute,
            self.productionManageRoute, self.developmentManageRoute,
        ]
    }
}

/// Apps whose records of `state` were skipped by restores, because the apps were not configured then. If a running
/// worker added such an app, the app's activities would be missing.
struct PassedOverApps {
    /// Maximum number of apps that are remembered. When it is reached, every new app is refused.
    static let countMax = 256

    private var bundleIDs: Set<[UInt8]> = []

    mutating func add(_ bundleID: [UInt8]) {
        if self.bundleIDs.count < Self.countMax { self.bundleIDs.insert(bundleID) }
    }

    func contains(_ bundleID: String) -> Bool {
        self.bundleIDs.count >= Self.countMax || self.bundleIDs.contains(Array(bundleID.utf8))
    }

    /// The bundle id in a key such as `a/<bundle id>/<activity>`; `nil`: the key names none.
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
