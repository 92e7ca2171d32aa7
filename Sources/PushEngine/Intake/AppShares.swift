/// The app that each log was last about. It is remembered only if an app may take only a share of what is pending
/// (`AppConfiguration.pendingShare`). Logs whose app has no room are not read; other logs are (contract: Overload).
struct AppShares {
    /// Maximum number of records taken at once from a log while some app has used up its share. It applies to logs that
    /// were last about another app. Events of the full app among these records may exceed its share.
    static let recordsMax = 64
    private static let none = UInt16.max

    /// Whether some app may take only a share of what is pending.
    private(set) var areSet = false
    /// For each log, the app of the last event that was read from it.
    private var lastApps: [UInt16] = []

    init(_ configuration: borrowing EngineConfiguration) { self.follow(configuration) }

    mutating func follow(_ configuration: borrowing EngineConfiguration) {
        self.areSet = configuration.apps.contains { $0.pendingShare < 1 }
        if !self.areSet { self.lastApps = [] }
    }

    /// Remembers the app of an event that has been read.
    @inline(never) mutating func remember(_ app: UInt16, of log: LogID) {
        while self.lastApps.count <= log.index { self.lastApps.append(Self.none) }
        self.lastApps[log.index] = app
    }
    /// Forgets a log. Another log may have its number from here on.
    mutating func forget(_ log: LogID) {
        if log.index < self.lastApps.count { self.lastApps[log.index] = Self.none }
    }
    /// The app of the last event that was read from a log; `nil`: not known.
    func lastApp(of log: LogID) -> UInt16? {
        guard log.index < self.lastApps.count, self.lastApps[log.index] != Self.none else { return nil }
        return self.lastApps[log.index]
    }
    /// Number of records of the log that may be taken before this method must be called again. If an app has used up
    /// its share of what may be pending, only the logs that were last about this app are stopped. Other logs give only
    /// a few records at once.
    /// - Parameters:
    ///   - log: a log of events. Records between workers belong to no app.
    ///   - room: how many records the shard may take.
    func room(of log: LogID, within room: Int, in core: borrowing ShardCore) -> Int {
        guard let app = self.lastApp(of: log), core.memory.configuration.apps[Int(app)].pendingShare < 1 else {
            return min(room, max(Self.recordsMax, core.dispatch.pendingRoom(in: core.memory)))
        }
        return max(0, min(room, core.dispatch.pendingRoom(of: app, in: core.memory)))
    }
    /// Whether an app has used up its share of what may be pending. If so, the loop reads nothing from logs that were
    /// last about this app.
    @inline(__always) func isAnAppFull(in core: borrowing ShardCore) -> Bool {
        self.areSet && core.dispatch.pendingRoom(in: core.memory) <= 0
    }
}
