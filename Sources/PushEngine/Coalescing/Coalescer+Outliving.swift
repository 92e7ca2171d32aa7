import PushModel

/// Keeps events of an older update that expire later than the newer update. The newer one has a newer alert, and
/// replaces the older one as a whole.
extension Coalescer {
    /// Replaces a waiting update with a newer one, because `older` need not go first. Events of `older` end, unless
    /// they expire later than the events of `newer`. Such events stay beneath, because the device must show them if the
    /// newer events expire unsent.
    mutating func giveWay(_ older: UpdateID, to newer: UpdateID, in memory: inout ShardMemory) {
        for layer in memory.updates[older].under { self.giveWay(layer, to: newer, in: &memory) }
        self.giveWay(memory.updates[older].top, to: newer, in: &memory)
        memory.updates[newer].mergedCount += memory.updates[older].mergedCount
    }

    private mutating func giveWay(_ layer: Layer, to newer: UpdateID, in memory: inout ShardMemory) {
        let index =
            memory.updates[newer].under.firstIndex {
                ($0.timestampSeconds, $0.arrival) > (layer.timestampSeconds, layer.arrival)
            } ?? memory.updates[newer].under.count
        guard self.outlives(layer, beneath: index, of: newer, in: memory) else {
            return self.giveWayForGood(layer, to: newer, in: &memory)
        }
        guard memory.updates[newer].under.count == Update.underMax else {
            return memory.updates[newer].under.insert(layer, at: index)
        }
        // There is no room, so the oldest event ends.
        guard index > 0 else { return self.giveWayForGood(layer, to: newer, in: &memory) }
        memory.updates[newer].under.insert(layer, at: index)
        self.giveWayForGood(memory.updates[newer].under.removeFirst(), to: newer, in: &memory)
    }

    /// Whether the device may still have to show `layer`, which would be at `index` beneath the newest event. An event
    /// with an alert is kept even if a newer event beneath, without an alert, expires later.
    private func outlives(
        _ layer: Layer, beneath index: Int, of newer: UpdateID, in memory: borrowing ShardMemory
    ) -> Bool {
        guard layer.expiresSeconds > memory.updates[newer].top.expiresSeconds else { return false }
        return !memory.updates[newer].under[index...].contains {
            $0.expiresSeconds >= layer.expiresSeconds && (!$0.alert.isEmpty || layer.alert.isEmpty)
        }
    }

    private mutating func giveWayForGood(_ layer: Layer, to newer: UpdateID, in memory: inout ShardMemory) {
        // If the layer may be on the phone already, the event that replaces it counts as perhaps there, too.
        if layer.mayBeSent { memory.updates[newer].top.mayBeSent = true }
        self.supersede(
            layer, of: memory.updates[newer].slot, into: memory.updates[newer].top.source, keepsAlert: false,
            keepsPriority: false, in: &memory)
    }
}
