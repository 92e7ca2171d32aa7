/// Which app each log was last about. It is kept where an app may take only a share of what is pending
/// (`AppConfiguration.pendingShare`). A log whose app has no room is left alone, and the others are read on (contract:
/// Overload).
struct AppShares {
    /// Number of records taken at once from a log that was last about another app, while an app has no room. What they
    /// bring may exceed its share.
    static let recordsMax = 64
    private static let none = UInt16.max

    /// Whether an app has a share.
    private(set) var areSet = false
    /// The last app of each log.
    private var lastApps: [UInt16] = []

    init(_ configuration: borrowing EngineConfiguration) { self.follow(configuration) }

    mutating func follow(_ configuration: borrowing EngineConfiguration) {
        self.areSet = configuration.apps.contains { $0.pendingShare < 1 }
        if !self.areSet { self.lastApps = [] }
    }

    /// Notes the app of an event that has been read.
    @inline(never) mutating func note(_ app: UInt16, of log: LogID) {
        while self.lastApps.count <= log.index { self.lastApps.append(Self.none) }
        self.lastApps[log.index] = app
    }
    /// Forgets a log. Another log may have its number from here on.
    mutating func forget(_ log: LogID) {
        if log.index < self.lastApps.count { self.lastApps[log.index] = Self.none }
    }
    /// The last app of a log; `nil`: not known.
    func lastApp(of log: LogID) -> UInt16? {
        guard log.index < self.lastApps.count, self.lastApps[log.index] != Self.none else { return nil }
        return self.lastApps[log.index]
    }
}

extension ShardEngine {
    /// How many records of one log may be taken before this has to be asked again. An app that has its share of what
    /// may be pending stops only the logs that were last about it. Other logs give only a few records at once. Records
    /// between workers belong to no app.
    /// - Parameters:
    ///   - topic: the log's topic, as an index into `EngineConfiguration.inputTopics`.
    ///   - partition: the log's partition.
    ///   - room: what `recordRoom` has left.
    public func recordRoom(topic: UInt16, partition: Int32, within room: Int) -> Int {
        guard self.shares.areSet, topic != self.memory.configuration.routedTopicIndex,
            let index = self.memory.partitions.index(of: partition),
            self.memory.partitions[index].logs.indices.contains(Int(topic))
        else { return room }
        let least = self.dispatch.pendingRoom(in: self.memory)
        let log = self.memory.partitions[index].logs[Int(topic)]
        guard let app = self.shares.lastApp(of: log), self.memory.configuration.apps[Int(app)].pendingShare < 1 else {
            return min(room, max(AppShares.recordsMax, least))
        }
        return max(0, min(room, self.dispatch.pendingRoom(of: app, in: self.memory)))
    }

    /// Whether an app has all that it may have. Logs that were last about it are left alone.
    public var isAnAppFull: Bool { self.shares.areSet && self.dispatch.pendingRoom(in: self.memory) <= 0 }
}
