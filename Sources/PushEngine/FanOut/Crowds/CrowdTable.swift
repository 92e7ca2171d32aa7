import PushModel

/// All crowds of a shard, found by audience and partition, and the tables of their members. Each partition has its own
/// table, which is removed together with the partition.
struct CrowdTable: ~Copyable {
    private struct Key: Hashable {
        var partition: PartitionIndex
        var reference: UInt64
    }
    private var elements = ChunkedStore<CrowdID, Crowd>()
    private var free: [CrowdID] = []
    private var index: [Key: CrowdID] = [:]
    private var crowdsOfPartition = NumberedArray<PartitionIndex, [CrowdID]>()
    private var membersOfPartition = NumberedArray<PartitionIndex, Members?>()
    private let seed: UInt64

    init(seed: UInt64) { self.seed = seed }

    subscript(_ crowd: CrowdID) -> Crowd {
        unsafeAddress { unsafe self.elements.address(of: crowd) }
        unsafeMutableAddress { unsafe self.elements.mutableAddress(of: crowd) }
    }
    /// Whether the element still holds the crowd of that generation. A later crowd in the element has another
    /// generation.
    @inline(__always) func contains(_ crowd: CrowdID, generation: UInt32) -> Bool {
        self.elements.contains(crowd) && self.elements[crowd].generation == generation
    }
    var count: Int { self.elements.count - self.free.count }
    /// Whether a reference in a lane's queue is still valid: its crowd is living, and is the crowd that was queued. If
    /// the reference names a start round, that round must still exist.
    @inline(__always) func isStanding(_ reference: PassReference) -> Bool {
        let crowd = reference.crowd
        return self[crowd].generation == reference.generation && self[crowd].standing == .living
            && (!reference.isStart || reference.pass < self[crowd].starts.rounds.count)
    }
    /// Number of elements in the table, including free ones that hold no crowd now.
    var indexCount: Int { self.elements.count }

    /// The reference by which records name an audience, equal on every worker. It is FNV-1a, 64 bits, of bundle id and
    /// audience id, mixed once more.
    static func reference(bundleID: Span<UInt8>, id: Span<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for index in bundleID.indices { hash = (hash ^ UInt64(bundleID[index])) &* 0x0100_0000_01b3 }
        hash = (hash ^ 0x2f) &* 0x0100_0000_01b3
        for index in id.indices { hash = (hash ^ UInt64(id[index])) &* 0x0100_0000_01b3 }
        var mixed = SplitMix64(seed: hash)
        return mixed.next()
    }

    // MARK: Partitions
    /// Number of update members of the partition that are owed something, summed over its crowds.
    func waitingCount(of partition: PartitionIndex) -> Int {
        self.crowds(of: partition).reduce(0) { $0 + self[$1].waitingCount }
    }
    /// Number of start members of the partition that are owed a start, summed over its crowds.
    func startsWaitingCount(of partition: PartitionIndex) -> Int {
        self.crowds(of: partition).reduce(0) { $0 + self[$1].starts.waitingCount }
    }
    mutating func addPartition(_ partition: PartitionIndex) {
        while self.crowdsOfPartition.count <= partition.index {
            self.crowdsOfPartition.append([])
            self.membersOfPartition.append(nil)
        }
    }
    /// The partition's members. The table is made when it is first asked for.
    mutating func members(of partition: PartitionIndex) -> Members {
        if let members = self.membersOfPartition[partition] { return members }
        var random = SplitMix64(seed: self.seed &+ UInt64(partition.index))
        let members = Members(seed: random.next())
        self.membersOfPartition[partition] = members
        return members
    }
    /// The members of the crowd's partition.
    mutating func members(of crowd: CrowdID) -> Members { self.members(of: self[crowd].partition) }
    /// The members of the crowd's partition; `nil`: the partition never had any.
    func membersIfAny(of crowd: CrowdID) -> Members? { self.membersIfAny(of: self[crowd].partition) }
    /// The partition's members; `nil`: the partition never had any.
    func membersIfAny(of partition: PartitionIndex) -> Members? {
        partition.index < self.membersOfPartition.count ? self.membersOfPartition[partition] : nil
    }
    func crowds(of partition: PartitionIndex) -> [CrowdID] {
        partition.index < self.crowdsOfPartition.count ? self.crowdsOfPartition[partition] : []
    }
    /// Removes everything of the partition from memory at once.
    mutating func removePartition(_ partition: PartitionIndex) {
        guard partition.index < self.crowdsOfPartition.count else { return }
        for crowd in self.crowdsOfPartition[partition] { self.release(crowd) }
        self.crowdsOfPartition[partition] = []
        self.membersOfPartition[partition] = nil
    }

    // MARK: Crowds
    func find(reference: UInt64, partition: PartitionIndex) -> CrowdID? {
        self.index[Key(partition: partition, reference: reference)]
    }
    /// The next crowd of the same audience, for members that joined after the given crowd was over; `nil`: there is
    /// none.
    func follower(of crowd: CrowdID) -> CrowdID? {
        self.find(reference: self[crowd].reference, partition: self[crowd].partition)
    }
    /// The numbers by which records name the audiences that have a crowd in the partition.
    func references(of partition: PartitionIndex) -> Set<UInt64> {
        Set(self.crowds(of: partition).map { self[$0].reference })
    }
    /// The crowd of that audience whose members must leave; if there are several, the newest. A crowd without a name is
    /// not found.
    func leaving(reference: UInt64, partition: PartitionIndex) -> CrowdID? {
        self.crowds(of: partition).last {
            self[$0].standing.isOver && self[$0].reference == reference && !self[$0].id.isEmpty
        }
    }
    /// The crowd that a record of `state` is about. If there is none, it is made. A crowd without a name gets the name
    /// in the record.
    /// - Parameter id: the audience's id; empty: the record does not have it.
    mutating func restored(
        app: UInt16 = 0, id: [UInt8] = [], reference: UInt64, partition: PartitionIndex
    ) -> CrowdID {
        guard let crowd = self.find(reference: reference, partition: partition) else {
            return self.make(app: app, id: id, reference: reference, partition: partition)
        }
        if self[crowd].standing == .nameless, !id.isEmpty { self[crowd].restoredName(app: app, id: id) }
        return crowd
    }
    mutating func make(app: UInt16, id: [UInt8], reference: UInt64, partition: PartitionIndex) -> CrowdID {
        let crowd = self.free.popLast() ?? self.elements.append(Crowd())
        self.elements[crowd].begin(app: app, id: id, reference: reference, partition: partition)
        self.index[Key(partition: partition, reference: reference)] = crowd
        self.crowdsOfPartition[partition].append(crowd)
        return crowd
    }
    /// Hides a crowd from look-ups by its audience, so that another crowd can be made for the audience. The hidden
    /// crowd stays in the table until it is removed.
    private mutating func hide(_ crowd: CrowdID) {
        let key = Key(partition: self.elements[crowd].partition, reference: self.elements[crowd].reference)
        if self.index[key] == crowd { self.index[key] = nil }
    }
    /// Voids a crowd whose audience is over, and hides it, so that another crowd can be made for the audience.
    mutating func void(_ crowd: CrowdID) {
        self.elements[crowd].voided()
        self.hide(crowd)
    }
    /// Lets the crowd's members be removed from now on, and hides the crowd.
    mutating func leave(_ crowd: CrowdID) {
        self.elements[crowd].left()
        self.hide(crowd)
    }
    mutating func remove(_ crowd: CrowdID) {
        let partition = self.elements[crowd].partition
        let members = self.members(of: partition)
        self.elements[crowd].removeRings(from: &members.table)
        self.crowdsOfPartition[partition].removeAll { $0 == crowd }
        self.release(crowd)
    }
    private mutating func release(_ crowd: CrowdID) {
        self.hide(crowd)
        self.elements[crowd].end()
        self.free.append(crowd)
    }

    // MARK: Rings
    /// Index of the crowd's pass in that environment for members that do not listen on a channel. The pass is made for
    /// the first such member.
    mutating func passIndex(_ crowd: CrowdID, environment: PushEnvironment) -> Int {
        for index in self.elements[crowd].passes.indices
        where self.elements[crowd].passes[index].environment == environment
            && self.elements[crowd].passes[index].channelNumber == nil
        {
            return index
        }
        return self.makePass(crowd, environment: environment, channelNumber: nil)
    }
    /// Index of the pass for members that listen on a channel.
    ///
    /// If members name too many channels, or no ring is free, no pass is made. Instead, a pass without members is used
    /// whose channel the owner has not announced. If there is none, the members join the pass of members that do not
    /// listen.
    mutating func passIndex(_ crowd: CrowdID, environment: PushEnvironment, channel: [UInt8]) -> Int {
        guard !channel.isEmpty else { return self.passIndex(crowd, environment: environment) }
        let passes = self.elements[crowd].passes.indices.filter {
            self.elements[crowd].passes[$0].environment == environment
                && self.elements[crowd].passes[$0].channelNumber != nil
        }
        if let known = passes.first(where: { self.elements[crowd].passes[$0].channelID == channel }) { return known }
        let members = self.members(of: self.elements[crowd].partition)
        let taken = passes.compactMap { self.elements[crowd].passes[$0].channelNumber }
        // Two numbers stay free for channels that the owner has announced. Channels that only members name do not get
        // them.
        let isKnown = self.elements[crowd].versions.channels.contains {
            $0.environment == environment && $0.id == channel
        }
        let most = MemberRecord.channelNumbersMax - (isKnown ? 0 : 2)
        if members.table.hasRoomForRing, let free = (0..<most).first(where: { !taken.contains($0) }) {
            let made = self.makePass(crowd, environment: environment, channelNumber: free)
            self.elements[crowd].passes[made].named(channelID: channel)
            return made
        }
        // A pass without members and unanswered pushes, whose channel the owner has not announced.
        let idle = passes.first { index in
            members.table.count(of: self.elements[crowd].passes[index].ring) == 0
                && self.elements[crowd].passes[index].inFlight.count == 0
                && self.elements[crowd].channel(ofPass: index) == nil
        }
        guard let idle else { return self.passIndex(crowd, environment: environment) }
        self.elements[crowd].passes[idle].named(channelID: channel)
        self.elements[crowd].passes[idle].leaveChannel()
        return idle
    }
    /// Index of the pass that a member's record names. The pass is made for the first such member.
    /// - Parameter number: number of the channel that the member listens on; `nil`: the member does not listen.
    mutating func passIndex(_ crowd: CrowdID, environment: PushEnvironment, number: UInt8?) -> Int {
        guard let number else { return self.passIndex(crowd, environment: environment) }
        let known = self.elements[crowd].passes.firstIndex {
            $0.environment == environment && $0.channelNumber == number
        }
        return known ?? self.makePass(crowd, environment: environment, channelNumber: number)
    }
    private mutating func makePass(_ crowd: CrowdID, environment: PushEnvironment, channelNumber: UInt8?) -> Int {
        let members = self.members(of: self.elements[crowd].partition)
        let ring = members.table.makeRing(of: .update)
        while members.ringOwners.count <= ring.index { members.ringOwners.append(.none) }
        members.ringOwners[ring.index] = crowd
        let lane =
            self.elements[crowd].id.isEmpty
            ? LaneIndex.none : LaneIndex(app: self.elements[crowd].app, environment: environment)
        self.elements[crowd].passes.append(
            Pass(
                ring: ring, environment: environment, lane: lane, versionCount: self.elements[crowd].versions.count,
                channelNumber: channelNumber))
        return self.elements[crowd].passes.count - 1
    }
}
