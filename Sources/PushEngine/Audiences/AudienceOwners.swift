/// Owners of the audiences whose home is a partition of this shard, by their slots. Each is lent in place.
struct AudienceOwners {
    private var owners: [SlotID: AudienceOwner] = [:]

    /// The owner of the slot's audience, lent in place. One that knows nothing, where nothing is known of the audience.
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
    /// As a record of `state` tells it.
    mutating func restore(_ owner: AudienceOwner, of slot: SlotID) { self.owners[slot] = owner }
    /// The slot leaves memory.
    mutating func remove(_ slot: SlotID) { self.owners[slot] = nil }
}
