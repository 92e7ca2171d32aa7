/// The owners of the audiences whose ids belong to partitions of this shard, by their slots. Each owner is changed in
/// place.
struct AudienceOwners {
    private var owners: [SlotID: AudienceOwner] = [:]

    /// The owner of the slot's audience, accessed in place. If the slot has no owner yet, this is a new one.
    subscript(_ slot: SlotID) -> AudienceOwner {
        _read {
            if let index = self.owners.index(forKey: slot) {
                yield self.owners.values[index]
            } else {
                yield AudienceOwner()
            }
        }
        _modify { yield &self.owners[slot, default: AudienceOwner()] }
    }
    /// Restores an owner from a record of `state`.
    mutating func restore(_ owner: AudienceOwner, of slot: SlotID) { self.owners[slot] = owner }
    /// Forgets the owner of a slot that leaves memory.
    mutating func remove(_ slot: SlotID) { self.owners[slot] = nil }
}
