import PushEngine
import PushModel

/// Records that Kafka did not take. They are produced again after a pause, in the order in which they were made.
///
/// The order of `state` matters: the last record of a key counts. An older record that is written after a newer one
/// would undo it. A failed record is therefore produced again only when Kafka has answered for everything else of its
/// partition. Until then, later records wait here. A later record of the same key may already be on its way. When it is
/// delivered, the waiting record is dropped as superseded. Records of `routed` keep their order in each partition, too.
/// The engine limits the queue: it stops at `unacknowledgedMax` records.
///
/// Kafka may refuse a record because of another record in its request. The lane of a refused record therefore becomes
/// careful: its records leave in groups. Each group leaves when Kafka has answered for the group before. The first
/// group is one record; all others of the lane wait here. A topic without an order is one lane. A lane of `routed` is
/// also careful while Kafka has not answered for its earlier records. See `CarefulLane`.
struct RetryQueue {
    /// The unit within which order is kept, by topic and partition.
    struct Lane: Hashable, Comparable {
        var topic: EngineRecord.Topic
        var partition: Int32

        /// - Parameter partition: ignored if the topic has no order.
        init(_ topic: EngineRecord.Topic, _ partition: Int32) {
            self.topic = topic
            self.partition = topic.isOrdered ? partition : -1
        }

        static func < (left: Lane, right: Lane) -> Bool {
            (left.topic.rawValue, left.partition) < (right.topic.rawValue, right.partition)
        }
    }

    /// Waiting records by lane, in the order in which they were made. A lane without records is removed.
    private var lanes: [Lane: [KeptRecord]] = [:]
    /// Waiting records of topics without an order.
    private var others: [KeptRecord] = []
    /// Records of topics without an order that were refused for good. They are kept until somebody removes the cause.
    private var stuck: [KeptRecord] = [] { didSet { self.updateHasCare() } }
    private var stuckDueMillis: Int64 = .max
    private var careful: [Lane: CarefulLane] = [:] { didSet { self.updateHasCare() } }
    /// For each partition whose next epoch has not begun, the acknowledgement of the marker that must begin it. The
    /// value is `nil` if no marker was made. Until Kafka has the marker, all other records of the partition's `state`
    /// are outdated.
    private var claims: [Int32: UInt64?] = [:] { didSet { self.updateHasCare() } }
    private var outdated = OutdatedRecords() { didSet { self.updateHasCare() } }
    /// Whether something is stuck or outdated, a lane is careful, or a marker is awaited. This flag is checked in each
    /// turn.
    private var hasCare = false
    private(set) var count = 0
    /// When the first record outside careful lanes may be tried again, on the steady clock; `nil` if none waits.
    private var plainDueMillis: Int64?
    private var attempt = 0

    static let backoffMinMillis: Int64 = 200
    static let backoffMaxMillis: Int64 = 10_000

    /// Whether the queue is empty, and no new record would have to wait behind another.
    var isEmpty: Bool { self.count == 0 && !self.hasCare }

    private mutating func updateHasCare() {
        self.hasCare =
            !self.careful.isEmpty || !self.stuck.isEmpty || !self.claims.isEmpty || self.outdated.count > 0
    }

    /// When the first record may be tried again, on the steady clock; `nil` if no record is due at a known time.
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

    /// Whether the record that Kafka has just answered for was alone in its request. If it was, its lane is careful,
    /// with a group of one.
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

    /// Adds a refused record that is tried again in a request of its own. The lane's later records wait behind it.
    mutating func goesAlone(_ entry: KeptRecord, nowMillis: Int64) {
        let lane = Lane(entry.topic, entry.partition)
        self.careful[lane, default: CarefulLane(dueMillis: nowMillis)].wasRefused()
        self.wait(entry)
    }

    /// Adds a record that leaves when Kafka has answered for the lane's records that left before.
    mutating func followsInOrder(_ entry: KeptRecord, nowMillis: Int64) {
        let lane = Lane(entry.topic, entry.partition)
        if self.careful[lane] == nil { self.careful[lane] = CarefulLane(dueMillis: nowMillis, width: .max) }
        self.careful[lane]!.awaitsAnswers = true
        self.wait(entry)
    }

    /// Removes and returns waiting events for a partition of `routed` if a later record was delivered. Their reader
    /// would take them for replays.
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

    /// Keeps a record that was refused for good, and must not be given up. If its topic has an order, later records
    /// wait behind it. A person must remove the cause. The record is tried from time to time, so that it is written
    /// soon afterwards.
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

    /// Ends the group of the record's careful lane if Kafka has answered for all of it.
    /// - Parameter underWay: numbers of records that Kafka has not answered for.
    mutating func answered(_ topic: EngineRecord.Topic, partition: Int32, underWay: UnderWayCount) {
        guard !self.careful.isEmpty else { return }
        let lane = Lane(topic, partition)
        guard self.careful[lane] != nil, !underWay.isAny(topic, partition: partition) else { return }
        self.careful[lane]!.groupAnswered()
        if self.lanes[lane] == nil { self.careful[lane] = nil }
    }

    /// Inserts a record into its lane, after records that were made before it. Failures may be reported in any order.
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
        // The record usually belongs at the end.
        while index > 0,
            EngineRecord.isMade(entry.acknowledgement, before: self.lanes[lane]![index - 1].acknowledgement)
        {
            index -= 1
        }
        self.lanes[lane, default: []].insert(entry, at: index)
    }

    /// Makes the next pause short again, because a delivery has succeeded.
    mutating func succeeded() { self.attempt = 0 }

    /// Removes waiting records that were made before a delivered record of their key.
    /// - Returns: their acknowledgements.
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

    /// Removes and returns the records that may leave, in order. Records for which Kafka's client has no room are given
    /// back with `putBack`. Records that may not leave yet are checked again after a short pause.
    /// - Parameter underWay: numbers of records that Kafka has not answered for.
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

    /// Adds records of topics without an order to `taken`, so that they leave. If their lane has become careful, they
    /// wait in the lane instead. In the lane, a group of one record must not share its request: if Kafka refuses that
    /// request, the record counts as the cause.
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

    /// Takes the next group of each careful lane, if Kafka has answered for all earlier records of the lane.
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

    /// Gives back records for which there was no room. They are tried again when there is room.
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

    /// Takes a record out of its lane's group, because the record did not reach Kafka.
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

    /// Forgets a partition whose `state` must not be written now.
    /// - Returns: the acknowledgements that will never arrive.
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

    /// Drops messages between workers whose acknowledgements the engine does not await. They must not be written.
    /// - Parameter isAwaited: whether this worker still has the partition that sent a message, by the message's
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

    /// Ends the epoch of these partitions. Waiting records of their `state` are never written.
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

    /// Takes the acknowledgement of a partition's marker.
    /// - Parameter next: the marker that is awaited instead; `nil` if the epoch has begun.
    /// - Returns: the keys that must be written again.
    mutating func claimAnswered(partition: Int32, next: UInt64?) -> [[UInt8]] {
        self.claims[partition] = next.map { .some($0) }
        return next == nil ? self.outdated.keys(of: partition) : []
    }

    private mutating func replace(_ lane: Lane, by entries: [KeptRecord]) {
        self.count += entries.count - (self.lanes[lane]?.count ?? 0)
        self.lanes[lane] = entries.isEmpty ? nil : entries
    }
}
