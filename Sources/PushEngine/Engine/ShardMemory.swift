import PushModel

/// What the parts of a shard's engine share. Each part is lent it for a call, and of another part only what that call needs.
///
/// Which part writes which field of a slot is said in `Slot`. A partition and an audience's owner change by their
/// own methods alone.
struct ShardMemory: ~Copyable {
    /// Changed by `ShardEngine.reconfigure` alone.
    var configuration: EngineConfiguration
    var slots: SlotTable
    var updates = UpdateStore()
    var partitions = PartitionTable()
    var counters = EngineCounters()
    /// Of the audiences that partitions of this shard own.
    var owners = AudienceOwners()
    /// Of the channels that publishers have sent to and that are kept for audiences: for which. Empty: for one that has not come yet.
    var keptFor: [SlotID: [UInt8]] = [:]
    var formerTokens = FormerTokens()
    var passedOver = PassedOverApps()
    var traceNotes = TraceNotes()
    private let addressOnly = AddressOnly()

    init(configuration: EngineConfiguration, indexSeed: UInt64) {
        self.configuration = configuration
        self.slots = SlotTable(seed: indexSeed)
        self.counters.holdApps(configuration.apps.count)
    }

    /// The place of the slot's app in the configuration, and in the counters.
    func appIndex(of slot: SlotID) -> Int { Int(self.slots[slot].app) }

    func app(of slot: SlotID) -> AppConfiguration { self.configuration.apps[Int(self.slots[slot].app)] }

    /// The largest body that APNs takes for what the slot is about.
    func payloadByteCountMax(of slot: SlotID) -> Int {
        PayloadWriter.payloadByteCountMax(for: self.slots[slot].kind == .channel ? .channel : .activity)
    }

    /// What the channel keeps is not what anybody has asked.
    func isStorageConfigured(of slot: SlotID) -> Bool {
        self.slots[slot].kind == .channel && self.app(of: slot).channelStorage != .ask
    }

    /// The keeper has said that it keeps the channel for no audience. That stays so: what it makes has ids that nobody has had before.
    func isUnkept(_ slot: SlotID) -> Bool {
        self.slots[slot].kind == .channel && self.slots[slot].errand != .keeperQuestion
            && self.app(of: slot).audienceChannel == .auto
    }

    /// A new slot. The caller knows that there is none with this key.
    mutating func makeSlot(
        _ key: borrowing SlotKey, hash: UInt32, token: Span<UInt8> = Span(), partition: PartitionIndex
    ) -> SlotID {
        let slot = self.slots.make(key, hash: hash, token: token, partition: partition)
        self.noteUnrecorded(slot)
        self.counters.activities += 1
        if key.kind == .channel { self.counters.channels += 1 }
        return slot
    }

    /// The slot leaves memory. The caller has settled events and records, and the other parts have let go of it.
    mutating func removeSlot(_ slot: SlotID) {
        if self.slots[slot].kind == .channel {
            self.counters.channels -= 1
            self.keptFor[slot] = nil
        }
        if self.slots[slot].kind == .audience { self.owners.remove(slot) }
        self.formerTokens.forget(slot)
        self.slots.remove(slot)
        self.counters.activities -= 1
    }

    /// Events of the slot without an outcome.
    func eventCount(of slot: SlotID) -> Int {
        self.eventCount(of: self.slots[slot].pending) + self.eventCount(of: self.slots[slot].behind)
            + self.eventCount(of: self.slots[slot].inFlight)
            + (self.slots[slot].kind == .audience ? self.owners[slot].openCount : 0)
    }

    private func eventCount(of update: UpdateID) -> Int {
        update.isSome ? self.updates[update].eventCount : 0
    }
}
