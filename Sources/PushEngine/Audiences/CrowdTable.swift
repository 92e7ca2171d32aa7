import PushModel

/// All crowds of a shard, found by audience and partition, and the tables of members that they are made of. Each
/// partition has its own table, which leaves together with it.
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
    /// Whether that crowd still is the one whose slot had that generation.
    func contains(_ crowd: CrowdID, generation: UInt32) -> Bool {
        self.elements.contains(crowd) && self.elements[crowd].generation == generation
    }
    var count: Int { self.elements.count - self.free.count }
    /// Number of slots for crowds, including free ones.
    var placeCount: Int { self.elements.count }

    /// The reference by which records name an audience, equal on every worker. FNV-1a, 64 bits, of bundle id and
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
    mutating func addPartition(_ partition: PartitionIndex) {
        while self.crowdsOfPartition.count <= partition.index {
            self.crowdsOfPartition.append([])
            self.membersOfPartition.append(nil)
        }
    }
    /// The partition's members; made when first asked for.
    mutating func members(of partition: PartitionIndex) -> Members {
        if let members = self.membersOfPartition[partition] { return members }
        var random = SplitMix64(seed: self.seed &+ UInt64(partition.index))
        let members = Members(seed: random.next())
        self.membersOfPartition[partition] = members
        return members
    }
    /// The partition's members; `nil`: it never had any.
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
    mutating func make(app: UInt16, id: [UInt8], reference: UInt64, partition: PartitionIndex) -> CrowdID {
        let crowd = self.free.popLast() ?? self.elements.append(Crowd())
        self.elements[crowd].begin(app: app, id: id, reference: reference, partition: partition)
        self.index[Key(partition: partition, reference: reference)] = crowd
        self.crowdsOfPartition[partition].append(crowd)
        return crowd
    }
    /// Hides a crowd from look-ups by its audience, so that another can be made for that. It stays until it is removed.
    private mutating func hide(_ crowd: CrowdID) {
        let key = Key(partition: self.elements[crowd].partition, reference: self.elements[crowd].reference)
        if self.index[key] == crowd { self.index[key] = nil }
    }
    /// Voids a crowd whose audience is over, so that another can be made for the audience.
    mutating func void(_ crowd: CrowdID) {
        self.elements[crowd].voided()
        self.hide(crowd)
    }
    /// Lets the crowd's members be removed from now on.
    mutating func leave(_ crowd: CrowdID) {
        self.elements[crowd].left()
        self.hide(crowd)
    }
    mutating func remove(_ crowd: CrowdID) {
        let partition = self.elements[crowd].partition
        self.crowdsOfPartition[partition].removeAll { $0 == crowd }
        self.release(crowd)
    }
    private mutating func release(_ crowd: CrowdID) {
        self.hide(crowd)
        self.elements[crowd].end()
        self.free.append(crowd)
    }

    // MARK: Rings
    /// Index of the pass over the crowd's members in that environment; made for the first member.
    mutating func passIndex(_ crowd: CrowdID, environment: PushEnvironment) -> Int {
        for index in self.elements[crowd].passes.indices
        where self.elements[crowd].passes[index].environment == environment
            && self.elements[crowd].passes[index].channelNumber == nil
        {
            return index
        }
        return self.makePass(crowd, environment: environment, channelNumber: nil)
    }
    /// Index of the pass for members that listen on a channel. If the member names too many, or no ring is free, it is
    /// the pass of all other members.
    /// - Parameter isTold: the channel is the audience's.
    mutating func passIndex(
        _ crowd: CrowdID, environment: PushEnvironment, channel: [UInt8], isTold: Bool
    ) -> Int {
        guard !channel.isEmpty else { return self.passIndex(crowd, environment: environment) }
        let passes = self.elements[crowd].passes.indices.filter {
            self.elements[crowd].passes[$0].environment == environment
                && self.elements[crowd].passes[$0].channelNumber != nil
        }
        if let known = passes.first(where: { self.elements[crowd].passes[$0].channelID == channel }) { return known }
        let members = self.members(of: self.elements[crowd].partition)
        let taken = passes.compactMap { self.elements[crowd].passes[$0].channelNumber }
        // Members that name unknown channels leave room for channels that the owner has announced.
        let most = MemberRecord.channelNumbersMax - (isTold ? 0 : 2)
        if members.table.hasRoomForRing, let free = (0..<most).first(where: { !taken.contains($0) }) {
            let made = self.makePass(crowd, environment: environment, channelNumber: free)
            self.elements[crowd].passes[made].named(channelID: channel)
            return made
        }
        // A pass that has no members now.
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
    /// Index of the pass that a member's record names.
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
