/// The group coordinator, which knows the members and the owner of each partition. Rebalances are cooperative: the
/// owner of a partition gives it back before another member gets it.
struct SimulatedGroup {
    /// Time after which a silent member is removed.
    static let sessionMillis: Int64 = 45_000

    /// Members by worker number, with the time since which each has been silent. `nil`: the member is not silent.
    private(set) var members: [Int: Int64?] = [:]
    /// Owners by partition. `nil`: the partition has no owner.
    private(set) var owners: [Int?]
    /// Partitions whose owner was asked to give them back, and has not done so yet.
    private(set) var revoking: Set<Int32> = []

    /// Number of each worker's current membership. Requests from an earlier membership are refused.
    private(set) var memberships: [Int: Int] = [:]
    /// Members that are leaving, and get no more partitions.
    private var leaving: Set<Int> = []

    enum Event: Equatable { case assigned(Int32), revoked(Int32), lost([Int32]) }

    init(partitions: Int32) { self.owners = Array(repeating: nil, count: Int(partitions)) }

    /// Adds partitions to the topic, and assigns them.
    mutating func grow(by count: Int) -> [(worker: Int, event: Event)] {
        self.owners += Array(repeating: nil, count: count)
        return self.balance()
    }

    func isMember(_ worker: Int) -> Bool { self.members[worker] != nil }
    func owner(of partition: Int32) -> Int? { self.owners[Int(partition)] }

    mutating func join(_ worker: Int) -> [(worker: Int, event: Event)] {
        self.members[worker] = .some(nil)
        self.memberships[worker, default: 0] += 1
        return self.balance()
    }

    /// Removes a member that left or was silent, and gives its partitions to others.
    mutating func remove(_ worker: Int) -> [(worker: Int, event: Event)] {
        self.members[worker] = nil
        for partition in self.owners.indices where self.owners[partition] == worker {
            self.owners[partition] = nil
            self.revoking.remove(Int32(partition))
        }
        return self.balance()
    }

    /// Replaces a static member's former process by its new one, which keeps the partitions.
    mutating func replace(_ old: Int, by new: Int) -> [(worker: Int, event: Event)] {
        guard self.members[old] != nil else { return self.join(new) }
        self.members[old] = nil
        self.members[new] = .some(nil)
        self.memberships[new, default: 0] += 1
        var events: [(worker: Int, event: Event)] = []
        for partition in self.owners.indices where self.owners[partition] == old {
            self.owners[partition] = new
            self.revoking.remove(Int32(partition))
            events.append((new, .assigned(Int32(partition))))
        }
        return events + self.balance()
    }

    mutating func rememberSilence(_ worker: Int, sinceMillis: Int64) {
        guard let silent = self.members[worker], silent == nil else { return }
        self.members[worker] = .some(sinceMillis)
    }

    mutating func rememberSign(_ worker: Int) {
        guard self.members[worker] != nil else { return }
        self.members[worker] = .some(nil)
    }

    /// When the session of the member that has been silent longest expires. `nil`: no member is silent.
    var nextExpiryMillis: Int64? {
        self.members.values.compactMap { $0 }.min().map { $0 + Self.sessionMillis }
    }

    func expired(nowMillis: Int64) -> [Int] {
        self.members.filter { $0.value.map { $0 + Self.sessionMillis <= nowMillis } ?? false }.map(\.key).sorted()
    }

    /// Takes back a partition from its owner.
    mutating func gaveBack(_ partition: Int32, worker: Int) -> [(worker: Int, event: Event)] {
        guard self.owners[Int(partition)] == worker else { return [] }
        self.revoking.remove(partition)
        self.owners[Int(partition)] = nil
        return self.balance(avoiding: worker)
    }

    /// Begins a rebalance: asks the owner of one partition to give it back.
    mutating func ask(for partition: Int32) -> [(worker: Int, event: Event)] {
        guard let owner = self.owners[Int(partition)], self.revoking.insert(partition).inserted else { return [] }
        return [(owner, .revoked(partition))]
    }

    /// Begins a member's departure: it gives back all its partitions, and gets no others.
    mutating func beginLeaving(_ worker: Int) -> [(worker: Int, event: Event)] {
        self.leaving.insert(worker)
        var events: [(worker: Int, event: Event)] = []
        for partition in self.owners.indices where self.owners[partition] == worker {
            events += self.ask(for: Int32(partition))
        }
        return events
    }

    private func load(_ worker: Int) -> Int { self.owners.count { $0 == worker } }

    private mutating func balance(avoiding avoided: Int? = nil) -> [(worker: Int, event: Event)] {
        var events: [(worker: Int, event: Event)] = []
        let workers = self.members.keys.filter { !self.leaving.contains($0) }.sorted()
        guard !workers.isEmpty else { return [] }
        for partition in self.owners.indices where self.owners[partition] == nil {
            let taker = workers.min {
                (self.load($0), $0 == avoided ? 1 : 0, $0) < (self.load($1), $1 == avoided ? 1 : 0, $1)
            }!
            self.owners[partition] = taker
            events.append((taker, .assigned(Int32(partition))))
        }
        for partition in self.owners.indices where !self.revoking.contains(Int32(partition)) {
            guard let owner = self.owners[partition] else { continue }
            guard !self.leaving.contains(owner) else { continue }
            let least = workers.map { self.load($0) }.min()!
            let held = self.owners.indices.count { self.owners[$0] == owner && !self.revoking.contains(Int32($0)) }
            if held > least + 1 { events += self.ask(for: Int32(partition)) }
        }
        return events
    }
}
