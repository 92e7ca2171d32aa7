import PushEngine
import PushModel

/// Whether what outcomes say is so, and in which order a phone has shown things.
extension SimulationWorld {
    /// Set aside only for a reason: a worker that had forgotten what it knew would have none.
    func judgeReasons(_ activity: Int) {
        let phone = self.phones[activity]
        var registered: Int64?
        var hasEnd = false
        var hasStart = false
        for position in self.order where self.written[position]!.activity == activity {
            let event = self.written[position]!
            let names = Set((self.evidence.outcomes[position] ?? []).map(\.name))
            if names.contains("unregistered"), let registered, !hasEnd,
                event.writtenMillis - registered < self.rememberedMillis
            {
                self.fail("\(position) is unregistered, and activity \(activity) had registered before")
            }
            if names.contains("rejected"), event.kind != .start, !hasStart, !phone.hasLostToken {
                self.fail("\(position) is rejected, and no token of activity \(activity) has died")
            }
            self.judgeRefusal(position, event)
            self.judgeFormerToken(position, event)
            if names.contains("expired"), event.kind != .start, !hasStart, event.expiresSeconds == nil,
                !self.plan.livesAreShort
            {
                self.fail("\(position) is expired, and had no time to expire at")
            }
            if names.contains("late"), !hasEnd {
                self.fail("\(position) is late, and activity \(activity) had not ended")
            }
            switch event.kind {
            case .register: if !self.isStranded(position) { registered = event.writtenMillis }
            case .end: hasEnd = true
            case .start: hasStart = true
            case .update:
                // Forgotten, it stays so until it is registered again.
                let isRemembered = registered.map { event.writtenMillis - $0 < self.rememberedMillis } ?? false
                registered = isRemembered ? event.writtenMillis : nil
            case .malformed, .join, .leave, .open: break
            }
        }
    }

    /// What is said of one position agrees, or is `duplicate` (contract: Conservation). Where two owners differ, the one that takes over cannot know what
    /// was said: it says of an event that may have been delivered that it may have been, and it may deliver what was set aside in vain.
    func judgeAgreement(_ position: SourcePosition, _ notes: [SimulationEvidence.OutcomeNote]) {
        let said = notes.filter { $0.name != "duplicate" }.sorted { $0.madeAt < $1.madeAt }
        for (index, first) in said.enumerated() {
            for second in said.dropFirst(index + 1) where first.name != second.name {
                let isOneOwner =
                    first.worker == second.worker
                    && !self.evidence.wasAssigned(first.worker, after: first.madeAt, before: second.madeAt)
                let contradicts =
                    switch (first.name, second.name) {
                    case ("delivered", "superseded"), ("delivered", "unknown"): !second.mayBeSent
                    // That the activity had ended stood in no record yet.
                    case ("late", "applied"): false
                    case ("delivered", _), ("applied", _), (_, "applied"), ("dead-lettered", _), (_, "dead-lettered"):
                        true
                    default: false
                    }
                // One owner could not forward it and wrote a dead letter; another read it again and could.
                let isStranded =
                    self.stranded.contains(position) && [first.name, second.name].contains("dead-lettered")
                if isOneOwner || contradicts, !isStranded {
                    self.fail("\(position) was \(first.name) and then \(second.name)")
                }
            }
        }
    }

    /// An activity is remembered for that long after its last event at least, less what clocks are set and what a partition may wait.
    private var rememberedMillis: Int64 {
        self.plan.livesAreShort ? self.plan.lifetimeMillis / 3 : self.plan.lifetimeMillis / 12 * 11
    }

    /// An event is rejected for a token that APNs has called dead, and never for one that was replaced: the newest that its worker must have
    /// known then, or a newer one, has been refused.
    private func judgeRefusal(_ position: SourcePosition, _ event: WrittenEvent) {
        for note in self.evidence.outcomes[position] ?? [] where note.name == "rejected" {
            let read = Set(
                self.evidence.registrationsRead(of: event.activity, worker: note.worker, madeAt: note.madeAt))
            var tokens: [String] = []
            for other in self.order {
                let registration = self.written[other]!
                guard registration.activity == event.activity, let token = registration.token, !self.isStranded(other)
                else { continue }
                // What was written before the event is read before it.
                if registration.number < event.number || read.contains(registration.number) { tokens = [] }
                tokens.append(token)
            }
            guard !tokens.isEmpty, self.tokensRefused.isDisjoint(with: tokens) else { continue }
            self.fail(
                "\(position) is rejected, and APNs has not refused the newest token of activity \(event.activity)")
        }
    }

    /// Notes that a push has shown something: the events of its content and its alert.
    func noteShown(_ flight: Flight) {
        let body = String(decoding: flight.body, as: UTF8.self)
        if let alert = self.alertNumber(in: body) { self.shown.insert(self.order[alert]) }
        guard let number = self.eventNumber(in: body) else { return }
        self.shown.insert(self.order[number])
        self.phones[flight.activity].shown.append(
            SimulatedPhone.Shown(
                event: number, isBehind: flight.isBehind, isUpdate: body.hasPrefix("{\"aps\":{\"event\":\"update\"")))
    }

    /// Judges that the phone has never shown an older state after a newer one, from any owner. Two exceptions: the newer one expired before
    /// anybody heard whether it had arrived, or its owner could not read for so long that it went on without.
    func judgeOrder(_ activity: Int) {
        let shown = self.phones[activity].shown
        for (earlier, later) in zip(shown, shown.dropFirst()) where !later.isBehind && later.isUpdate {
            let before = self.order[earlier.event]
            let after = self.order[later.event]
            let isOlder =
                (self.written[after]!.timestampSeconds, later.event) < (
                    self.written[before]!.timestampSeconds, earlier.event
                )
            if isOlder, !self.isUnknown(before) {
                self.fail("activity \(activity): event \(later.event) was shown after event \(earlier.event)")
            }
        }
    }

    /// An update that gave way to one that expired first is shown all the same, unless something newer was, or was refused: it was still
    /// valid (contract: Newest). Of many that outlive a newer one the oldest are given up (README, limits).
    func judgeOutliving(_ activity: Int) {
        let updates = self.order.filter { self.written[$0]!.activity == activity && self.written[$0]!.kind == .update }
        // A limited number of those that outlive what they give way to is kept; others are set aside.
        let expiredCount = updates.count { (self.evidence.outcomes[$0] ?? []).contains { $0.name == "expired" } }
        guard expiredCount <= 4 else { return }
        for position in updates.suffix(4) where !self.shown.contains(position) {
            let notes = self.evidence.outcomes[position] ?? []
            let expires = self.written[position]!.expiresSeconds ?? .max
            let wasLost = notes.allSatisfy { note in
                guard note.name == "superseded", let into = note.into, let newer = self.written[into]?.expiresSeconds
                else { return false }
                let isGone = (self.evidence.outcomes[into] ?? []).map(\.name).allSatisfy { $0 == "expired" }
                return isGone && newer < expires
            }
            let seconds = self.written[position]!.timestampSeconds
            // A phone whose card has ended shows nothing of what comes when its channel has been forgotten and is written to once more.
            let isOver: Set = ["rejected", "unregistered", "unknown"]
            let ends = self.phones[activity].channel == nil ? isOver : isOver.union(["delivered"])
            let isOutdone = self.order.contains {
                self.written[$0]!.activity == activity && self.written[$0]!.timestampSeconds >= seconds
                    && (self.shown.contains($0)
                        || (self.evidence.outcomes[$0] ?? []).contains { ends.contains($0.name) })
            }
            guard wasLost, !notes.isEmpty, !isOutdone else { continue }
            self.fail("\(position) outlived what it gave way to, and was not shown: update of activity \(activity)")
        }
    }
}
