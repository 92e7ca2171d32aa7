import APNSProtocol
import PushModel

/// Broadcasts of versions by an audience's owner (fan-out contract: Mixed audiences). The owner sends them itself,
/// because only it knows which version is the newest, and which versions APNs has accepted. `state` has this knowledge,
/// so a new owner sends the same bytes again.
extension AudiencePublisher {
    mutating func enqueueBroadcast(
        _ slot: SlotID, environment: PushEnvironment, route: UInt16, in core: inout ShardCore, now: EngineTime
    ) {
        core.errands.append(
            ChannelErrand(
                sender: .audience(slot, generation: core.memory.slots[slot].generation), kind: .broadcast,
                app: core.memory.slots[slot].app, environment: environment,
                partition: core.memory.slots[slot].partition, askedMillis: now.steadyMillis),
            route: route)
    }
    /// Fills the request of a broadcast that is about to leave.
    /// - Returns: `false`: nothing is left to send, or nothing may be sent now.
    mutating func fillBroadcast(_ errand: inout ChannelErrand, in core: inout ShardCore, now: EngineTime) -> Bool {
        guard let slot = self.audienceSlot(of: errand, in: core),
            let index = core.memory.owners[slot].channels.index(errand.environment)
        else { return false }
        let mayLeave = !core.memory.slots[slot].awaitsStateRecord && !self.isPaused(slot, in: core)
        let rules = self.rules(of: slot, in: core)
        guard
            let broadcast = core.memory.owners[slot].broadcastLeaves(
                channel: index, mayLeave: mayLeave, by: rules, now: now)
        else {
            self.advanceChannels(slot, in: &core, now: now)
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
        if core.tracesPasses { errand.traced = self.tracedBroadcast(errand, version, of: slot, in: core, now: now) }
        core.memory.counters.channelBroadcastsSent += 1
        return true
    }
    /// The audience's slot; `nil`: the audience has left memory since.
    private func audienceSlot(of errand: borrowing ChannelErrand, in core: borrowing ShardCore) -> SlotID? {
        guard case .audience(let slot, let generation) = errand.sender, core.memory.slots.contains(slot),
            core.memory.slots[slot].isLive, core.memory.slots[slot].generation == generation
        else { return nil }
        return slot
    }
    /// Takes the result of a broadcast.
    mutating func broadcastEnded(
        _ errand: ChannelErrand, _ result: PushAnswer.Result, in core: inout ShardCore, now: EngineTime
    ) {
        guard let slot = self.audienceSlot(of: errand, in: core) else { return }
        let effect = core.memory.owners[slot].broadcastEnded(
            errand, result, by: self.rules(of: slot, in: core), now: now, into: &self.effects)
        self.carryOut(slot, in: &core, now: now)
        switch effect {
        case .ignored: return
        case .done: break
        case .goesAgain(let attempt, let retryAfterSeconds, let distanceMillis):
            let delay = core.dispatch.backOffMillis(
                attempt: attempt, retryAfterSeconds: retryAfterSeconds, millisMax: .max,
                settings: core.memory.configuration.settings)
            core.memory.owners[slot].broadcastWaits(
                errand.environment, delayMillis: delay, distanceMillis: distanceMillis, now: now)
        }
        self.advanceChannels(slot, in: &core, now: now)
    }
}
