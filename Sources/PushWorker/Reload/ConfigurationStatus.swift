/// The configuration that a worker uses, and whether the last reload succeeded.
public struct ConfigurationStatus: Sendable, Equatable {
    /// The hash of the configuration, see `WorkerConfiguration.hash`; empty before the worker has started.
    public var hash = ""
    /// Whether all shards took the last configuration that was given.
    public var isLastTaken = true
    /// When a configuration was last taken, at the start or by a reload, in seconds since 1970.
    public var takenAtSeconds: Int64 = 0
    /// Settings whose new values wait for a restart.
    public var awaitingRestart: [String] = []

    /// The status of a worker that has not started.
    public init() {}
}

/// The result of a reload.
public struct ReloadReport: Sendable, Equatable {
    /// Changes that have taken effect.
    public var taken: [SettingChange]
    /// Changes that wait for a restart.
    public var held: [SettingChange]
    /// Shards that did not take the new configuration and use the old one; usually none.
    public var refusingShards: [Int]
    /// Hash of the settings that are in use now.
    public var hash: String
    /// Whether the change added a second app. From now on, events must name their app.
    public var wantsAppsNamed = false
}
