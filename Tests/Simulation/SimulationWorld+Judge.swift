import DeviceModel
import Foundation
import PushEngine
import PushModel

extension SimulationWorld {
    // MARK: After every step

    mutating func checkInvariants() {
        let counters = self.engine.counters
        if !counters.isConserved {
            self.fail(
                "conservation: consumed \(counters.consumed) + restored \(counters.restored) is not outcomes \(counters.outcomeSum) + pending "
                    + "\(counters.pending) + forwarded \(counters.forwarded) + handed over \(counters.handedOver)")
        }
        let counted = self.engine.countPendingEvents()
        if counted != counters.pending {
            self.fail("\(counted) events are pending, the counter says \(counters.pending)")
        }
    }

    // MARK: At the end

    private struct Record: Decodable {
        struct Position: Decodable {
            var topic: String
            var partition: Int32
            var offset: Int64
        }
        var outcome: String
        var topic: String
        var partition: Int32
        var offset: Int64
        var into: Position?
        var kept: [String]?
    }

    mutating func checkSettled() {
        if self.engine.counters.pending != 0 { self.fail("\(self.engine.counters.pending) events are still pending") }
        if self.engine.counters.inFlight != 0 {
            self.fail("\(self.engine.counters.inFlight) pushes are still in flight")
        }
        for partition in 0..<self.plan.partitions {
            for (topic, kind) in [(UInt16(0), SimulatedKafka.Topic.events), (1, .routed)] {
                let place = SimulatedKafka.Place(topic: kind, partition: partition)
                let committed = self.kafka.committed[place] ?? 0
                if committed != self.kafka.end(place) {
                    self.fail(
                        "topic \(topic) partition \(partition) is committed up to \(committed) of \(self.kafka.end(place))"
                    )
                }
            }
        }
        var outcomes: [SourcePosition: [Record]] = [:]
        let place = SimulatedKafka.Place(topic: .outcomes, partition: 0)
        for offset in 0..<self.kafka.end(place) {
            guard let logged = self.kafka.record(place, offset) else { continue }
            do {
                let record = try JSONDecoder().decode(Record.self, from: Data(logged.value))
                outcomes[SourcePosition(topic: 0, partition: record.partition, offset: record.offset), default: []]
                    .append(record)
            } catch {
                self.fail("the outcome \(String(decoding: logged.value, as: UTF8.self)) cannot be read: \(error)")
            }
        }
        for position in self.order where outcomes[position] == nil {
            self.fail(
                "\(position) has no outcome: \(self.written[position]!.kind) of activity \(self.written[position]!.activity)"
            )
        }
        for activity in self.phones.indices { self.judge(activity, outcomes: outcomes) }
    }

    /// The device must show what it would show had every event been pushed in order (contract §4), those set aside left out.
    private mutating func judge(_ activity: Int, outcomes: [SourcePosition: [Record]]) {
        var reference = Device()
        var newest = Int64.min
        var stamp = Int64(0)
        var story: [String] = []
        var isKnown = true
        var hadStart = false
        for position in self.order where self.written[position]!.activity == activity {
            let event = self.written[position]!
            let names = (outcomes[position] ?? []).map(\.outcome)
            story.append("\(event.kind)@\(event.timestampSeconds) \(position.partition)/\(position.offset) \(names)")
            guard event.kind != .register, event.kind != .malformed else { continue }
            // Only a superseded event can lose its outcome in a crash; what it gave way to is then not told.
            if names.contains("unknown") || names.allSatisfy({ $0 == "duplicate" }) { isKnown = false }
            guard self.wasPushed(position, outcomes: outcomes, depth: 0) else { continue }
            if event.kind == .start { hadStart = true }
            if event.kind == .update, event.timestampSeconds < newest { continue }
            newest = max(newest, event.timestampSeconds)
            stamp = max(event.timestampSeconds, stamp + 1)
            let body = event.body.replacingOccurrences(of: "STAMP", with: String(stamp))
            do {
                try reference.push(body: Array(body.utf8), priority: 5, nowMillis: self.now.wallMillis)
            } catch {
                self.fail("the reference cannot decode \(body): \(error)")
            }
        }
        // A start whose answer is unknown may or may not have put up a card: nothing can be demanded.
        // One that is sent again puts up another card, and the two may arrive in either order.
        let mayStartTwice =
            hadStart && self.plan.app.startOnUnknown == .resend
            && (self.plan.lostAnswerPercent > 0 || self.restarts > 0)
        guard isKnown, !mayStartTwice else { return }
        let countsCards = !(hadStart && self.restarts > 0)
        if let difference = self.phones[activity].device.firstDifference(from: reference, countingCards: countsCards) {
            self.fail("activity \(activity): \(difference)\n  " + story.joined(separator: "\n  "))
        }
    }

    /// Whether the event, or what it was merged into, reached the device.
    private func wasPushed(_ position: SourcePosition, outcomes: [SourcePosition: [Record]], depth: Int) -> Bool {
        for record in outcomes[position] ?? [] {
            switch record.outcome {
            case "delivered": return true
            case "superseded":
                guard let into = record.into, depth < 200 else { return true }
                let next = SourcePosition(topic: 0, partition: into.partition, offset: into.offset)
                if self.wasPushed(next, outcomes: outcomes, depth: depth + 1) { return true }
            default: continue
            }
        }
        return false
    }
}
