import APNSProtocol
import ChannelKeeping
import Foundation
import PushEngine
import PushModel

/// An event that a publisher has sent directly to a channel that is kept for an audience.
struct StraightEvent {
    var channel: String
    var hasExpiry: Bool
}

/// Publishers that read the id of a kept channel in the outcomes and send events to it directly. Such events are
/// rejected (fan-out contract: Mixed audiences).
extension SimulationWorld {
    private static let mark = "\"straight\":"

    private func straightChance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &self.straightRandom) < percent
    }

    /// Perhaps lets a publisher send an event directly to a kept channel. The channel may be open, ended, or already
    /// deleted.
    func perhapsSendStraight() {
        guard self.plan.kept.isOn, self.straightChance(self.plan.kept.straightPercent),
            let id = self.reportedChannels.randomElement(using: &self.straightRandom), let home = self.apple[id]?.home
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
                to: SimulatedKafka.LogID(topic: .events, partition: partition), nowMillis: self.steadyMillis)
            let position = SourcePosition(topic: 0, partition: partition, offset: offset)
            self.straightEvents[position] = StraightEvent(channel: id, hasExpiry: hasExpiry)
            self.straightOrder.append(position)
        }
        self.log("a publisher sends to \(id) itself")
    }

    /// Number of channels to which publishers have sent events directly. Each may have a slot in memory.
    var straightChannelCount: Int { Set(self.straightEvents.values.map(\.channel)).count }

    // MARK: What must hold

    func isStraight(_ body: [UInt8]) -> Bool { String(decoding: body, as: UTF8.self).contains(Self.mark) }

    /// Judges that no broadcast or question about a publisher's own event leaves for a kept channel that Apple still
    /// has. If Apple has deleted the channel, its keeper does not know it, so the request leaves and Apple refuses it.
    func judgeStraight(_ request: KeptRequest) {
        guard self.apple.isRegistered(request.channel) else { return }
        self.fail("\(request.channel) is kept for an audience, and a \(request.kind) of somebody else leaves for it")
    }

    /// Judges that the outcome of a rejected event names the audience for which the channel is kept.
    func rememberStraightOutcome(_ record: LoggedRecord) {
        let text = String(decoding: record.value, as: UTF8.self)
        let id = String(decoding: record.key, as: UTF8.self)
        guard text.hasPrefix("{\"outcome\":\"rejected\""), text.contains("\"channel\":\"\(id)\""),
            self.apple.isRegistered(id), let audience = self.keptRecord(id)?.audience
        else { return }
        guard !text.contains("kept for audience \\\"\(audience)\\\"") else { return }
        self.fail("\(id) is kept for \(audience), and who sends there reads \(text)")
    }

    /// Judges that events that were sent directly to a kept channel have no outcome but allowed ones. `delivered` is
    /// never allowed.
    func judgeStraightEvents() {
        let allowed: Set = ["rejected", "superseded", "late", "expired", "duplicate"]
        for position in self.straightOrder {
            guard let event = self.straightEvents[position] else { continue }
            let seen = self.evidence.outcomes[position] ?? []
            let deletedMillis = self.apple[event.channel]?.deletedMillis ?? .max
            for outcome in seen where !allowed.contains(outcome.name) {
                // An event that is read again may have expired. The next owner cannot tell whether the former owner
                // sent it. A keeper also forgets channels that Apple no longer has, and the answer to a broadcast on
                // such a channel may be lost.
                let isUnknown = outcome.name == "unknown" && (event.hasExpiry || outcome.saidMillis > deletedMillis)
                if !isUnknown { self.fail("\(position) was sent straight to \(event.channel) and is \(outcome.name)") }
            }
            if self.plan.publishesAll, seen.allSatisfy(\.isReplay) {
                self.fail("\(position) was sent straight to \(event.channel), and nothing is said of it")
            }
        }
    }
}
