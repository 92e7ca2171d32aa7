public import APNSProtocol
public import PushModel

/// Prefetches memory for answers, as `consume(_:now:)` does for a batch. Answers that arrive together are about
/// activities whose data is spread over memory. The slots found here are only used for prefetching.
extension ShardEngine {
    /// Number of answers between two steps of prefetching. Meanwhile memory has time to deliver.
    private static var answerLead: Int { 4 }

    /// Takes the answers one after the other, as `answered(_:now:)` would.
    public mutating func answered(_ answers: [PushAnswer], now: EngineTime) {
        let lead = Self.answerLead
        var step = 0
        while step < answers.count + 3 * lead {
            if step < answers.count { self.prefetchPush(answers[step].id) }
            if answers.indices.contains(step - lead) { self.prefetchSlot(of: answers[step - lead].id) }
            if answers.indices.contains(step - 2 * lead) { self.prefetchRest(of: answers[step - 2 * lead].id) }
            if step >= 3 * lead { self.answered(answers[step - 3 * lead], now: now) }
            step += 1
        }
    }

    private func prefetchPush(_ push: PushID) {
        self.core.memory.updates.prefetch(of: push)
        self.fanOut.pushes.prefetch(of: push)
    }

    private mutating func prefetchSlot(of push: PushID) {
        if let id = self.fanOut.pushes.id(of: push) { return self.prefetchMember(of: id) }
        guard let update = self.core.memory.updates.id(of: push) else { return }
        self.core.memory.slots.prefetch(self.core.memory.updates[update].slot)
    }

    private mutating func prefetchMember(of id: MemberPushID) {
        let push = self.fanOut.pushes[id]
        self.fanOut.crowds.members(of: push.partition).table.prefetch(push.member)
    }

    private func prefetchRest(of push: PushID) {
        guard let update = self.core.memory.updates.id(of: push) else { return }
        let slot = self.core.memory.updates[update].slot
        self.core.dispatch.budgets.prefetch(self.core.memory.slots[slot].budget)
        self.core.memory.slots.prefetchIdentity(slot, idOnly: false)
    }

    /// Prefetches what the following calls of `acknowledged(_:offset:now:)` will read.
    public func fetchAhead(acknowledgements: Span<UInt64>) {
        for index in acknowledgements.indices { self.core.journal.acknowledgements.prefetch(acknowledgements[index]) }
        for index in acknowledgements.indices {
            let slot = self.core.journal.acknowledgements.slot(of: acknowledgements[index])
            if slot.isSome { self.core.memory.slots.prefetch(slot) }
        }
    }
}
