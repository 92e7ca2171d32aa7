import APNSProtocol
import Foundation
import PushEngine
import PushModel

/// An event that a publisher has sent straight to a channel which is kept for an audience.
struct StraightEvent {
    var channel: String
    var hasExpiry: Bool
}

/// Publishers that take the id of a kept channel from the outcomes and send to it (fan-out contract: Mixed audiences; such events are rejected).
extension SimulationWorld {
    private static let mark = "\"straight\":"

    private func straightChance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &self.straightRandom) < percent
    }

    /// The channel is open, lingers, or is gone by now.
    func perhapsSendStraight() {
        guard self.plan.kept.isOn, self.straightChance(self.plan.kept.straightPercent),
            let id = self.toldChannels.randomElement(using: &self.straightRandom), let home = self.apple[id]?.home
        else { return }
        let isEnd = self.straightChance(10)
        var parts = [
            "\"event\":\"\(isEnd ? "end" : "update")\"", "\"app\":\"\(self.plan.apps[Int(home.app)].bundleID)\"",
            "\"to\":{\"channel\":\"\(id)\",\"environment\":\"\(home.isDevelopment ? "development" : "production")\"}",
            "\"priority\":\(Bool.random(using: &self.straightRandom) ? 10 : 5)",
            "\"content-state\":{\(Self.mark)\(self.straightOrder.count)}",
        ]
        let hasExpiry = self.straightChance(self.plan.expiresPercent)
        if hasExpiry {
            parts.append("\"expires\":\(self.wallSeconds + Int64.random(in: 1...900, using: &self.straightRandom))")
        }
        let value = "{" + parts.joined(separator: ",") + "}"
        let key = Array(id.utf8)
        var partition = Murmur2.partition(key: key.span, count: self.plan.partitions)
        if self.plan.misplacedPercent > 0, !self.plan.audiences.trustsPlacement, self.straightChance(20) {
            partition = (partition + 1) % self.plan.partitions
        }
        for _ in 0..<(self.straightChance(self.plan.duplicatePercent) ? 2 : 1) {
            let record = LoggedRecord(key: key, value: Array(value.utf8), timestampMillis: self.wallMillis)
            let offset = self.kafka.append(
                self.perhapsSampled(record, in: partition),
                to: SimulatedKafka.Place(topic: .events, partition: partition), nowMillis: self.steadyMillis)
            let position = SourcePosition(topic: 0, partition: partition, offset: offset)
            self.straightEvents[position] = StraightEvent(channel: id, hasExpiry: hasExpiry)
            self.straightOrder.append(position)
        }
        self.tell("a publisher sends to \(id) itself")
    }

    /// Channels that such events were for: each may have a slot in memory.
    var straightChannelCount: Int { Set(self.straightEvents.values.map(\.channel)).count }

    // MARK: What must hold

    func isStraight(_ body: [UInt8]) -> Bool { String(decoding: body, as: UTF8.self).contains(Self.mark) }

    /// What the keeper knows no more, Apple has no more: that leaves, and is refused.
    func judgeStraight(_ request: KeptRequest) {
        guard self.apple.isRegistered(request.channel) else { return }
        self.fail("\(request.channel) is kept for an audience, and a \(request.kind) of somebody else leaves for it")
    }

    /// Judges that a sender there is told which audience is meant.
    func noteStraightOutcome(_ record: LoggedRecord) {
        let text = String(decoding: record.value, as: UTF8.self)
        let id = String(decoding: record.key, as: UTF8.self)
        guard text.hasPrefix("{\"outcome\":\"rejected\""), text.contains("\"channel\":\"\(id)\""),
            self.apple.isRegistered(id), let audience = self.keptRecord(id)?.audience
        else { return }
        guard !text.contains("kept for audience \\\"\(audience)\\\"") else { return }
        self.fail("\(id) is kept for \(audience), and who sends there reads \(text)")
    }

    /// Each has been rejected, or has given way to another, or had expired before.
    func judgeStraightEvents() {
        let allowed: Set = ["rejected", "superseded", "late", "expired", "duplicate"]
        for position in self.straightOrder {
            guard let event = self.straightEvents[position] else { continue }
            let notes = self.evidence.outcomes[position] ?? []
            let deletedMillis = self.apple[event.channel]?.deletedMillis ?? .max
            for note in notes where !allowed.contains(note.name) {
                // A replay that has expired may have been sent by an owner before, as far as the next can tell. And what Apple has no more, the
                // keeper does not know for ever: answers to that may be lost.
                let isUnknown = note.name == "unknown" && (event.hasExpiry || note.saidMillis > deletedMillis)
                if !isUnknown { self.fail("\(position) was sent straight to \(event.channel) and is \(note.name)") }
            }
            if self.plan.publishesAll, notes.allSatisfy(\.isReplay) {
                self.fail("\(position) was sent straight to \(event.channel), and nothing is said of it")
            }
        }
    }
}
