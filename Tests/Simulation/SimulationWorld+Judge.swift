import DeviceModel
import Foundation
import PushEngine
import PushModel
import ShardLoop

extension SimulationWorld {
    // MARK: After every step

    func checkInvariants(_ worker: SimulatedWorker) {
        let counters = worker.loop.engine.counters
        if !counters.isConserved {
            self.fail(
                "conservation: consumed \(counters.consumed) + restored \(counters.restored) is not outcomes \(counters.outcomeSum) + pending "
                    + "\(counters.pending) + forwarded \(counters.forwarded) + handed over \(counters.handedOver)")
        }
        let counted = worker.loop.engine.countPendingEvents()
        if counted != counters.pending {
            self.fail("\(counted) events are pending, the counter says \(counters.pending)")
        }
        // What is in memory is limited, mostly by the numbers of slots and of unacknowledged records.
        if counters.slots > self.phones.count + self.straightChannelCount {
            self.fail("\(counters.slots) slots are in memory")
        }
        if counters.slotsPending > counters.slots || counters.slotsPending < 0 {
            self.fail("\(counters.slotsPending) of \(counters.slots) slots have work")
        }
        let underWay =
            self.kafka.transits.count { $0.producer == worker.number && !$0.isOrphan } + worker.inbox.count
            + worker.loop.waitingRecordCount + self.lateVoids.count { $0.transit.producer == worker.number }
        if counters.unacknowledged != underWay {
            self.fail("\(underWay) records are under way, the counter says \(counters.unacknowledged)")
        }
        // The worker stops reading at `unacknowledgedMax`, but one event or push still adds a few records. A release
        // writes every slot, and refreshing the markers writes to every partition.
        let audiences = self.audienceNumbers.count
        let room =
            16 + 4 * self.phones.count + 2 * Int(self.plan.partitions)
            + audiences * (4 * Int(self.plan.partitions) + self.members.count + self.starters.count)
            + self.pauses.values.reduce(0) { $0 + $1.count } + self.keptRecordsAtOnceMax
            + 4 * self.straightChannelCount + worker.outdatedMax
        worker.unacknowledgedCount = counters.unacknowledged
        if counters.unacknowledged == 0 { worker.outdatedMax = 0 }
        if counters.unacknowledged > self.plan.unacknowledgedMax + room || counters.unacknowledged < 0 {
            self.fail("\(counters.unacknowledged) records are not acknowledged")
        }
        if worker.loop.engine.updatesHeld > 3 * counters.slots {
            self.fail("\(worker.loop.engine.updatesHeld) updates of \(counters.slots) slots are in memory")
        }
        let entriesMax =
            2 * (counters.slots + counters.unacknowledged + self.members.count + self.starters.count)
        if worker.loop.engine.ledgerEntriesOpen > entriesMax,
            worker.loop.engine.ledgerEntriesOpen > entriesMax + self.uncommittedWishCount
        {
            self.fail(
                "\(worker.loop.engine.ledgerEntriesOpen) ledger entries are open for \(counters.slots) slots and "
                    + "\(counters.unacknowledged) records under way")
        }
        self.checkUnits(worker)
        self.checkMembers(worker)
        let membershipCount = self.members.count + self.starters.count * self.plan.audiences.audiences.count
        let requestsMax = counters.slots + membershipCount + self.keptRequestsAtOnceMax
        if counters.inFlight < 0 || counters.inFlight > requestsMax {
            self.fail("\(counters.inFlight) pushes of \(counters.slots) slots are in flight")
        }
    }

    /// Remembers that a record was stored in a log.
    func rememberArrival(_ transit: SimulatedKafka.Transit, offset: Int64) {
        if transit.logID.topic == .state {
            self.strikeAtState(transit)
            self.strikeAtLateStart(transit)
            self.rememberMarker(transit, offset: offset)
            self.rememberForgottenChannel(transit)
            self.rememberKeptRecord(transit, offset: offset)
        }
        switch transit.logID.topic {
        case .outcomes:
            self.rememberTraceOfOutcome(transit.record)
            self.rememberAboutMany(transit.record)
            self.rememberUnheardStart(transit.record)
            self.rememberKeptOutcome(transit.record)
            self.rememberStraightOutcome(transit.record)
            if !self.evidence.rememberOutcome(
                transit.record, worker: transit.producer, nowMillis: self.steadyMillis,
                isOfMany: { self.written[$0].map { $0.isContent && self.isAudience($0.activity) } ?? false })
            {
                self.fail("the outcome \(String(decoding: transit.record.value, as: UTF8.self)) cannot be read")
            }
            self.log("outcome \(String(decoding: transit.record.value.prefix(600), as: UTF8.self))")
        case .state:
            let key = self.name(ofStateKey: transit.record.key)
            self.log(
                "state \(transit.logID.partition)/\(offset) of worker \(transit.producer): \(key)\(transit.record.isTombstone ? " removed" : "")"
            )
            if transit.fate == .delivered, !transit.isOfEndedClient,
                let newest = self.evidence.rememberState(
                    transit.logID, key: transit.record.key, producer: transit.producer, transit.acknowledgement)
            {
                self.fail(
                    "\(key) of worker \(transit.producer): record \(transit.acknowledgement) lies behind \(newest)")
            }
            self.rememberCrowdRecord(transit, key: key)
            if let activity = self.activity(ofStateKey: transit.record.key) {
                self.evidence.rememberState(
                    activity: activity, worker: transit.producer, madeAt: transit.record.madeAt)
            }
        case .routed:
            if transit.record.isForwarded, let partition = transit.record.header(.partition).flatMap({ Int32($0) }),
                let source = transit.record.header(.offset).flatMap({ Int64($0) })
            {
                self.evidence.rememberRouted(SourcePosition(topic: 0, partition: partition, offset: source))
            }
        case .events, .deadLetters: break
        }
    }

    /// Checks that an offset is committed only if its event needs no more from the worker. The event must be forwarded,
    /// dead-lettered, a duplicate, or covered by a stored `state` record.
    func checkCommit(_ logID: SimulatedKafka.LogID, _ offsets: Range<Int64>, worker: Int) {
        for offset in offsets {
            guard let read = self.readEvent(logID, offset) else { continue }
            let (position, event) = (read.position, read.event)
            if !read.isMisplaced {
                self.rememberCommit(event)
                self.rememberStartCommit(event)
            }
            if let why = self.whyUnresolved(read, logID, offset, worker: worker, isAcknowledged: false) {
                self.fail(
                    "\(logID.topic) \(logID.partition)/\(offset) (\(event.kind) of activity \(event.activity), written to \(position.partition)/\(position.offset)) is committed, but \(why)"
                )
            }
        }
    }

    /// An event that a worker reads, and the position at which it was first written.
    struct ReadEvent {
        var position: SourcePosition
        var event: WrittenEvent
        /// Whether the event is in another partition than the one that its key belongs to.
        var isMisplaced: Bool
    }

    /// The event at this offset. `nil`: the record is not an event.
    func readEvent(_ logID: SimulatedKafka.LogID, _ offset: Int64) -> ReadEvent? {
        guard let record = self.kafka.record(logID, offset) else { return nil }
        var position = SourcePosition(topic: 0, partition: logID.partition, offset: offset)
        var isMisplaced = false
        if logID.topic == .routed {
            guard record.isForwarded, let partition = record.header(.partition).flatMap({ Int32($0) }),
                let source = record.header(.offset).flatMap({ Int64($0) })
            else { return nil }
            position = SourcePosition(topic: 0, partition: partition, offset: source)
        } else {
            isMisplaced =
                !self.plan.audiences.trustsPlacement
                && Murmur2.partition(key: record.key.span, count: self.plan.partitions) != logID.partition
        }
        return self.written[position].map { ReadEvent(position: position, event: $0, isMisplaced: isMisplaced) }
    }

    /// Why the worker must not commit the record at this offset yet. `nil`: it may.
    func whyUnresolved(
        _ read: ReadEvent, _ logID: SimulatedKafka.LogID, _ offset: Int64, worker: Int, isAcknowledged: Bool
    ) -> String? {
        let event = read.event
        return self.evidence.whyUnresolved(
            read.position,
            record: SourcePosition(
                topic: logID.topic == .events ? 0 : 1, partition: logID.partition, offset: offset),
            activity: event.member == nil && event.starter == nil && event.kind != .open
                ? self.phones[event.activity].audience?.first ?? event.activity : nil,
            isMisplaced: read.isMisplaced, worker: worker, isAcknowledged: isAcknowledged)
    }

    // MARK: At the end

    /// Whether a state record may be written before the event's outcome. The state record waits for a limited number of
    /// outcomes of superseded events, because an activity that is never quiet must be written too. If the worker dies
    /// in between, a replay is the event's only outcome.
    private func mayOutrunItsOutcome(_ position: SourcePosition) -> Bool {
        let event = self.written[position]!
        let before = self.order.prefix { $0 != position }.count { self.written[$0]!.activity == event.activity }
        return event.kind == .update && before >= Self.outcomesWaitedForMax
    }
    /// `Journal.stateWaitExtensionsMax`: maximum number of superseded events that a due state record waits for.
    private static let outcomesWaitedForMax = 64

    func checkSettled() {
        for worker in self.workers {
            let counters = worker.loop.engine.counters
            if counters.pending != 0 { self.fail("\(counters.pending) events are still pending") }
            if counters.inFlight != 0 { self.fail("\(counters.inFlight) pushes are still in flight") }
            if counters.members.waiting != 0 { self.fail("\(counters.members.waiting) members still wait") }
            if counters.membersHeld != 0 { self.fail("\(counters.membersHeld) members are still in memory") }
            if counters.slots != 0 { self.fail("\(counters.slots) slots are still in memory") }
        }
        self.judgeTraces()
        self.judgeStranded()
        for partition in 0..<self.partitionCount {
            for kind in [SimulatedKafka.Topic.events, .routed] {
                let logID = SimulatedKafka.LogID(topic: kind, partition: partition)
                let committed = self.kafka.committed[logID] ?? 0
                if committed != self.kafka.end(logID) {
                    self.fail("\(kind) \(partition) is committed up to \(committed) of \(self.kafka.end(logID))")
                }
            }
        }
        for position in self.order {
            let seen = self.evidence.outcomes[position] ?? []
            let names = Set(seen.map(\.name))
            let event = self.written[position]!
            if names.isEmpty, self.plan.publishesAll {
                self.fail("\(position) has no outcome: \(event.kind) of activity \(event.activity)")
            }
            if !seen.isEmpty, seen.allSatisfy(\.isReplay), self.plan.publishesAll, !self.mayOutrunItsOutcome(position) {
                self.fail("\(position) is only said to be a replay: \(event.kind) of activity \(event.activity)")
            }
            self.judgeAgreement(position, seen)
        }
        var known: [SourcePosition: Bool] = [:]
        for position in self.order
        where self.shown.contains(position) && self.isSetAside(position, known: &known)
            && !self.written[position]!.hasCopy
        {
            self.fail("\(position) was shown and is said to have been set aside")
        }
        self.judgeMovements()
        self.judgeKeptChannels()
        self.judgeStraightEvents()
        for audience in self.audienceNumbers {
            self.judgeReasons(audience)
            self.judgeAudience(audience)
            self.judgeStarts(audience)
            self.judgeRecordsAboutMany(audience)
        }
        for activity in 0..<self.plan.activities {
            self.judgeReasons(activity)
            self.judgeOrder(activity)
            self.judgeOutliving(activity)
            self.judge(activity)
            self.judgeSleeper(activity)
        }
    }

    /// Judges what one phone shows. It must be what the phone would show after all events in order, except those that
    /// were not sent (contract: Device equivalence).
    ///
    /// An event whose outcome is unknown may have been pushed or not. If it was pushed, older events may still have
    /// been pushed after it, because no worker knew that it was accepted. One combination of these cases must explain
    /// what the phone shows.
    private func judge(_ activity: Int) {
        let positions = self.order.filter { self.written[$0]!.activity == activity }
        // A phone shows nothing if Kafka refused to forward its registration.
        guard !positions.contains(where: { self.written[$0]!.kind == .register && self.isStranded($0) }) else { return }
        let doubtful = positions.filter { !self.ways(of: $0).isEmpty }
        let hadStart = positions.contains { self.written[$0]!.kind == .start }
        let resendsStarts = self.plan.app.startOnUnknown == .resend
        if !resendsStarts, self.phones[activity].device.cardCount > 1 {
            self.fail("activity \(activity): \(self.phones[activity].device.cardCount) cards")
        }
        // A start that is sent again puts up another card. The two pushes may arrive in either order.
        let mayStartTwice = hadStart && resendsStarts && (self.plan.lostAnswerPercent > 0 || self.moves > 0)
        guard !mayStartTwice, doubtful.count <= Self.doubtfulMax else { return }
        let countsCards = !(hadStart && self.moves > 0)
        var differences: [String] = []
        let ways = doubtful.map { self.ways(of: $0) }
        for choice in 0..<ways.map(\.count).reduce(1, *) {
            var pushed: [SourcePosition: Bool] = [:]
            var unheard: Set<SourcePosition> = []
            var rest = choice
            for (position, ways) in zip(doubtful, ways) {
                let way = ways[rest % ways.count]
                pushed[position] = way != .notPushed
                if way == .unheard { unheard.insert(position) }
                rest /= ways.count
            }
            let (reference, alerts) = self.reference(positions, doubtful: pushed, unheard: unheard)
            guard
                let difference = self.phones[activity].device.firstDifference(
                    from: reference, countingCards: countsCards, alerts: alerts)
            else { return }
            differences.append(difference)
        }
        var story: [String] = []
        for position in positions {
            let event = self.written[position]!
            let names = (self.evidence.outcomes[position] ?? []).map(\.name)
            story.append("\(event.kind)@\(event.timestampSeconds) \(position.partition)/\(position.offset) \(names)")
        }
        self.fail("activity \(activity): \(differences[0])\n  " + story.joined(separator: "\n  "))
    }

    /// Maximum number of events with an unknown outcome for which one activity is judged. More events have too many
    /// combinations.
    static let doubtfulMax = 8

    /// Simulates a phone that got the given events in order, and lists the alerts that it may have shown. A withdrawn
    /// alert may have been shown before.
    /// - Parameters:
    ///   - doubtful: for each event with an unknown outcome, whether it is assumed to have been pushed.
    ///   - unheard: events with an unknown outcome after which older events are still pushed.
    private func reference(
        _ positions: [SourcePosition], doubtful: [SourcePosition: Bool], unheard: Set<SourcePosition>
    ) -> (device: Device, alerts: AlertHistory) {
        var reference = Device()
        var alerts = AlertHistory()
        var known = doubtful
        // An event that was superseded by an unheard event was given up together with it.
        let unheard = unheard.union(
            unheard.isEmpty
                ? []
                : positions.filter { position in
                    (self.evidence.outcomes[position] ?? []).contains { outcome in
                        outcome.name == "superseded" && outcome.into.map { unheard.contains($0) } == true
                    }
                })
        let onlySure = !doubtful.isEmpty && !doubtful.values.contains(true)
        var newest = Int64.min
        var stamp = Int64(0)
        for position in self.inOrderOfPushes(positions, unheard: unheard) {
            let event = self.written[position]!
            guard event.isContent else { continue }
            guard self.wasPushed(position, known: &known, onlySure: onlySure) else { continue }
            if event.kind == .update, event.timestampSeconds < newest { continue }
            if !unheard.contains(position) { newest = max(newest, event.timestampSeconds) }
            stamp = max(event.timestampSeconds, stamp + 1)
            let body = event.body.replacingOccurrences(of: "STAMP", with: String(stamp))
            do {
                let alertCount = reference.alertCount
                try reference.push(
                    body: Array(body.utf8), priority: 5, nowMillis: event.writtenWallMillis)
                if reference.alertCount > alertCount, let alert = reference.alerts.last {
                    alerts.append(alert, seconds: event.timestampSeconds, isWithdrawn: self.isWithdrawn(event))
                }
            } catch {
                self.fail("the reference cannot decode \(body): \(error)")
            }
        }
        return (reference, alerts)
    }

    /// Whether all outcomes of the event and of the events that superseded it say that it did not reach the device.
    private func isSetAside(_ position: SourcePosition, known: inout [SourcePosition: Bool]) -> Bool {
        if let result = known[position] { return result }
        known[position] = false
        let seen = self.evidence.outcomes[position] ?? []
        var result = !seen.isEmpty
        for outcome in seen where result {
            switch outcome.name {
            // The event's dead letter was not final, because the next owner could forward the event.
            case "dead-lettered" where self.stranded.contains(position) && !self.isStranded(position): result = false
            case "expired", "rejected", "unregistered", "dead-lettered": continue
            case "superseded": result = outcome.into.map { self.isSetAside($0, known: &known) } ?? false
            default: result = false
            }
        }
        known[position] = result
        return result
    }

    /// What may have happened to an event whose outcome is not certain.
    enum Way {
        case notPushed, pushed
        /// The event was pushed, and no owner learned of that. If an older event that it replaced is valid for longer,
        /// that event may be sent later. Older events that arrive later are sent too (README, limits).
        case unheard
    }

    /// What may have happened to the event. Empty: it is certain what has happened. Only a superseded event can lose
    /// its outcome in a crash. It is then not known which event superseded it.
    func ways(of position: SourcePosition) -> [Way] {
        guard self.written[position]!.isContent else { return [] }
        let names = (self.evidence.outcomes[position] ?? []).map(\.name)
        // One owner heard of the delivery and died. The next owner did not hear of it.
        if names.contains("delivered") { return names.contains("unknown") ? [.pushed, .unheard] : [] }
        if names.contains("unknown") { return [.notPushed, .pushed, .unheard] }
        // The event was pushed and no owner learned of that. The event that superseded it was given up.
        if self.shown.contains(position), self.givenUpAt(position) != nil { return [.pushed, .unheard] }
        // If outcomes `superseded` are not published, an event without an outcome was superseded. The event that
        // superseded it was delivered, because no event is given up in such a run.
        guard self.plan.publishesAll, names.allSatisfy({ $0 == "duplicate" }) else { return [] }
        return self.isUnknown(position) ? [.notPushed, .pushed, .unheard] : [.notPushed, .pushed]
    }

    /// The events in the order of the log, with one change. An event that was given up without an answer is put before
    /// the events that were delivered after it was given up.
    private func inOrderOfPushes(
        _ positions: [SourcePosition], unheard: Set<SourcePosition>
    ) -> [SourcePosition] {
        var order = positions
        for position in positions where unheard.contains(position) {
            guard let givenUp = self.givenUpAt(position) else { continue }
            let from = order.firstIndex(of: position)!
            let to = order[..<from].firstIndex { other in
                (self.evidence.outcomes[other] ?? []).contains { $0.name == "delivered" && $0.madeAt >= givenUp }
            }
            guard let to else { continue }
            order.remove(at: from)
            order.insert(position, at: to)
        }
        return order
    }

    /// Sequence number of the evidence when a worker first made an outcome `unknown` for the event, or for an event
    /// that superseded it. A push then got no answer and was not repeated. `nil`: there is no such outcome.
    private func givenUpAt(_ position: SourcePosition) -> Int? {
        var (at, seen) = (position, Set<SourcePosition>())
        while seen.insert(at).inserted {
            let seen = self.evidence.outcomes[at] ?? []
            if let givenUp = seen.filter({ $0.name == "unknown" }).map(\.madeAt).min() { return givenUp }
            guard let into = seen.compactMap(\.into).last else { return nil }
            at = into
        }
        return nil
    }

    /// Whether a push of the event got no answer and was not repeated. If the event was written twice, both records
    /// count.
    func isUnknown(_ position: SourcePosition) -> Bool {
        let event = self.written[position]!
        let copies =
            event.hasCopy
            ? self.order.filter { self.written[$0]!.activity == event.activity && self.written[$0]!.body == event.body }
            : [position]
        return copies.contains { self.givenUpAt($0) != nil }
    }

    /// Whether the event, or an event that superseded it, reached the device. `known` keeps the results for all events
    /// that were examined. With `onlySure`, events whose outcome is uncertain count as not pushed.
    func wasPushed(_ position: SourcePosition, known: inout [SourcePosition: Bool], onlySure: Bool) -> Bool {
        if let pushed = known[position] { return pushed }
        // The phone may have shown the event after a push whose answer was lost. Then no outcome says `delivered`.
        var result = self.shown.contains(position)
        // If outcomes `superseded` are not published, an event without an outcome was superseded. The event that
        // superseded it was delivered, because no event is given up in such a run.
        if !self.plan.publishesAll, (self.evidence.outcomes[position] ?? []).allSatisfy(\.isReplay) { result = true }
        // This entry ends the recursion if outcomes refer to each other in a circle.
        known[position] = result
        for outcome in self.evidence.outcomes[position] ?? [] where !result {
            switch outcome.name {
            case "delivered": result = true
            case "superseded":
                if let into = outcome.into {
                    result = self.wasPushed(into, known: &known, onlySure: onlySure)
                } else {
                    // The event is older than another event that is, or may be, on the phone.
                    result = !onlySure
                }
            default: continue
            }
        }
        known[position] = result
        return result
    }
}
