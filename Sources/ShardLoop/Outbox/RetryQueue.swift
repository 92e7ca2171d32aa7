import PushEngine
import PushModel

/// Records that Kafka did not take, to be produced again after a pause, in the order in which they were made.
///
/// The order of `state` matters: the last record of a key counts, and what an acknowledged one says must not be undone by an older one
/// that comes to lie behind it. So a record of a partition that failed is not produced again before Kafka has answered for everything
/// it has of that partition; until then, and until those before it are on their way, later ones wait here; and one that waits is dropped
/// as superseded when a later one of its key, which was on its way already, is delivered. `routed` records keep their order per partition
/// alike. Bounded by the engine: it stops at `unacknowledgedMax` records.
struct RetryQueue {
    /// Whose order is kept, by topic and partition.
    private struct Lane: Hashable, Comparable {
        var topic: EngineRecord.Topic
        var partition: Int32

        static func < (left: Lane, right: Lane) -> Bool {
            (left.topic.rawValue, left.partition) < (right.topic.rawValue, right.partition)
        }
    }

    /// In the order in which they were made; none is empty.
    private var lanes: [Lane: [KeptRecord]] = [:]
    /// Whose order does not matter.
    private var others: [KeptRecord] = []
    private(set) var count = 0
    /// When the first may be tried again, steady; `nil`: nothing waits.
    private(set) var dueMillis: Int64?
    private var attempt = 0

    static let backoffMinMillis: Int64 = 200
    static let backoffMaxMillis: Int64 = 10_000

    var isEmpty: Bool { self.count == 0 }

    /// Whether a record of this topic and partition has to wait behind others.
    func holds(_ topic: EngineRecord.Topic, partition: Int32) -> Bool {
        !self.lanes.isEmpty && topic.isOrdered && self.lanes[Lane(topic: topic, partition: partition)] != nil
    }

    /// Kafka did not take it.
    mutating func failed(_ entry: KeptRecord, nowMillis: Int64) {
        self.wait(entry)
        guard self.dueMillis == nil else { return }
        self.dueMillis = nowMillis + min(Self.backoffMaxMillis, Self.backoffMinMillis << Int64(min(self.attempt, 10)))
        self.attempt += 1
    }

    /// Waits behind those of its partition that were made before it: failures need not be told in the order of production.
    mutating func wait(_ entry: KeptRecord) {
        self.count += 1
        guard entry.topic.isOrdered else { return self.others.append(entry) }
        let lane = Lane(topic: entry.topic, partition: entry.partition)
        var index = self.lanes[lane]?.count ?? 0
        // Mostly it is the last.
        while index > 0,
            EngineRecord.isMade(entry.acknowledgement, before: self.lanes[lane]![index - 1].acknowledgement)
        {
            index -= 1
        }
        self.lanes[lane, default: []].insert(entry, at: index)
    }

    /// A delivery succeeded: the next failure begins with a short pause again.
    mutating func succeeded() { self.attempt = 0 }

    /// A record of that key lies in `state`: what failed of it before is superseded. Returns the acknowledgements it
    /// stood for. What was made after it stays.
    mutating func takeSuperseded(partition: Int32, key: Span<UInt8>, acknowledgement: UInt64) -> [UInt64] {
        let lane = Lane(topic: .state, partition: partition)
        guard let waiting = self.lanes[lane] else { return [] }
        var taken: [UInt64] = []
        for entry in waiting {
            guard EngineRecord.isMade(entry.acknowledgement, before: acknowledgement), let old = entry.key,
                key.holdsSameBytes(as: old.span)
            else { continue }
            taken.append(entry.acknowledgement)
        }
        if !taken.isEmpty { self.replace(lane, by: waiting.filter { !taken.contains($0.acknowledgement) }) }
        return taken
    }

    /// What may leave, to be tried in order; what is refused is given back by `putBack`. The rest is looked at again after a short pause.
    /// - Parameter underWay: what Kafka still has to answer for.
    mutating func takeDue(nowMillis: Int64, underWay: UnderWayCount) -> [KeptRecord] {
        guard let due = self.dueMillis, due <= nowMillis else { return [] }
        var taken = self.others
        self.others = []
        for lane in self.lanes.keys.sorted() where !underWay.isAny(lane.topic, partition: lane.partition) {
            taken += self.lanes.removeValue(forKey: lane) ?? []
        }
        self.count -= taken.count
        self.dueMillis = self.isEmpty ? nil : nowMillis + Self.backoffMinMillis
        return taken
    }

    /// There was no room for these; they are tried again when there is.
    mutating func putBack(_ entries: some Sequence<KeptRecord>, nowMillis: Int64) {
        for entry in entries { self.wait(entry) }
        if !self.isEmpty { self.dueMillis = nowMillis }
    }

    /// The partition belongs to somebody else: its `state` must not be written any more. Returns the acknowledgements
    /// that will never come.
    mutating func forgetState(partition: Int32) -> [UInt64] {
        let lane = Lane(topic: .state, partition: partition)
        let forgotten = self.lanes[lane]?.map(\.acknowledgement) ?? []
        self.replace(lane, by: [])
        if self.isEmpty { self.dueMillis = nil }
        return forgotten
    }

    /// What workers tell each other and nobody waits for any more must not be written either.
    /// - Parameter isAwaited: whether the partition that a record speaks for is still here, by its acknowledgement.
    /// - Returns: the acknowledgements that will never come.
    mutating func forgetRouted(isAwaited: (UInt64) -> Bool) -> [UInt64] {
        var forgotten: [UInt64] = []
        for (lane, entries) in self.lanes where lane.topic == .routed {
            let left = entries.filter { isAwaited($0.acknowledgement) }
            guard left.count < entries.count else { continue }
            forgotten += entries.map(\.acknowledgement).filter { !isAwaited($0) }
            self.replace(lane, by: left)
        }
        if self.isEmpty { self.dueMillis = nil }
        return forgotten
    }

    private mutating func replace(_ lane: Lane, by entries: [KeptRecord]) {
        self.count += entries.count - (self.lanes[lane]?.count ?? 0)
        self.lanes[lane] = entries.isEmpty ? nil : entries
    }
}
