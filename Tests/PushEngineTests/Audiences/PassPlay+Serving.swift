import PushModel

@testable import PushEngine

/// Pushes that leave and are answered, as `ShardEngine+Passes` and `ShardEngine+MemberAnswers` have it.
extension PassPlay {
    struct Serving {
        var member: MemberID
        var hasAlert = false
        var isAlone = false
        var attempt: UInt8 = 0
    }

    /// The next push leaves; false: nobody's turn has come.
    func serve(_ audience: Int) -> Bool {
        self.expire(audience)
        guard !self.audiences[audience].versions.isEmpty,
            self.audiences[audience].pass.notBeforeMillis <= self.nowMillis,
            let serving = self.nextRetry(audience) ?? self.nextLate(audience) ?? self.nextOfRound(audience)
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
                isAlone: serving.isAlone, sentMillis: self.nowMillis, attempt: serving.attempt))
        return true
    }
    private func nextRetry(_ audience: Int) -> Serving? {
        while let member = self.audiences[audience].pass.retries.nextDue(nowMillis: self.nowMillis) {
            guard var entry = self.audiences[audience].pass.retries[member] else { continue }
            if self.table.flags(of: member).contains(.isInFlight) {
                entry.notBeforeMillis = .max
                self.audiences[audience].pass.retries.set(entry, for: member)
                continue
            }
            self.audiences[audience].pass.retries.remove(member)
            guard entry.isOwed else {
                if entry.owesAlert || self.audiences[audience].pass.keepsOlder {
                    entry.notBeforeMillis = .max
                    self.audiences[audience].pass.retries.set(entry, for: member)
                }
                continue
            }
            self.audiences[audience].pass.recent.note(member, servedMillis: self.nowMillis)
            let isAlone = entry.owesAlert && self.goesAlone(audience)
            let isAhead =
                !self.audiences[audience].pass.skipped.contains(member)
                && self.audiences[audience].pass.isAhead(self.table.position(of: member))
            if isAlone, !isAhead {
                self.audiences[audience].pass.retries.set(
                    RetrySet.Entry(notBeforeMillis: .max, isOwed: true), for: member)
            }
            return Serving(
                member: member, hasAlert: entry.owesAlert && self.audiences[audience].alert != nil, isAlone: isAlone,
                attempt: entry.attempt)
        }
        return nil
    }
    private func nextLate(_ audience: Int) -> Serving? {
        while let member = self.audiences[audience].pass.popLate() {
            let isAhead = self.audiences[audience].pass.isAhead(self.table.position(of: member))
            if !self.table.flags(of: member).contains(.isLate) {
                self.fail("one that is not late waits among the late")
            }
            self.table.removeFlag(.isLate, of: member)
            if isAhead {
                self.audiences[audience].pass.skip(member)
            } else {
                self.audiences[audience].pass.lateCount -= 1
            }
            let recent = self.audiences[audience].pass.recent.servedMillis(
                member, distanceMillis: Self.distanceMillis, nowMillis: self.nowMillis)
            let isUnanswered = self.table.flags(of: member).contains(.isInFlight)
            if isUnanswered || recent != nil {
                self.audiences[audience].pass.retries.set(
                    RetrySet.Entry(
                        notBeforeMillis: isUnanswered ? .max : recent.map { $0 + Self.distanceMillis } ?? .min,
                        isOwed: true),
                    for: member)
                continue
            }
            self.audiences[audience].pass.recent.note(member, servedMillis: self.nowMillis)
            return Serving(member: member)
        }
        return nil
    }
    private func nextOfRound(_ audience: Int) -> Serving? {
        while true {
            let member = self.audiences[audience].pass.next(in: self.table)
            let expected = self.audiences[audience].model.next()
            let position = member.map { Int64(self.table.position(of: $0)) }
            if position != expected {
                self.fail("next is \(String(describing: position)), not \(String(describing: expected))")
            }
            guard let member, let position, position == expected else { return nil }
            guard
                self.audiences[audience].pass.nextNotBeforeMillis(distanceMillis: Self.distanceMillis)
                    <= self.nowMillis
            else { return nil }
            let flags = self.table.flags(of: member)
            let isQuiet = self.audiences[audience].pass.forgetQuiet(member)
            let isSkipped = isQuiet && self.audiences[audience].pass.isAlone
            if self.audiences[audience].pass.forgetSkip(member) || isSkipped {
                self.met(position, audience, isServed: false)
                continue
            }
            var serving = Serving(member: member)
            if flags.contains(.isLate) {
                self.table.removeFlag(.isLate, of: member)
                self.audiences[audience].pass.forgetLate(member)
            } else {
                serving.isAlone = self.audiences[audience].pass.isAlone
                serving.hasAlert =
                    self.audiences[audience].pass.owesAlert && self.audiences[audience].alert != nil && !isQuiet
            }
            let recent = self.audiences[audience].pass.recent.servedMillis(
                member, distanceMillis: Self.distanceMillis, nowMillis: self.nowMillis)
            let waits = self.audiences[audience].pass.retries[member]
            let isUnanswered = flags.contains(.isInFlight)
            guard isUnanswered || recent != nil || waits != nil else {
                self.met(position, audience, isServed: true)
                return serving
            }
            var entry = waits ?? RetrySet.Entry(notBeforeMillis: .min, isOwed: true)
            entry.isOwed = true
            if entry.notBeforeMillis == .max { entry.notBeforeMillis = .min }
            entry.notBeforeMillis = max(entry.notBeforeMillis, recent.map { $0 + Self.distanceMillis } ?? .min)
            if isUnanswered { entry.notBeforeMillis = .max }
            entry.owesAlert = entry.owesAlert || serving.hasAlert
            self.met(position, audience, isServed: false)
            self.audiences[audience].pass.retries.set(entry, for: member)
        }
    }
    private func met(_ position: Int64, _ audience: Int, isServed: Bool) {
        self.audiences[audience].pass.met(
            isServed: isServed, distanceMillis: Self.distanceMillis, nowMillis: self.nowMillis)
        self.audiences[audience].model.met(position)
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
        } else if let audience = self.phones[push.position]!.audience,
            var entry = self.audiences[audience].pass.retries[push.member], entry.notBeforeMillis == .max
        {
            entry.notBeforeMillis = push.sentMillis + Self.distanceMillis
            self.audiences[audience].pass.retries.set(entry, for: push.member)
        }
    }
    private func arrive(_ push: Push) {
        guard !push.isDetached else { return }
        if let alert = push.alert { self.phones[push.position]!.rung[alert, default: 0] += 1 }
        self.phones[push.position]!.shownStamp = max(self.phones[push.position]!.shownStamp, push.stampSeconds)
    }
    private func again(_ push: Push, hasLeft: Bool, delayMillis: Int64) {
        guard !hasLeft, !push.isDetached, !self.audiences[push.audience].versions.isEmpty else { return }
        let old = self.audiences[push.audience].pass.retries[push.member]
        let isNewestAlert = push.alert != nil && push.alert == self.audiences[push.audience].alert?.stampSeconds
        let isAhead =
            !(push.isAlone && isNewestAlert) && !self.audiences[push.audience].pass.skipped.contains(push.member)
            && self.audiences[push.audience].pass.isAhead(UInt64(push.position))
        let entry = RetrySet.Entry(
            notBeforeMillis: max(self.nowMillis + delayMillis, push.sentMillis + Self.distanceMillis),
            attempt: push.attempt + 1, isOwed: !isAhead || old?.isOwed == true,
            owesAlert: isNewestAlert || (old?.owesAlert ?? false))
        self.audiences[push.audience].pass.retries.set(entry, for: push.member)
    }
}
