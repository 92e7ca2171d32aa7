/// Which configuration a worker goes by, and what became of the last other one it was given.
public struct ConfigurationStatus: Sendable, Equatable {
    /// See `WorkerConfiguration.hash`; empty: the worker has not started.
    public var hash = ""
    /// The last configuration that was given was taken, by all shards; so was the first.
    public var isLastTaken = true
    /// When a configuration was last taken, seconds since 1970: at the start, or by a reload.
    public var takenAtSeconds: Int64 = 0
    /// Settings that were given otherwise than they hold, and wait for a restart.
    public var awaitingRestart: [String] = []

    /// Nothing yet.
    public init() {}
}

/// What became of another configuration that was taken.
public struct ReloadReport: Sendable, Equatable {
    /// What holds from here on and did not before.
    public var taken: [SettingChange]
    /// What was given and is not taken before a restart.
    public var held: [SettingChange]
    /// Shards that go on by the configuration before although they were asked: none, if all is well.
    public var refusingShards: [Int]
    /// Hash of the settings that hold now.
    public var hash: String
}
