import PushModel

@testable import PushEngine

/// Pushes that leave, and their answers.
extension PassPlay {
    /// Sends the next push. Returns `false` if no member is due.
    func serve(_ audience: Int) -> Bool {
        self.expire(audience)
        guard !self.audiences[audience].versions.isEmpty,
            let serving = self.nextServing(audience)
        else { return false }
        let position = Int64(self.table.position(of: serving.member))
        if self.pushes.contains(where: { $0.position == position }) { self.fail("two pushes to \(position) in flight") }
        if self.nowMillis - self.phones[position]!.lastPushMillis < Self.distanceMillis {
            self.fail("\(position): \(self.nowMillis - self.phones[position]!.lastPushMillis) ms after the last push")
        }
        self.phones[position]!.lastPushMillis = self.nowMillis
        self.table.insertFlag(.isInFlight, of: serving.member)
        let id = self.store.make()
        self.audiences[audience].pass.pushLeft(id, in: &self.store)
        let alert = self.audiences[audience].alert
        let version = serving.isAlone ? alert : self.audiences[audience].versions.last
        self.pushes.append(
            Push(
                id: id, audience: audience, member: serving.member, position: position,
                stampSeconds: version?.stampSeconds ?? 0, alert: serving.hasAlert ? alert?.stampSeconds : nil,
                isAlone: serving.isAlone, sentMillis: self.nowMillis, failures: serving.failures))
        return true
    }
    private func nextServing(_ audience: Int) -> MemberServing? {
        let before = self.audiences[audience].pass
        var effects = ServingEffects()
        let serving = self.audiences[audience].pass.nextServing(
            hasAlert: self.audiences[audience].alert != nil, alertGoesAlone: self.goesAlone(audience),
            distanceMillis: Self.distanceMillis, nowMillis: self.nowMillis, in: &self.table, effects: &effects)
        // The waiting count must fall by the number of members that were served or are no longer owed anything.
        let after = self.audiences[audience].pass
        let counted = effects.superseded.all - (effects.owesNewestBeside ? 1 : 0) + (serving == nil ? 0 : 1)
        if before.waitingCount - after.waitingCount != counted {
            self.fail("\(before.waitingCount) waited, then \(after.waitingCount): counted \(counted)")
        }
        self.audiences[audience].model.goes(from: before.course.position, to: after.course.position)
        return serving
    }

    // MARK: Answers
    enum Answer { case accepted, again, unknown, gone }
    func answer(_ index: Int, _ answer: Answer) {
        let push = self.pushes.remove(at: index)
        let hasLeft = self.table.ring(of: push.member).isNone
        if !hasLeft { self.table.removeFlag(.isInFlight, of: push.member) }
        self.audiences[push.audience].pass.pushAnswered(push.id, in: &self.store)
        self.store.release(push.id)
        switch answer {
        case .accepted: self.arrive(push)
        case .gone: if !hasLeft { self.leave(push.position) }
        case .unknown:
            if let alert = push.alert { self.mayRingAgain.insert(alert) }
            if self.chance(50) { self.arrive(push) }
            self.again(push, hasLeft: hasLeft, delayMillis: 500)
        case .again: self.again(push, hasLeft: hasLeft, delayMillis: self.chance(50) ? 0 : 3_000)
        }
        if hasLeft {
            self.table.free(push.member)
        } else if let audience = self.phones[push.position]!.audience {
            _ = self.audiences[audience].pass.wake(push.member, restedMillis: push.sentMillis + Self.distanceMillis)
        }
    }
    private func arrive(_ push: Push) {
        guard !push.isDetached else { return }
        if let alert = push.alert { self.phones[push.position]!.rung[alert, default: 0] += 1 }
        self.phones[push.position]!.shownStamp = max(self.phones[push.position]!.shownStamp, push.stampSeconds)
    }
    private func again(_ push: Push, hasLeft: Bool, delayMillis: Int64) {
        guard !hasLeft, !push.isDetached, !self.audiences[push.audience].versions.isEmpty else { return }
        let isNewestAlert = push.alert != nil && push.alert == self.audiences[push.audience].alert?.stampSeconds
        let before = self.audiences[push.audience].pass.waitingCount
        let waits = self.audiences[push.audience].pass.failed(
            push.member,
            MemberFailure(
                notBeforeMillis: max(self.nowMillis + delayMillis, push.sentMillis + Self.distanceMillis),
                failures: push.failures.next(isEarlierDeath: false), isNewestAlone: push.isAlone && isNewestAlert,
                owesAlert: isNewestAlert),
            in: self.table)
        if self.audiences[push.audience].pass.waitingCount - before != (waits ? 1 : 0) {
            self.fail("\(push.position) waits after a failed push, or is not counted")
        }
    }
}
