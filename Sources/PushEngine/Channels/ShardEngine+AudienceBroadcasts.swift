import APNSProtocol
import PushModel

/// Versions that an audience's owner broadcasts (fan-out contract: Mixed audiences). The owner sends them itself,
/// because only it knows which version is newest and whether APNs has taken it. `state` has both, and a new owner sends
/// the same bytes again.
extension ShardEngine {
    mutating func enqueueBroadcast(_ slot: SlotID, environment: PushEnvironment, route: UInt16, now: EngineTime) {
        self.errands.append(
            ChannelErrand(
                sender: .audience(slot, generation: self.memory.slots[slot].generation), kind: .broadcast,
                app: self.memory.slots[slot].app, environment: environment,
                partition: self.memory.slots[slot].partition, askedMillis: now.steadyMillis),
            route: route)
    }
    /// Fills a broadcast, whose turn it is, with what is newest now.
    /// - Returns: `false`: nothing is left to send.
    mutating func fillBroadcast(_ errand: inout ChannelErrand, now: EngineTime) -> Bool {
        guard let slot = self.audienceSlot(of: errand),
            let index = self.memory.owners[slot].channels.index(errand.environment)
        else { return false }
        let mayLeave = !self.memory.slots[slot].awaitsStateRecord && !self.isPaused(slot)
        let rules = self.rules(of: slot)
        guard
            let broadcast = self.memory.owners[slot].broadcastLeaves(
                channel: index, mayLeave: mayLeave, by: rules, now: now)
        else {
            self.advanceChannels(slot, now: now)
            return false
        }
        let version = broadcast.version
        errand.target = broadcast.channel
        errand.body.removeAll(keepingCapacity: true)
        version.appendBody(alertOf: broadcast.alert, to: &errand.body)
        errand.priority = broadcast.isHigh ? .high : .low
        errand.expirationSeconds = PushComposer.broadcastExpirationSeconds(
            version.layer.expirationHeaderSeconds
                ?? now.wallSeconds + EventRules.expirationSeconds(of: version.kind),
            storage: StoragePolicy(rules.app.audienceChannelStorage.policy), now: now)
        errand.stampSeconds = version.stampSeconds
        errand.alertStampSeconds = broadcast.alert?.stampSeconds ?? 0
        if self.tracesPasses { errand.traced = self.tracedBroadcast(errand, version, of: slot, now: now) }
        self.memory.counters.channelBroadcastsSent += 1
        return true
    }
    /// The audience's slot; `nil`: the audience has left memory since.
    private func audienceSlot(of errand: borrowing ChannelErrand) -> SlotID? {
        guard case .audience(let slot, let generation) = errand.sender, self.memory.slots.contains(slot),
            self.memory.slots[slot].isLive, self.memory.slots[slot].generation == generation
        else { return nil }
        return slot
    }
    /// Takes the result of a broadcast.
    mutating func broadcastEnded(_ errand: ChannelErrand, _ result: PushAnswer.Result, now: EngineTime) {
        guard let slot = self.audienceSlot(of: errand) else { return }
        let effect = self.memory.owners[slot].broadcastEnded(
            errand, result, by: self.rules(of: slot), now: now, into: &self.ownerEffects)
        self.carryOut(slot, now: now)
        switch effect {
        case .ignored: return
        case .done: break
        case .goesAgain(let attempt, let retryAfterSeconds, let distanceMillis):
            let delay = self.dispatch.backOffMillis(
                attempt: attempt, retryAfterSeconds: retryAfterSeconds, millisMax: .max,
                settings: self.memory.configuration.settings)
            self.memory.owners[slot].broadcastWaits(
                errand.environment, delayMillis: delay, distanceMillis: distanceMillis, now: now)
        }
        self.advanceChannels(slot, now: now)
    }
}
