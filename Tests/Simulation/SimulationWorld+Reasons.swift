import PushEngine
import PushModel

/// Judges whether outcomes are true, and in which order a phone has shown content.
extension SimulationWorld {
    /// Judges that an event has an outcome such as `unregistered` or `late` only for a reason. A worker that forgets an
    /// activity too early writes such outcomes without a reason.
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
            if names.contains("late"), !hasEnd, !self.mayBeTakenInBothClusters(position) {
                self.fail("\(position) is late, and activity \(activity) had not ended")
            }
            switch event.kind {
            case .register: if !self.isStranded(position) { registered = event.writtenMillis }
            case .end: hasEnd = true
            case .start: hasStart = true
            case .update:
                // An activity that was forgotten stays forgotten until it is registered again.
                let isRemembered = registered.map { event.writtenMillis - $0 < self.rememberedMillis } ?? false
                registered = isRemembered ? event.writtenMillis : nil
            case .malformed, .join, .leave, .open: break
            }
        }
    }

    /// Judges that all outcomes of one event agree, apart from `duplicate` (contract: Conservation). Outcomes of two
    /// owners may differ, because the later owner may not know the former one's outcome. If the former owner delivered
    /// the event, the later owner may report `unknown` or `superseded`, and must say that the event may have arrived.
    /// The later owner may also deliver an event that the former owner gave up.
    func judgeAgreement(_ position: SourcePosition, _ seen: [SimulationEvidence.SeenOutcome]) {
        guard !self.mayBeTakenInBothClusters(position) else { return }
        let said = seen.filter { $0.name != "duplicate" }.sorted { $0.madeAt < $1.madeAt }
        for (index, first) in said.enumerated() {
            for second in said.dropFirst(index + 1) where first.name != second.name {
                let isOneOwner =
                    first.worker == second.worker
                    && !self.evidence.wasAssigned(first.worker, after: first.madeAt, before: second.madeAt)
                let contradicts =
                    switch (first.name, second.name) {
                    case ("delivered", "superseded"), ("delivered", "unknown"): !second.mayBeSent
                    // When the later owner took over, `state` did not say yet that the activity had ended.
                    case ("late", "applied"): false
                    case ("delivered", _), ("applied", _), (_, "applied"): true
                    // Every owner finds the same fault in a malformed record, so its outcomes agree. They may differ if
                    // APNs refused the message, because an owner that does not know of that may send it again.
                    case ("dead-lettered", _): !first.isOfAPNs
                    case (_, "dead-lettered"): !second.isOfAPNs
                    default: false
                    }
                // One owner could not forward the event and wrote a dead letter. Another owner read the event again and
                // forwarded it.
                let isStranded =
                    self.stranded.contains(position) && [first.name, second.name].contains("dead-lettered")
                if isOneOwner || contradicts, !isStranded {
                    self.fail("\(position) was \(first.name) and then \(second.name)")
                }
            }
        }
    }

    /// Least time for which an activity is remembered after its last event. It is shorter than the configured time,
    /// because clocks may be set and partitions may wait.
    private var rememberedMillis: Int64 {
        self.plan.livesAreShort ? self.plan.lifetimeMillis / 3 : self.plan.lifetimeMillis / 12 * 11
    }

    /// Judges that an event is rejected only because of a token that APNs has called dead, and that was not replaced.
    /// APNs must have refused the newest token that the worker had certainly read by then, or a later one.
    private func judgeRefusal(_ position: SourcePosition, _ event: WrittenEvent) {
        for outcome in self.evidence.outcomes[position] ?? [] where outcome.name == "rejected" {
            let read = Set(
                self.evidence.registrationsRead(of: event.activity, worker: outcome.worker, madeAt: outcome.madeAt))
            var tokens: [String] = []
            for other in self.order {
                let registration = self.written[other]!
                guard registration.activity == event.activity, let token = registration.token, !self.isStranded(other)
                else { continue }
                // A registration that was written before the event is also read before it.
                if registration.number < event.number || read.contains(registration.number) { tokens = [] }
                tokens.append(token)
            }
            guard !tokens.isEmpty, self.tokensRefused.isDisjoint(with: tokens) else { continue }
            self.fail(
                "\(position) is rejected, and APNs has not refused the newest token of activity \(event.activity)")
        }
    }

    /// Remembers the events whose content or alert a phone shows after a push.
    func rememberShown(_ flight: Flight) {
        let body = String(decoding: flight.body, as: UTF8.self)
        if let alert = self.alertNumber(in: body) { self.shown.insert(self.order[alert]) }
        guard let number = self.eventNumber(in: body) else { return }
        self.shown.insert(self.order[number])
        self.phones[flight.activity].shown.append(
            SimulatedPhone.Shown(
                event: number, isBehind: flight.isBehind, isUpdate: body.hasPrefix("{\"aps\":{\"event\":\"update\"")))
    }

    /// Judges that the phone has never shown an older state after a newer one, even from different owners. There are
    /// two exceptions. The newer state may have expired before its owner knew whether it had arrived. The later owner
    /// may have begun to push before it had read everything, because its wait is limited.
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

    /// Judges the last updates that gave way to an update that expired unsent. One that is valid for longer must be
    /// shown (contract: Newest). There are excuses, such as something newer that was shown or refused. If many updates
    /// are valid for longer than a newer one, the oldest are given up (README, limits).
    func judgeOutliving(_ activity: Int) {
        let updates = self.order.filter { self.written[$0]!.activity == activity && self.written[$0]!.kind == .update }
        // A slot keeps only a limited number of superseded events that expire later than the newer event. The others
        // are given up.
        let expiredCount = updates.count { (self.evidence.outcomes[$0] ?? []).contains { $0.name == "expired" } }
        guard expiredCount <= 4 else { return }
        for position in updates.suffix(4) where !self.shown.contains(position) {
            let seen = self.evidence.outcomes[position] ?? []
            let expires = self.written[position]!.expiresSeconds ?? .max
            let wasLost = seen.allSatisfy { outcome in
                guard outcome.name == "superseded", let into = outcome.into,
                    let newer = self.written[into]?.expiresSeconds
                else { return false }
                let isGone = (self.evidence.outcomes[into] ?? []).map(\.name).allSatisfy { $0 == "expired" }
                return isGone && newer < expires
            }
            let seconds = self.written[position]!.timestampSeconds
            // A channel may be forgotten and then get new events. A phone whose card has ended shows none of these.
            let isOver: Set = ["rejected", "unregistered", "unknown"]
            let ends = self.phones[activity].channel == nil ? isOver : isOver.union(["delivered"])
            let isOutdone = self.order.contains {
                self.written[$0]!.activity == activity && self.written[$0]!.timestampSeconds >= seconds
                    && (self.shown.contains($0)
                        || (self.evidence.outcomes[$0] ?? []).contains { ends.contains($0.name) })
            }
            guard wasLost, !seen.isEmpty, !isOutdone else { continue }
            self.fail("\(position) outlived what it gave way to, and was not shown: update of activity \(activity)")
        }
    }
}
