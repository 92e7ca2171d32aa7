import ChannelKeeping
import PushModel

/// What the parts of a shard's engine share. Every call of a part passes this memory, together with what the call needs
/// of other parts.
///
/// `Slot` says which part writes which field of a slot. A partition and an audience's owner are changed only by their
/// own methods.
struct ShardMemory: ~Copyable {
    /// The configuration. Only `ShardEngine.reconfigure` changes it.
    var configuration: EngineConfiguration
    var slots: SlotTable
    var updates = UpdateStore()
    var partitions = PartitionTable()
    var counters = EngineCounters()
    /// The owners of the audiences whose ids belong to partitions of this shard.
    var owners = AudienceOwners()
    /// The audience's id, for each kept channel that publishers have sent to. Empty: the channel is kept, but no event
    /// of its audience has arrived.
    var keptFor: [SlotID: [UInt8]] = [:]
    var formerTokens = FormerTokens()
    var passedOver = PassedOverApps()
    var traceNotices = TraceNotices()
    private let addressOnly = AddressOnly()

    init(configuration: EngineConfiguration, indexSeed: UInt64) {
        self.configuration = configuration
        self.slots = SlotTable(seed: indexSeed)
        self.counters.holdApps(configuration.apps.count)
    }

    /// The index of the slot's app in the configuration and in the counters.
    func appIndex(of slot: SlotID) -> Int { Int(self.slots[slot].app) }

    func app(of slot: SlotID) -> AppConfiguration { self.configuration.apps[Int(self.slots[slot].app)] }

    /// Maximum size of a body that APNs accepts for this kind of slot, bytes.
    func payloadByteCountMax(of slot: SlotID) -> Int {
        PayloadWriter.payloadByteCountMax(for: self.slots[slot].kind == .channel ? .channel : .activity)
    }

    /// Whether the settings say what the channel stores, so that APNs is not asked.
    func isStorageConfigured(of slot: SlotID) -> Bool {
        self.slots[slot].kind == .channel && self.app(of: slot).channelStorage != .ask
    }

    /// Whether the keeper has said that it keeps the channel for no audience. That stays true, because channels that a
    /// keeper makes later get ids that have never been used.
    func isUnkept(_ slot: SlotID) -> Bool {
        self.slots[slot].kind == .channel && self.slots[slot].errand != .keeperQuestion
            && self.app(of: slot).audienceChannel == .auto
    }

    /// Makes a slot. The caller has checked that no slot has this key.
    mutating func makeSlot(
        _ key: borrowing SlotKey, hash: UInt32, token: Span<UInt8> = Span(), partition: PartitionIndex
    ) -> SlotID {
        let slot = self.slots.make(key, hash: hash, token: token, partition: partition)
        self.markUnrecorded(slot)
        self.counters.slots += 1
        if key.kind == .channel { self.counters.channels += 1 }
        return slot
    }

    /// Removes the slot from memory. The caller has settled events and records, and the other parts have forgotten it.
    mutating func removeSlot(_ slot: SlotID) {
        if self.slots[slot].kind == .channel {
            self.counters.channels -= 1
            self.keptFor[slot] = nil
        }
        if self.slots[slot].kind == .audience { self.owners.remove(slot) }
        self.formerTokens.forget(slot)
        self.slots.remove(slot)
        self.counters.slots -= 1
    }

    /// Number of events of the slot without an outcome.
    func eventCount(of slot: SlotID) -> Int {
        self.eventCount(of: self.slots[slot].pending) + self.eventCount(of: self.slots[slot].behind)
            + self.eventCount(of: self.slots[slot].inFlight)
            + (self.slots[slot].kind == .audience ? self.owners[slot].openCount : 0)
    }

    private func eventCount(of update: UpdateID) -> Int {
        update.isSome ? self.updates[update].eventCount : 0
    }
}

extension ShardMemory {
    /// Index of the configured app with this bundle identifier; `nil`: no app has it.
    func app(named bundleID: [UInt8]) -> UInt16? {
        self.configuration.apps.firstIndex { $0.bundleID.utf8.elementsEqual(bundleID) }.map { UInt16($0) }
    }
    /// The partition of the keeper of an app's channels in an environment.
    func keeperPartition(app: UInt16, environment: PushEnvironment) -> Int32 {
        KeptChannelKey.keeperPartition(
            bundleID: self.configuration.apps[Int(app)].bundleID, environment: environment,
            partitionCount: self.configuration.partitionCount)
    }
}
