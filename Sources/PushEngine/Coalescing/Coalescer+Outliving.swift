import PushModel

/// Keeps what outlives an update that gives way as a whole to a newer one with a newer alert.
extension Coalescer {
    /// Lets a waiting update give way to a newer one: `older` need not go first. Its events end, unless they outlive
    /// what is newer. Should the newer events expire unsent, the device must show these, so they stay beneath.
    mutating func giveWay(_ older: UpdateID, to newer: UpdateID, in memory: inout ShardMemory) {
        for layer in memory.updates[older].under { self.giveWay(layer, to: newer, in: &memory) }
        self.giveWay(memory.updates[older].top, to: newer, in: &memory)
        memory.updates[newer].mergedCount += memory.updates[older].mergedCount
    }

    private mutating func giveWay(_ layer: Layer, to newer: UpdateID, in memory: inout ShardMemory) {
        let place =
            memory.updates[newer].under.firstIndex {
                ($0.timestampSeconds, $0.arrival) > (layer.timestampSeconds, layer.arrival)
            } ?? memory.updates[newer].under.count
        guard self.outlives(layer, beneath: place, of: newer, in: memory) else {
            return self.giveWayForGood(layer, to: newer, in: &memory)
        }
        guard memory.updates[newer].under.count == Update.underMax else {
            return memory.updates[newer].under.insert(layer, at: place)
        }
        // There is no room, so the oldest ends.
        guard place > 0 else { return self.giveWayForGood(layer, to: newer, in: &memory) }
        memory.updates[newer].under.insert(layer, at: place)
        self.giveWayForGood(memory.updates[newer].under.removeFirst(), to: newer, in: &memory)
    }

    /// Whether the device may still have to show the event at that place beneath the newest. An alert goes before newer
    /// content that has none.
    private func outlives(
        _ layer: Layer, beneath place: Int, of newer: UpdateID, in memory: borrowing ShardMemory
    ) -> Bool {
        guard layer.expiresSeconds > memory.updates[newer].top.expiresSeconds else { return false }
        return !memory.updates[newer].under[place...].contains {
            $0.expiresSeconds >= layer.expiresSeconds && (!$0.alert.isEmpty || layer.alert.isEmpty)
        }
    }

    private mutating func giveWayForGood(_ layer: Layer, to newer: UpdateID, in memory: inout ShardMemory) {
        // The phone may already have the event that takes its place.
        if layer.mayBeSent { memory.updates[newer].top.mayBeSent = true }
        self.supersede(
            layer, of: memory.updates[newer].slot, into: memory.updates[newer].top.source, keepsAlert: false,
            keepsPriority: false, in: &memory)
    }
}
