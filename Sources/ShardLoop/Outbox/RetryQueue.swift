import PushEngine
import PushModel

/// Records that Kafka did not take. They are produced again after a pause, in the order in which they were made.
///
/// The order of `state` matters: the last record of a key counts, and an older record behind an acknowledged one would
/// undo it. A failed record is therefore not produced again until Kafka has answered for everything it has of that
/// partition. Later records wait here until then, and until the records before them are on their way. A waiting record
/// is dropped as superseded when a later one of its key, which was already on its way, is delivered. `routed` records
/// keep their order in each partition, too. The engine limits the queue: it stops at `unacknowledgedMax` records.
///
/// Kafka may refuse a record because of another in its request. The lane of a refused record therefore becomes careful:
/// its records leave in groups, each when Kafka has answered for the group before. The first group is one record; all
/// others of the lane wait here. A topic without an order is one lane. See `CarefulLane`.
struct RetryQueue {
    /// The unit within which order is kept, by topic and partition.
    struct Lane: Hashable, Comparable {
        var topic: EngineRecord.Topic
        var partition: Int32

        /// - Parameter partition: without meaning if the topic has no order.
        init(_ topic: EngineRecord.Topic, _ partition: Int32) {
            self.topic = topic
            self.partition = topic.isOrdered ? partition : -1
        }

        static func < (left: Lane, right: Lane) -> Bool {
            (left.topic.rawValue, left.partition) < (right.topic.rawValue, right.partition)
        }
    }

    /// Waiting records by lane, in the order in which they were made; no lane is empty.
    private var lanes: [Lane: [KeptRecord]] = [:]
    /// Waiting records without an order.
    private var others: [KeptRecord] = []
    /// Records that were refused for good, and are kept until somebody removes the cause. Only topics without an order
    /// have such records.
    private var stuck: [KeptRecord] = [] { didSet { self.updateHasCare() } }
    private var stuckDueMillis: Int64 = .max
    private var careful: [Lane: CarefulLane] = [:] { didSet { self.updateHasCare() } }
    /// The marker that must begin the next epoch, by partition. Until it is acknowledged, any other record of that
    /// partition's `state` is outdated. `nil` if no marker is coming.
    private var claims: [Int32: UInt64?] = [:] { didSet { self.updateHasCare() } }
    private var outdated = OutdatedRecords() { didSet { self.updateHasCare() } }
    /// Whether something is stuck or outdated, or a lane is careful. It is checked in each turn.
    private var hasCare = false
    private(set) var count = 0
    /// When the first record outside careful lanes may be tried again, on the steady clock; `nil` if none waits.
    private var plainDueMillis: Int64?
    private var attempt = 0

    static let backoffMinMillis: Int64 = 200
    static let backoffMaxMillis: Int64 = 10_000

    /// Whether nothing waits here, and no record will have to wait behind another.
    var isEmpty: Bool { self.count == 0 && !self.hasCare }

    private mutating func updateHasCare() {
        self.hasCare =
            !self.careful.isEmpty || !self.stuck.isEmpty || !self.claims.isEmpty || self.outdated.count > 0
    }

    /// When the first record may be tried again, on the steady clock; `nil` if nothing waits for a time.
    var dueMillis: Int64? {
        guard self.hasCare else { return self.plainDueMillis }
        var due = self.plainDueMillis ?? .max
        if !self.stuck.isEmpty { due = min(due, self.stuckDueMillis) }
        for (lane, care) in self.careful
        where care.groupCount == 0 && !care.awaitsAnswers && self.lanes[lane] != nil {
            due = min(due, care.dueMillis)
        }
        return due == .max ? nil : due
    }

    /// Whether a record of this topic and partition must wait behind other records.
    func holds(_ topic: EngineRecord.Topic, partition: Int32, acknowledgement: UInt64) -> Bool {
        if !self.claims.isEmpty, topic == .state, let claim = self.claims[partition] { return acknowledgement != claim }
        guard !self.lanes.isEmpty || !self.careful.isEmpty else { return false }
        let lane = Lane(topic, partition)
        return self.lanes[lane] != nil || self.careful[lane] != nil
    }

    /// Whether the record that Kafka has just answered for was alone in its request.
    func isAlone(_ topic: EngineRecord.Topic, partition: Int32) -> Bool {
        !self.careful.isEmpty && self.careful[Lane(topic, partition)]?.groupCount == 1
    }

    /// Adds a record that Kafka did not take.
    mutating func failed(_ entry: KeptRecord, nowMillis: Int64) {
        self.wait(entry)
        let pauseMillis = min(Self.backoffMaxMillis, Self.backoffMinMillis << Int64(min(self.attempt, 10)))
        if self.careful[Lane(entry.topic, entry.partition)] != nil {
            self.careful[Lane(entry.topic, entry.partition)]!.dueMillis = nowMillis + pauseMillis
        } else if self.plainDueMillis == nil {
            self.plainDueMillis = nowMillis + pauseMillis
        } else {
            return
        }
        self.attempt += 1
    }

    /// Adds a record that is tried again in a request of its own, before those that wait behind it.
    mutating func goesAlone(_ entry: KeptRecord, nowMillis: Int64) {
        let lane = Lane(entry.topic, entry.partition)
        self.careful[lane, default: CarefulLane(dueMillis: nowMillis)].wasRefused()
        self.wait(entry)
    }

    /// Adds a record that leaves when Kafka has answered for those before it.
    mutating func followsInOrder(_ entry: KeptRecord, nowMillis: Int64) {
        let lane = Lane(entry.topic, entry.partition)
        if self.careful[lane] == nil { self.careful[lane] = CarefulLane(dueMillis: nowMillis, width: .max) }
        self.careful[lane]!.awaitsAnswers = true
        self.wait(entry)
    }

    /// Removes events for a partition of `routed` that wait although a later one was delivered. Their reader would take
    /// them for replays.
    mutating func takeOvertaken(partition: Int32, acknowledgement: UInt64) -> [KeptRecord] {
        let lane = Lane(.routed, partition)
        guard let waiting = self.lanes[lane], let first = waiting.first,
            EngineRecord.isMade(first.acknowledgement, before: acknowledgement)
        else { return [] }
        func isOvertaken(_ entry: KeptRecord) -> Bool {
            EngineRecord.isMade(entry.acknowledgement, before: acknowledgement) && entry.isForwardedEvent
        }
        self.replace(lane, by: waiting.filter { !isOvertaken($0) })
        return waiting.filter(isOvertaken)
    }

    /// Keeps a record that was refused for good, and must not be given up. Records behind it in its order wait with it
    /// until a person has removed the cause. It is tried now and then, so that it is written soon after.
    mutating func stick(_ entry: KeptRecord, nowMillis: Int64) {
        if entry.topic.isOrdered {
            let lane = Lane(entry.topic, entry.partition)
            self.wait(entry)
            self.careful[lane, default: CarefulLane(dueMillis: 0)].dueMillis = nowMillis + Self.backoffMaxMillis
        } else {
            self.count += 1
            if self.stuck.isEmpty { self.stuckDueMillis = nowMillis + Self.backoffMaxMillis }
            self.stuck.append(entry)
        }
    }

    /// Ends the group of the record's careful lane, if Kafka has answered for all of it.
    /// - Parameter underWay: the records without an answer.
    mutating func answered(_ topic: EngineRecord.Topic, partition: Int32, underWay: UnderWayCount) {
        guard !self.careful.isEmpty else { return }
        let lane = Lane(topic, partition)
        guard self.careful[lane] != nil, !underWay.isAny(topic, partition: partition) else { return }
        self.careful[lane]!.groupAnswered()
        if self.lanes[lane] == nil { self.careful[lane] = nil }
    }

    /// Inserts a record behind those of its partition that were made before it. Failures may be reported in any order.
    mutating func wait(_ entry: KeptRecord) {
        self.count += 1
        if !self.claims.isEmpty, entry.topic == .state, let claim = self.claims[entry.partition],
            entry.acknowledgement != claim
        {
            return self.outdated.add(entry)
        }
        let lane = Lane(entry.topic, entry.partition)
        guard entry.topic.isOrdered || self.careful[lane] != nil else { return self.others.append(entry) }
        var index = self.lanes[lane]?.count ?? 0
        // Mostly the record is the last.
        while index > 0,
            EngineRecord.isMade(entry.acknowledgement, before: self.lanes[lane]![index - 1].acknowledgement)
        {
            index -= 1
        }
        self.lanes[lane, default: []].insert(entry, at: index)
    }

    /// Resets the pause after a successful delivery: the next failure begins with a short one again.
    mutating func succeeded() { self.attempt = 0 }

    /// Drops records of a key that a delivered record has superseded. Returns their acknowledgements. Records that were
    /// made after it stay.
    mutating func takeSuperseded(partition: Int32, key: Span<UInt8>, acknowledgement: UInt64) -> [UInt64] {
        var taken: [UInt64] = []
        if self.outdated.count > 0 {
            taken = self.outdated.takeSuperseded(partition: partition, key: key) {
                EngineRecord.isMade($0, before: acknowledgement)
            }
            self.count -= taken.count
        }
        let lane = Lane(.state, partition)
        guard let waiting = self.lanes[lane] else { return taken }
        for entry in waiting {
            guard EngineRecord.isMade(entry.acknowledgement, before: acknowledgement), let old = entry.key,
                key.holdsSameBytes(as: old.span)
            else { continue }
            taken.append(entry.acknowledgement)
        }
        if !taken.isEmpty { self.replace(lane, by: waiting.filter { !taken.contains($0.acknowledgement) }) }
        return taken
    }

    /// Takes the records that may leave, in order. The caller returns those for which there is no room with `putBack`.
    /// The rest is checked again after a short pause.
    /// - Parameter underWay: the records without an answer.
    mutating func takeDue(nowMillis: Int64, underWay: UnderWayCount) -> [KeptRecord] {
        var taken: [KeptRecord] = []
        if let due = self.plainDueMillis, due <= nowMillis {
            let others = self.others
            self.others = []
            self.release(others, into: &taken)
            for lane in self.lanes.keys.sorted()
            where self.careful[lane] == nil && !underWay.isAny(lane.topic, partition: lane.partition) {
                taken += self.lanes.removeValue(forKey: lane) ?? []
            }
            let isLeft = self.lanes.contains { self.careful[$0.key] == nil }
            self.plainDueMillis = isLeft ? nowMillis + Self.backoffMinMillis : nil
        }
        if self.stuckDueMillis <= nowMillis {
            let stuck = self.stuck
            self.stuck = []
            self.stuckDueMillis = .max
            self.release(stuck, into: &taken)
        }
        if !self.careful.isEmpty { self.takeGroups(into: &taken, nowMillis: nowMillis, underWay: underWay) }
        self.count -= taken.count
        return taken
    }

    /// Releases records without an order. If their lane has become careful, they wait in the lane instead. Otherwise
    /// they would share a group's request, and a record that counts as alone would be given up because of another.
    private mutating func release(_ entries: [KeptRecord], into taken: inout [KeptRecord]) {
        for entry in entries {
            if self.careful[Lane(entry.topic, entry.partition)] == nil {
                taken.append(entry)
            } else {
                self.count -= 1
                self.wait(entry)
            }
        }
    }

    /// Takes the next group of each careful lane that has no records with Kafka.
    private mutating func takeGroups(into taken: inout [KeptRecord], nowMillis: Int64, underWay: UnderWayCount) {
        for lane in self.careful.keys.sorted() {
            guard let waiting = self.lanes[lane], let care = self.careful[lane], care.groupCount == 0,
                care.dueMillis <= nowMillis
            else { continue }
            guard !underWay.isAny(lane.topic, partition: lane.partition) else {
                self.careful[lane]!.awaitsAnswers = true
                continue
            }
            let group = waiting.prefix(care.width)
            self.careful[lane]!.groupCount = group.count
            taken += group
            self.lanes[lane] = group.count == waiting.count ? nil : Array(waiting[group.count...])
        }
    }

    /// Puts back records without room, which are tried again when there is some.
    mutating func putBack(_ entries: some Sequence<KeptRecord>, nowMillis: Int64) {
        for entry in entries {
            let lane = Lane(entry.topic, entry.partition)
            if self.careful[lane] == nil {
                self.plainDueMillis = nowMillis
            } else {
                self.left(lane, nowMillis: nowMillis)
            }
            self.wait(entry)
        }
    }

    /// Takes out of its group a record that did not reach Kafka.
    mutating func cameBack(_ record: KeptRecord, nowMillis: Int64) {
        let lane = Lane(record.topic, record.partition)
        guard self.careful[lane] != nil else { return }
        self.left(lane, nowMillis: nowMillis)
        if self.careful[lane]!.groupCount == 0, self.lanes[lane] == nil { self.careful[lane] = nil }
    }

    private mutating func left(_ lane: Lane, nowMillis: Int64) {
        self.careful[lane]!.groupCount = max(0, self.careful[lane]!.groupCount - 1)
        self.careful[lane]!.dueMillis = nowMillis
    }

    /// Forgets a partition of another worker: its `state` must not be written. Returns the acknowledgements that will
    /// never arrive.
    mutating func forgetState(partition: Int32) -> [UInt64] {
        let lane = Lane(.state, partition)
        var forgotten = self.lanes[lane]?.map(\.acknowledgement) ?? []
        self.replace(lane, by: [])
        self.careful[lane] = nil
        self.claims[partition] = nil
        let outdated = self.outdated.forget(partition: partition)
        self.count -= outdated.count
        forgotten += outdated
        if self.count == 0 { self.plainDueMillis = nil }
        return forgotten
    }

    /// Drops messages between workers that nobody waits for, because they must not be written.
    /// - Parameter isAwaited: whether this worker still has the partition that a record is about, by its
    ///   acknowledgement.
    /// - Returns: the acknowledgements that will never arrive.
    mutating func forgetRouted(isAwaited: (UInt64) -> Bool) -> [UInt64] {
        var forgotten: [UInt64] = []
        for (lane, entries) in self.lanes where lane.topic == .routed {
            let left = entries.filter { isAwaited($0.acknowledgement) }
            guard left.count < entries.count else { continue }
            forgotten += entries.map(\.acknowledgement).filter { !isAwaited($0) }
            self.replace(lane, by: left)
            if left.isEmpty, self.careful[lane]?.groupCount == 0 { self.careful[lane] = nil }
        }
        if self.count == 0 { self.plainDueMillis = nil }
        return forgotten
    }

    // MARK: Epochs

    /// Ends the epoch of these partitions: waiting records of their `state` are never written.
    /// - Parameter claims: by partition, the marker of the next epoch; see `claims`.
    mutating func endEpochs(_ claims: [(partition: Int32, marker: UInt64?)]) {
        for (partition, marker) in claims {
            self.claims.updateValue(marker, forKey: partition)
            let lane = Lane(.state, partition)
            for entry in self.lanes[lane, default: []] { self.outdated.add(entry) }
            self.lanes[lane] = nil
            self.careful[lane] = nil
        }
    }

    /// Whether the record is the marker of the partition's next epoch.
    func isClaim(_ acknowledgement: UInt64, partition: Int32) -> Bool {
        !self.claims.isEmpty && self.claims[partition] == .some(acknowledgement)
    }

    /// Takes the acknowledgement of the marker. Returns the keys that must be written again.
    /// - Parameter next: the marker that is awaited instead; `nil` if the epoch has begun.
    mutating func claimAnswered(partition: Int32, next: UInt64?) -> [[UInt8]] {
        self.claims[partition] = next.map { .some($0) }
        return next == nil ? self.outdated.keys(of: partition) : []
    }

    private mutating func replace(_ lane: Lane, by entries: [KeptRecord]) {
        self.count += entries.count - (self.lanes[lane]?.count ?? 0)
        self.lanes[lane] = entries.isEmpty ? nil : entries
    }
}
