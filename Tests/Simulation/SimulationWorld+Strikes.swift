import DeviceModel
import PushEngine
import PushModel

/// Faults that are aimed at a moment: each of these does harm only there, and drawn blindly is met once in thousands of runs.
extension SimulationWorld {
    static let audienceStrikesMax = 16
    /// Whether a worker may die over the activity's records. The next owner of an audience writes its records again: if a worker died over each,
    /// none would come to anything.
    private func mayStrike(_ activity: Int) -> Bool {
        guard self.isAudience(activity) else { return true }
        self.audienceStrikes += 1
        return self.audienceStrikes <= Self.audienceStrikesMax
    }
    private func strikes(_ kind: SimulationPlan.Strike) -> Bool {
        self.plan.strikes.contains(kind) && self.chance(self.plan.strikePercent)
    }

    /// The next events are about it, mostly. What concerns audiences is written in a way of its own.
    private func attend(to activity: Int, events: Int) {
        if !self.isAudience(activity) { self.focus = (activity, events) }
    }

    /// A tombstone leaves. Its worker dies over it; it may arrive when the activity lives again.
    func strikeAtTombstone(_ record: LoggedRecord, of worker: SimulatedWorker) {
        guard let activity = self.activity(ofStateKey: record.key), self.strikes(.tombstone) else { return }
        guard self.mayStrike(activity) else { return }
        self.tell("worker \(worker.number) is to die over the tombstone of activity \(activity)")
        worker.fuse = 1
        self.attend(to: activity, events: 8)
    }

    /// A record of `state` has come to lie there.
    func strikeAtState(_ transit: SimulatedKafka.Transit) {
        guard let activity = self.activity(ofStateKey: transit.record.key),
            let owner = self.group.owner(of: transit.place.partition)
        else { return }
        if owner != transit.producer || transit.isOfEndedClient {
            // The owner runs: it has written its second marker, and from then on is believed alone.
            guard let worker = self.workers.first(where: { $0.number == owner && $0.runs }),
                worker.partitions[transit.place.partition]?.isRunning == true, self.strikes(.lateRecord),
                self.mayStrike(activity)
            else { return }
            self.tell("worker \(owner) is to die over a late record of activity \(activity)")
            worker.fuse = Int.random(in: 1...4, using: &self.random)
            self.attend(to: activity, events: 4)
        } else if let worker = self.workers.first(where: { $0.number == owner && $0.runs }),
            self.kafka.transits.contains(where: { $0.place.topic == .outcomes && $0.producer == owner }),
            self.strikes(.outcomeUnderWay), self.mayStrike(activity)
        {
            self.tell("worker \(owner) is to die over outcomes that are under way")
            worker.fuse = 1
        }
    }

    /// A push has left. It takes its time, and meanwhile the phone gets another token.
    func strikeAtPush(_ flight: inout Flight) {
        guard !flight.isStart, self.phones[flight.activity].channel == nil,
            flight.token == self.phones[flight.activity].token,
            self.phones[flight.activity].device.phase != .ended, self.strikes(.pushUnderWay)
        else { return }
        flight.arrivesMillis += Int64.random(in: 0...3_000, using: &self.random)
        flight.answersMillis = max(
            flight.answersMillis, flight.arrivesMillis + Int64.random(in: 1...80, using: &self.random))
        self.tell("activity \(flight.activity) gets another token while a push is under way")
        self.register(flight.activity)
    }

    /// A push leaves while something of a former owner's may still come to lie in `state`. The worker dies over it.
    func strikeAtPushOverLateRecord(_ flight: Flight, of worker: SimulatedWorker) {
        let place = SimulatedKafka.Place(topic: .state, partition: flight.partition)
        guard
            self.kafka.transits.contains(where: {
                $0.place == place && ($0.producer != worker.number || $0.isOfEndedClient)
            }),
            self.strikes(.pushOverLateRecord), self.mayStrike(flight.activity)
        else { return }
        self.tell("worker \(worker.number) is to die over a push of activity \(flight.activity)")
        worker.fuse = 1
        self.attend(to: flight.activity, events: 4)
    }

    /// An owner's marker leaves while something of a former owner's may still come to lie before it.
    /// - Returns: how long it may take.
    func strikeAtMarker(
        _ record: LoggedRecord, to place: SimulatedKafka.Place, of worker: SimulatedWorker
    ) -> Int64 {
        guard place.topic == .state, record.key == Array("m".utf8),
            worker.partitions[place.partition]?.isRunning == true,
            self.kafka.transits.contains(where: {
                $0.place == place && ($0.producer != worker.number || $0.isOfEndedClient)
            }),
            self.strikes(.slowMarker)
        else { return 0 }
        self.tell("the marker of worker \(worker.number) in state \(place.partition) takes its time")
        return 15_000
    }

    /// An update that expires is about to be written. APNs is away for longer, and what follows is older and all that comes.
    /// - Parameter expires: made to be soon.
    func strikeAtExpiring(_ activity: Int, expires: inout Int64?) -> Bool {
        guard expires != nil, self.phones[activity].token != nil, self.strikes(.lastWord) else { return false }
        let seconds = Int64.random(in: 1...20, using: &self.random)
        self.tell("activity \(activity) hears its last word while APNs is away")
        expires = self.wallSeconds + seconds
        self.apnsAwayUntilMillis = max(self.apnsAwayUntilMillis, self.steadyMillis + (seconds + 5) * 1_000)
        self.hasHeardLast.insert(activity)
        return true
    }

    /// For a reader. That of a member holds its token as it is.
    func name(ofStateKey key: [UInt8]) -> String {
        guard !key.allSatisfy({ (0x20..<0x7f).contains($0) }) else { return String(decoding: key, as: UTF8.self) }
        let hex = key.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return self.members.firstIndex { hex.hasSuffix($0.token) }.map { "member \($0)" } ?? hex
    }

    /// Keys end with the activity's number, behind what no number has; those of members do not.
    func activity(ofStateKey key: [UInt8]) -> Int? {
        let digits = key.reversed().prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard let activity = Int(String(decoding: digits.reversed(), as: UTF8.self)),
            self.phones.indices.contains(activity),
            key.suffix(self.phones[activity].keyBytes.count).elementsEqual(self.phones[activity].keyBytes)
        else { return nil }
        return activity
    }
}
