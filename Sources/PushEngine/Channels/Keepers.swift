import ChannelKeeping
import PushModel

/// The keeper of one app's channels in one environment, as it runs in this shard.
struct HostedKeeper {
    let app: UInt16
    let environment: PushEnvironment
    let partition: PartitionIndex
    /// Distinguishes keepers that have the same `KeeperID` one after another.
    let generation: UInt32
    var keeper: ChannelKeeper
    /// Requests that wait until pushes of the partition may leave.
    var held: [KeeperAction] = []
    /// Number of unacknowledged records for each announcement.
    var unacknowledged: [UInt64: Int] = [:]
    /// The keeper's counts that the engine's counters include already.
    var counted = KeeperCounters()
    var standing: KeeperStatus?
}

/// The channel keepers of this shard's partitions (fan-out contract: The keeper).
struct Keepers {
    /// Maximum number of notices that wait to be taken. Further notices are only counted.
    static let noticesMax = 64

    private var hosted: [HostedKeeper?] = []
    private var lastGeneration: UInt32 = 0
    /// When a keeper has something to do (steady clock); `Int64.max`: nothing is due at a known time.
    var nextDeadlineMillis = Int64.max
    private(set) var notices: [KeeperNotice] = []

    var isEmpty: Bool { self.hosted.isEmpty }
    var identifiers: [KeeperID] {
        self.hosted.indices.filter { self.hosted[$0] != nil }.map { KeeperID(index: $0) }
    }
    subscript(id: KeeperID) -> HostedKeeper? {
        get { self.hosted.indices.contains(id.index) ? self.hosted[id.index] : nil }
        set { self.hosted[id.index] = newValue }
    }
    func find(app: UInt16, environment: PushEnvironment, partition: PartitionIndex) -> KeeperID? {
        self.hosted.firstIndex {
            $0.map { $0.app == app && $0.environment == environment && $0.partition == partition } ?? false
        }.map { KeeperID(index: $0) }
    }
    /// The keeper with this number, if it has this generation; `nil`: the keeper has gone.
    func find(_ id: KeeperID, generation: UInt32) -> KeeperID? { self[id]?.generation == generation ? id : nil }

    mutating func add(
        app: UInt16, environment: PushEnvironment, partition: PartitionIndex, keeper: ChannelKeeper
    ) -> KeeperID {
        self.lastGeneration &+= 1
        let new = HostedKeeper(
            app: app, environment: environment, partition: partition, generation: self.lastGeneration, keeper: keeper)
        if let free = self.hosted.firstIndex(where: { $0 == nil }) {
            self.hosted[free] = new
            return KeeperID(index: free)
        }
        self.hosted.append(new)
        return KeeperID(index: self.hosted.count - 1)
    }
    mutating func remove(_ id: KeeperID) {
        self.hosted[id.index] = nil
        if self.hosted.allSatisfy({ $0 == nil }) { self.hosted = [] }
    }

    /// Lets the keeper decide something.
    /// - Returns: the actions to carry out.
    mutating func decide(_ id: KeeperID, _ body: (inout ChannelKeeper) -> [KeeperAction]) -> [KeeperAction] {
        guard self.hosted.indices.contains(id.index), self.hosted[id.index] != nil else { return [] }
        return body(&self.hosted[id.index]!.keeper)
    }

    mutating func add(_ notice: KeeperNotice) {
        if self.notices.count < Self.noticesMax { self.notices.append(notice) }
    }
    mutating func takeNotices() -> [KeeperNotice] {
        defer { self.notices = [] }
        return self.notices
    }
}
