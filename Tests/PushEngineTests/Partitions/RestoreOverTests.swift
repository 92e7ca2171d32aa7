@testable import PushEngine
import PushModel
import Testing

/// A later record of `state` replaces an earlier one of the same key, as if compaction had removed the earlier one.
/// What happens to a partition's slots does not touch other partitions.
@Suite struct RestoreOverTests {
    private static let hashes = ["liveactivity.events", "liveactivity.routed"].map { StateCodec.topicHash($0) }
    private static let now = EngineTime(steadyMillis: 10_000_000, wallMillis: 1_700_000_000_000)
    private static let epoch: Int64 = 5

    private struct StateRecord {
        var id: Int
        /// Value of the record; `nil` for a tombstone.
        var value: [UInt8]?
    }

    private static func record(_ id: Int, _ random: inout StateRandom) -> StateRecord {
        if random.int(0...5) == 0 { return StateRecord(id: id) }
        var read = random.slot(now: Self.now)
        read.slot.environment = .production
        var updates: [Update] = []
        for _ in 0..<max(0, random.int(-3...2)) {
            var update = random.update(now: Self.now)
            update.start = []
            updates.append(update)
        }
        let value = StateRandom.written { writer in
            SlotRecord.write(
                read.slot, token: read.token.span, routed: read.routed, answers: read.budget.answers.span,
                isInFlight: read.budget.inFlight, epoch: Self.epoch, isReleased: read.isReleased,
                topicHashes: Self.hashes, now: Self.now, to: &writer)
            writer.unsigned(UInt64(updates.count))
            for update in updates { Update.write(update, topicHashes: Self.hashes, now: Self.now, to: &writer) }
        }
        return StateRecord(id: id, value: value)
    }

    private static func make(partitions: Int32) -> ShardEngine {
        var app = AppConfiguration(bundleID: "com.example.pizza")
        app.productionRoute = 0
        app.developmentRoute = 0
        var engine = ShardEngine(
            configuration: EngineConfiguration(
                settings: EngineSettings(), apps: [app], inputTopics: ["liveactivity.events", "liveactivity.routed"],
                routedTopicIndex: 1,
                partitionCount: partitions), randomSeed: 1)
        for partition in 0..<partitions { engine.partitionAssigned(partition, now: Self.now) }
        for record in engine.batch.records {
            engine.acknowledged(record.acknowledgement, offset: 1_000, now: Self.now)
        }
        engine.batch.removeAll()
        return engine
    }

    private static func restore(_ record: StateRecord, partition: Int32 = 0, into engine: inout ShardEngine) {
        let key = Array("a/com.example.pizza/order-\(record.id)".utf8)
        let value = record.value ?? []
        let result = engine.restore(
            partition: partition, key: key.span, value: value.span, isTombstone: record.value == nil,
            header: .epoch(Self.epoch), offset: 3, now: Self.now)
        #expect(result == (record.value == nil ? .ignored : .restored))
    }

    /// Everything that a slot holds, except its indices in memory.
    private static func description(of id: Int, partition: Int32, in engine: borrowing ShardEngine) -> String {
        let bytes = Array("order-\(id)".utf8)
        // Partitions are assigned in the order of their numbers, so a partition's index equals its number.
        let place = PartitionIndex(rawValue: partition)
        guard let number = engine.core.memory.slots.find(SlotKey(app: 0, id: bytes.span), partition: place) else {
            return "none"
        }
        var slot = engine.core.memory.slots[number]
        let held = [slot.inFlight, slot.pending, slot.behind].map { update -> String in
            guard update.isSome else { return "-" }
            let top = engine.core.memory.updates[update].top
            return
                "\(engine.core.memory.updates[update].eventCount) \(engine.core.memory.updates[update].priority) \(top.source) \(top.blob)"
        }
        let token = unsafe Array(engine.core.memory.slots.tokenBytes(number))
        let answers = unsafe Array(engine.core.dispatch.budgets.answers(slot.budget))
        slot.generation = 0
        slot.tokenGeneration = 0
        slot.memberIndex = 0
        slot.identity = ByteArena.none
        slot.budget = .none
        (slot.inFlight, slot.pending, slot.behind) = (.none, .none, .none)
        return "\(slot) \(held) \(token) \(answers) \(engine.core.memory.slots.routedPositions(of: number))"
    }

    /// Expects that each partition's list holds exactly its live slots, and that each slot knows its index in the list.
    private static func expectMembersAreRight(in engine: borrowing ShardEngine) {
        var count = 0
        for place in engine.core.memory.partitions.identifiers {
            for (index, number) in engine.core.memory.slots.members(of: place).enumerated() {
                let slot = engine.core.memory.slots[number]
                #expect(slot.isLive && slot.partition == place && Int(slot.memberIndex) == index)
                count += 1
            }
        }
        let activityCount = engine.counters.slots
        #expect(count == activityCount)
        let liveCount = engine.core.memory.slots.identifiers.count { engine.core.memory.slots[$0].isLive }
        #expect(count == liveCount)
    }

    @Test(arguments: 1...150 as ClosedRange<UInt64>)
    func theLastRecordOfAKeyIsAllThatCounts(seed: UInt64) {
        var random = StateRandom(seed: seed)
        var all = Self.make(partitions: 1)
        var last = Self.make(partitions: 1)
        let idCount = 4
        var newest: [Int: StateRecord] = [:]
        for _ in 0..<random.int(1...40) {
            let record = Self.record(random.int(0...(idCount - 1)), &random)
            newest[record.id] = record
            Self.restore(record, into: &all)
            Self.expectMembersAreRight(in: all)
        }
        for record in newest.values { Self.restore(record, into: &last) }
        func check(_ all: borrowing ShardEngine, _ last: borrowing ShardEngine) {
            for id in 0..<idCount {
                let (one, other) = (
                    Self.description(of: id, partition: 0, in: all), Self.description(of: id, partition: 0, in: last)
                )
                #expect(one == other)
            }
            let pending = (all.counters.pending, last.counters.pending, all.countPendingEvents())
            #expect(pending.0 == pending.1 && pending.0 == pending.2)
            let counts = (all.counters.restored, last.counters.restored)
            #expect(counts.0 == counts.1)
            let working = (all.counters.slotsPending, last.counters.slotsPending)
            #expect(working.0 == working.1)
            let stored = (
                all.core.memory.updates.liveCount, last.core.memory.updates.liveCount, all.core.dispatch.budgets.count,
                last.core.dispatch.budgets.count
            )
            #expect(stored.0 == stored.1 && stored.2 == stored.3)
        }
        check(all, last)
        all.forget(partition: 0)
        let left = [
            all.counters.slots, Int(all.counters.pending), all.counters.slotsPending,
            all.core.memory.updates.liveCount,
            all.core.dispatch.budgets.count, all.core.memory.slots.count, all.core.memory.slots.indexedCount,
            all.core.memory.slots.routedCount,
        ]
        #expect(left.allSatisfy { $0 == 0 }, "\(left)")
    }

    /// Slots of several partitions come and go. A partition that is forgotten takes its own slots along, and no
    /// others.
    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func aPartitionTakesItsOwnSlotsAlong(seed: UInt64) {
        var random = StateRandom(seed: seed)
        let partitionCount: Int32 = 3
        var engine = Self.make(partitions: partitionCount)
        let idCount = 12
        for _ in 0..<120 {
            let record = Self.record(random.int(0...(idCount - 1)), &random)
            Self.restore(record, partition: Int32(random.int(0...2)), into: &engine)
        }
        Self.expectMembersAreRight(in: engine)
        func descriptions(_ engine: borrowing ShardEngine, of partition: Int32) -> [String] {
            var texts: [String] = []
            for id in 0..<idCount { texts.append(Self.description(of: id, partition: partition, in: engine)) }
            return texts
        }
        let forgotten = Int32(random.int(0...2))
        let others = (0..<partitionCount).filter { $0 != forgotten }
        let before = others.map { descriptions(engine, of: $0) }
        engine.forget(partition: forgotten)
        Self.expectMembersAreRight(in: engine)
        let after = others.map { descriptions(engine, of: $0) }
        #expect(after == before)
        // The index of the forgotten partition is used again.
        engine.partitionAssigned(forgotten, now: Self.now)
        let members = engine.core.memory.partitions.identifiers.map { engine.core.memory.slots.members(of: $0).count }
        let activityCount = engine.counters.slots
        #expect(members.reduce(0, +) == activityCount)
    }
}
