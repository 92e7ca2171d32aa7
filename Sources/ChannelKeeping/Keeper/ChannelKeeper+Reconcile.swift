import PushModel

/// Repairs differences between the list and `state`, one step at a time.
extension ChannelKeeper {
    func plan(_ ids: [[UInt8]], now: EngineTime) -> ReconcilePlan {
        let warm = Set(self.table.warmNumbers(self.settings.poolPolicy).prefix(self.settings.poolSize))
        let kept = self.table.held.values.filter { !$0.isLeaving }.sorted { $0.number < $1.number }.map { held in
            ReconcilePlan.Kept(
                number: held.number, channel: held.channel,
                hasOwner: held.channel.owner != nil || warm.contains(held.number))
        }
        return ReconcilePlan(
            kept: kept, listed: ids, wallMillis: now.wallMillis, settleMillis: self.settings.settleMillis)
    }

    var reconcileDeadline: Int64? { self.reconcileSteps.isEmpty ? nil : self.reconcileNotBeforeMillis }

    /// Takes one step. The list behind the step may be old by now, so a record that has changed since is left alone.
    mutating func reconcileOne(now: EngineTime) {
        while !self.reconcileSteps.isEmpty, now.steadyMillis >= self.reconcileNotBeforeMillis {
            let step = self.reconcileSteps.removeFirst()
            guard self.carryOut(step, now: now) else { continue }
            self.reconcileNotBeforeMillis = now.steadyMillis + self.settings.reconcileSpacingMillis
        }
    }

    private mutating func carryOut(_ step: ReconcilePlan.Step, now: EngineTime) -> Bool {
        switch step {
        case .delete(let number, let id):
            guard let held = self.table[number], held.channel.id == id, held.channel.isWarm, held.isDurable else {
                return false
            }
            self.delete(number, now: now)
            return true
        case .openAgain(let number, let id):
            guard let held = self.vanished(number, id), held.channel.phase == .open, held.channel.owner != nil,
                held.news == nil
            else { return false }
            self.reportVanished(id)
            self.table.update(number) { $0.news = .vanished(id: id) }
            return true
        case .forget(let number, let id):
            guard let held = self.vanished(number, id), held.channel.isWarm || held.channel.phase == .ended
            else { return false }
            self.reportVanished(id)
            self.gone(number, now: now)
            return true
        }
    }

    private func vanished(_ number: Int64, _ id: [UInt8]) -> HeldChannel? {
        guard let held = self.table[number], !held.isLeaving, held.channel.id == id, held.channel.isRegistered,
            held.isDurable, held.isAbsentForGood
        else { return nil }
        return held
    }

    mutating func reportVanished(_ id: [UInt8]) {
        self.counters.vanished += 1
        self.actions.append(.alarm(.vanished(id: id)))
    }
}
