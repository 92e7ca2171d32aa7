import PushModel

/// What an update leaves behind that gives way as a whole to a newer one with a newer alert.
extension Coalescer {
    /// Both wait, and `older` need not go first any more. Its events end, but for those that outlive what is newer: should that expire unsent,
    /// the device must show them, so they stay beneath.
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
        // There is no room: the oldest ends.
        guard place > 0 else { return self.giveWayForGood(layer, to: newer, in: &memory) }
        memory.updates[newer].under.insert(layer, at: place)
        self.giveWayForGood(memory.updates[newer].under.removeFirst(), to: newer, in: &memory)
    }

    /// Whether the device may still have to show it at that place beneath the newest: an alert goes before newer content that has none.
    private func outlives(
        _ layer: Layer, beneath place: Int, of newer: UpdateID, in memory: borrowing ShardMemory
    ) -> Bool {
        guard layer.expiresSeconds > memory.updates[newer].top.expiresSeconds else { return false }
        return !memory.updates[newer].under[place...].contains {
            $0.expiresSeconds >= layer.expiresSeconds && (!$0.alert.isEmpty || layer.alert.isEmpty)
        }
    }

    private mutating func giveWayForGood(_ layer: Layer, to newer: UpdateID, in memory: inout ShardMemory) {
        // Of what takes its place it is not known any more that the phone has not got it.
        if layer.mayBeSent { memory.updates[newer].top.mayBeSent = true }
        self.supersede(
            layer, of: memory.updates[newer].slot, into: memory.updates[newer].top.source, keepsAlert: false,
            keepsPriority: false, in: &memory)
    }
}
