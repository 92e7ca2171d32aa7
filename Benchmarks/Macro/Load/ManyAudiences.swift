import PushModel

/// Members of very many small audiences.
struct ManyAudiences {
    /// Where the members of one audience lie.
    enum Placement: String, CaseIterable {
        /// All in one partition.
        case near = "in one partition each"
        /// In all there are, as chance has it.
        case spread = "over all partitions"
    }

    let audienceCount: Int
    let membersPerAudience: Int
    let partitionCount: Int
    /// By audience: numbers of its members' tokens.
    private let members: [[Int]]

    init(audienceCount: Int, membersPerAudience: Int, partitionCount: Int, placement: Placement) {
        self.audienceCount = audienceCount
        self.membersPerAudience = membersPerAudience
        self.partitionCount = partitionCount
        var members = Array(repeating: [Int](), count: audienceCount)
        switch placement {
        case .spread:
            for member in 0..<audienceCount * membersPerAudience { members[member % audienceCount].append(member) }
        case .near:
            // Tokens are tried in turn: each goes to the next audience of its partition.
            var taken = Array(repeating: 0, count: partitionCount)
            var (left, member) = (audienceCount * membersPerAudience, 0)
            var key: [UInt8] = []
            while left > 0 {
                key.removeAll(keepingCapacity: true)
                AudienceWorkload.appendKey(member, to: &key)
                let partition = Int(Murmur2.partition(key: key.span, count: Int32(partitionCount)))
                let audience = partition + taken[partition] / membersPerAudience * partitionCount
                if audience < audienceCount {
                    members[audience].append(member)
                    taken[partition] += 1
                    left -= 1
                }
                member += 1
            }
        }
        self.members = members
    }

    var memberCount: Int { self.audienceCount * self.membersPerAudience }
    /// Pairs of an audience and a partition in which it has members.
    var crowdCount: Int {
        var (count, key) = (0, [UInt8]())
        for members in self.members {
            var partitions = Set<Int32>()
            for member in members {
                key.removeAll(keepingCapacity: true)
                AudienceWorkload.appendKey(member, to: &key)
                partitions.insert(Murmur2.partition(key: key.span, count: Int32(self.partitionCount)))
            }
            count += partitions.count
        }
        return count
    }

    private static func name(_ audience: Int) -> String { "match-\(audience)" }

    /// The members of these audiences join.
    func join(_ audiences: Range<Int>, _ prefiller: Prefiller) throws {
        try prefiller.write(audiences.count * self.membersPerAudience) { number, key, value in
            let audience = audiences.lowerBound + number / self.membersPerAudience
            AudienceWorkload.appendKey(self.members[audience][number % self.membersPerAudience], to: &key)
            value += #"{"event":"register","audience":"\#(Self.name(audience))"}"#.utf8
        }
    }

    /// One event for each audience.
    func update(_ number: Int, _ prefiller: Prefiller) throws {
        try prefiller.write(self.audienceCount) { audience, key, value in
            key += Self.name(audience).utf8
            AudienceWorkload.appendUpdate(number, audience: Self.name(audience), to: &value)
        }
    }
}
