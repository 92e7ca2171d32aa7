import DeviceModel
import Foundation
import PushEngine
import PushModel

extension SimulationWorld {
    // MARK: After every step

    mutating func checkInvariants(_ worker: SimulatedWorker) {
        let counters = worker.engine.counters
        if !counters.isConserved {
            self.fail(
                "conservation: consumed \(counters.consumed) + restored \(counters.restored) is not outcomes \(counters.outcomeSum) + pending "
                    + "\(counters.pending) + forwarded \(counters.forwarded) + handed over \(counters.handedOver)")
        }
        let counted = worker.engine.countPendingEvents()
        if counted != counters.pending {
            self.fail("\(counted) events are pending, the counter says \(counters.pending)")
        }
        // Memory is bounded by slots and by what Kafka has not acknowledged.
        if counters.activities > self.plan.activities { self.fail("\(counters.activities) slots are in memory") }
        if counters.activitiesPending > counters.activities || counters.activitiesPending < 0 {
            self.fail("\(counters.activitiesPending) of \(counters.activities) slots have work")
        }
        let underWay =
            self.kafka.transits.count { $0.producer == worker.number && !$0.isOrphan } + worker.inbox.count
            + worker.retries.count + worker.engine.batch.records.count
        if counters.unacknowledged != underWay {
            self.fail("\(underWay) records are under way, the counter says \(counters.unacknowledged)")
        }
        // One record read, and one push, adds a few; a release writes every slot, and the refresh of markers every partition.
        let room = 16 + 4 * self.plan.activities + 2 * Int(self.plan.partitions)
        if counters.unacknowledged > self.plan.unacknowledgedMax + room || counters.unacknowledged < 0 {
            self.fail("\(counters.unacknowledged) records are not acknowledged")
        }
        if counters.inFlight < 0 || counters.inFlight > counters.activities {
            self.fail("\(counters.inFlight) pushes of \(counters.activities) slots are in flight")
        }
    }

    /// A record has come to lie in a log.
    mutating func noteArrival(_ transit: SimulatedKafka.Transit, offset: Int64) {
        switch transit.place.topic {
        case .outcomes:
            if !self.evidence.noteOutcome(transit.record.value, worker: transit.producer) {
                self.fail("the outcome \(String(decoding: transit.record.value, as: UTF8.self)) cannot be read")
            }
            self.tell("outcome \(String(decoding: transit.record.value.prefix(200), as: UTF8.self))")
        case .state:
            let key = String(decoding: transit.record.key, as: UTF8.self)
            self.tell(
                "state \(transit.place.partition)/\(offset) of worker \(transit.producer): \(key)\(transit.record.isTombstone ? " removed" : "")"
            )
            if let activity = key.split(separator: "-").last.flatMap({ Int($0) }) {
                self.evidence.noteState(
                    activity: activity, worker: transit.producer, madeAt: transit.record.madeAt)
            }
        case .routed:
            if let partition = transit.record.header("mailboat-partition").flatMap({ Int32($0) }),
                let source = transit.record.header("mailboat-offset").flatMap({ Int64($0) })
            {
                self.evidence.noteRouted(SourcePosition(topic: 0, partition: partition, offset: source))
            }
        case .events, .deadLetters: break
        }
    }

    /// No offset is committed ahead of its push or changelog.
    mutating func checkCommit(_ place: SimulatedKafka.Place, _ offsets: Range<Int64>, worker: Int) {
        for offset in offsets {
            guard let record = self.kafka.record(place, offset) else { continue }
            var position = SourcePosition(topic: 0, partition: place.partition, offset: offset)
            var isMisplaced = false
            if place.topic == .routed {
                guard let partition = record.header("mailboat-partition").flatMap({ Int32($0) }),
                    let source = record.header("mailboat-offset").flatMap({ Int64($0) })
                else { continue }
                position = SourcePosition(topic: 0, partition: partition, offset: source)
            } else {
                isMisplaced = Murmur2.partition(key: record.key.span, count: self.plan.partitions) != place.partition
            }
            guard let event = self.written[position] else { continue }
            if let why = self.evidence.whyUnresolved(
                position,
                record: SourcePosition(
                    topic: place.topic == .events ? 0 : 1, partition: place.partition, offset: offset),
                activity: event.activity, isMisplaced: isMisplaced, worker: worker)
            {
                self.fail(
                    "\(place.topic) \(place.partition)/\(offset) (\(event.kind) of activity \(event.activity), written to \(position.partition)/\(position.offset)) is committed, but \(why)"
                )
            }
        }
    }

    // MARK: At the end

    mutating func checkSettled() {
        for worker in self.workers {
            let counters = worker.engine.counters
            if counters.pending != 0 { self.fail("\(counters.pending) events are still pending") }
            if counters.inFlight != 0 { self.fail("\(counters.inFlight) pushes are still in flight") }
            if counters.activities != 0 { self.fail("\(counters.activities) slots are still in memory") }
        }
        for partition in 0..<self.plan.partitions {
            for kind in [SimulatedKafka.Topic.events, .routed] {
                let place = SimulatedKafka.Place(topic: kind, partition: partition)
                let committed = self.kafka.committed[place] ?? 0
                if committed != self.kafka.end(place) {
                    self.fail("\(kind) \(partition) is committed up to \(committed) of \(self.kafka.end(place))")
                }
            }
        }
        for position in self.order {
            let names = Set((self.evidence.outcomes[position] ?? []).map(\.name))
            let event = self.written[position]!
            if names.isEmpty { self.fail("\(position) has no outcome: \(event.kind) of activity \(event.activity)") }
            // What was shown was not set aside.
            let setAside = names.intersection(["expired", "rejected", "unregistered", "dead-lettered", "late"])
            if names.contains("delivered"), !setAside.isEmpty {
                self.fail(
                    "\(position) was delivered and \(setAside.sorted()): \(event.kind) of activity \(event.activity)")
            }
        }
        for activity in self.phones.indices { self.judge(activity) }
    }

    /// The device must show what it would show had every event been pushed in order (contract §4), those set aside left out.
    private mutating func judge(_ activity: Int) {
        var reference = Device()
        var newest = Int64.min
        var stamp = Int64(0)
        var story: [String] = []
        var isKnown = true
        var hadStart = false
        for position in self.order where self.written[position]!.activity == activity {
            let event = self.written[position]!
            let notes = self.evidence.outcomes[position] ?? []
            let names = notes.map(\.name)
            story.append("\(event.kind)@\(event.timestampSeconds) \(position.partition)/\(position.offset) \(names)")
            guard event.kind != .register, event.kind != .malformed else { continue }
            // Only a superseded event can lose its outcome in a crash; what it gave way to is then not told.
            if names.contains("unknown") || names.allSatisfy({ $0 == "duplicate" }) { isKnown = false }
            guard self.wasPushed(position, depth: 0) else { continue }
            if event.kind == .start { hadStart = true }
            if event.kind == .update, event.timestampSeconds < newest { continue }
            newest = max(newest, event.timestampSeconds)
            stamp = max(event.timestampSeconds, stamp + 1)
            let body = event.body.replacingOccurrences(of: "STAMP", with: String(stamp))
            do {
                try reference.push(body: Array(body.utf8), priority: 5, nowMillis: self.wallMillis)
            } catch {
                self.fail("the reference cannot decode \(body): \(error)")
            }
        }
        let resendsStarts = self.plan.app.startOnUnknown == .resend
        if !resendsStarts, self.phones[activity].device.cardCount > 1 {
            self.fail("activity \(activity): \(self.phones[activity].device.cardCount) cards")
        }
        // A start whose answer is unknown may or may not have put up a card: nothing can be demanded.
        // One that is sent again puts up another card, and the two may arrive in either order.
        let mayStartTwice =
            hadStart && resendsStarts
            && (self.plan.lostAnswerPercent > 0 || self.moves > 0)
        guard isKnown, !mayStartTwice else { return }
        let countsCards = !(hadStart && self.moves > 0)
        if let difference = self.phones[activity].device.firstDifference(from: reference, countingCards: countsCards) {
            self.fail("activity \(activity): \(difference)\n  " + story.joined(separator: "\n  "))
        }
    }

    /// Whether the event, or what it was merged into, reached the device.
    private func wasPushed(_ position: SourcePosition, depth: Int) -> Bool {
        for note in self.evidence.outcomes[position] ?? [] {
            switch note.name {
            case "delivered": return true
            case "superseded":
                guard let into = note.into, depth < 200 else { return true }
                if self.wasPushed(into, depth: depth + 1) { return true }
            default: continue
            }
        }
        return false
    }
}
