import PushModel

@testable import PushEngine

/// The memory that the engine's parts share, for a test of one part alone. It has one app, and partitions that run
/// and may push.
///
/// Parts, slots and stores can only be used in place, which `#expect` cannot do. So a bench returns plain values.
class PartBench {
    var memory: ShardMemory
    var now = EngineTime(steadyMillis: 1_000_000, wallMillis: 1_700_000_000_000)
    let configuration: EngineConfiguration

    init(_ configuration: EngineConfiguration) {
        self.configuration = configuration
        self.memory = ShardMemory(configuration: configuration, indexSeed: 1)
        for number in 0..<configuration.partitionCount {
            let partition = self.memory.partitions.add(number: number)
            self.memory.slots.addPartition(partition)
            self.memory.partitions[partition].run()
        }
    }

    /// One app, which publishes every outcome. Route 0 is production; development has no route.
    static func configuration(
        partitionCount: Int32 = 1, _ configure: (inout EngineConfiguration) -> Void = { _ in }
    ) -> EngineConfiguration {
        var app = AppConfiguration(bundleID: "com.example.pizza")
        app.productionRoute = 0
        var configuration = EngineConfiguration(
            settings: EngineSettings(), apps: [app], inputTopics: ["events", "routed"], routedTopicIndex: 1,
            partitionCount: partitionCount)
        configuration.settings.outcomePublication = .all
        configure(&configuration)
        return configuration
    }

    func advance(_ millis: Int64) {
        self.now.steadyMillis += millis
        self.now.wallMillis += millis
    }

    /// - Parameter token: the slot's token; empty if it has none.
    func makeSlot(_ id: String, app: UInt16 = 0, token: [UInt8] = [0xaa], partition: PartitionIndex = 0) -> SlotID {
        let bytes = Array(id.utf8)
        let hash = self.memory.slots.hash(id: bytes.span)
        let slot = self.memory.makeSlot(
            SlotKey(app: app, id: bytes.span), hash: hash, token: token.span, partition: partition)
        self.memory.touch(slot, now: self.now)
        return slot
    }

    subscript(_ slot: SlotID) -> Slot {
        get { self.memory.slots[slot] }
        set { self.memory.slots[slot] = newValue }
    }

    subscript(_ update: UpdateID) -> Update {
        get { self.memory.updates[update] }
        set { self.memory.updates[update] = newValue }
    }

    var counters: EngineCounters { self.memory.counters }
    /// Number of updates in use.
    var updateCount: Int { self.memory.updates.liveCount }
    func eventCount(of slot: SlotID) -> Int { self.memory.eventCount(of: slot) }
}
