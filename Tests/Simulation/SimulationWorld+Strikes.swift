import DeviceModel
import PushEngine
import PushModel

/// Faults that happen at a chosen moment, because they do harm only then. Faults at random times would hit such a
/// moment only once in thousands of runs.
extension SimulationWorld {
    static let audienceStrikesMax = 16
    /// Whether a worker may die while it writes the activity's records. For audiences the number of such deaths is
    /// limited, because each new owner writes an audience's records again. It would never finish if it always died.
    private func mayStrike(_ activity: Int) -> Bool {
        guard self.isAudience(activity) else { return true }
        self.audienceStrikes += 1
        return self.audienceStrikes <= Self.audienceStrikesMax
    }
    private func strikes(_ kind: SimulationPlan.Strike) -> Bool {
        self.plan.strikes.contains(kind) && self.chance(self.plan.strikePercent)
    }

    /// Makes most of the next events concern the activity. Events of audiences are drawn elsewhere.
    private func attend(to activity: Int, events: Int) {
        if !self.isAudience(activity) { self.focus = (activity, events) }
    }

    /// Perhaps lets a worker die when a tombstone leaves. The tombstone may arrive when the activity has begun again.
    func strikeAtTombstone(_ record: LoggedRecord, of worker: SimulatedWorker) {
        guard let activity = self.activity(ofStateKey: record.key), self.strikes(.tombstone) else { return }
        guard self.mayStrike(activity) else { return }
        self.log("worker \(worker.number) is to die over the tombstone of activity \(activity)")
        worker.fuse = 1
        self.attend(to: activity, events: 8)
    }

    /// Perhaps lets an owner die when a record has just been stored in `state`. The record must be a former owner's or
    /// an ended client's, or the owner's outcomes must still be on their way.
    func strikeAtState(_ transit: SimulatedKafka.Transit) {
        guard let activity = self.activity(ofStateKey: transit.record.key),
            let owner = self.group.owner(of: transit.logID.partition)
        else { return }
        if owner != transit.producer || transit.isOfEndedClient {
            // The owner runs, so it has written its second marker. A restore ignores what former owners wrote after
            // that marker.
            guard let worker = self.workers.first(where: { $0.number == owner && $0.runs }),
                worker.partitions[transit.logID.partition]?.isRunning == true, self.strikes(.lateRecord),
                self.mayStrike(activity)
            else { return }
            self.log("worker \(owner) is to die over a late record of activity \(activity)")
            worker.fuse = Int.random(in: 1...4, using: &self.random)
            self.attend(to: activity, events: 4)
        } else if let worker = self.workers.first(where: { $0.number == owner && $0.runs }),
            self.kafka.transits.contains(where: { $0.logID.topic == .outcomes && $0.producer == owner }),
            self.strikes(.outcomeUnderWay), self.mayStrike(activity)
        {
            self.log("worker \(owner) is to die over outcomes that are under way")
            worker.fuse = 1
        }
    }

    /// Perhaps delays a push that has left, and replaces the phone's token meanwhile.
    func strikeAtPush(_ flight: inout Flight) {
        guard !flight.isStart, self.phones[flight.activity].channel == nil,
            flight.token == self.phones[flight.activity].token,
            self.phones[flight.activity].device.phase != .ended, self.strikes(.pushUnderWay)
        else { return }
        flight.arrivesMillis += Int64.random(in: 0...3_000, using: &self.random)
        flight.answersMillis = max(
            flight.answersMillis, flight.arrivesMillis + Int64.random(in: 1...80, using: &self.random))
        self.log("activity \(flight.activity) gets another token while a push is under way")
        self.register(flight.activity)
    }

    /// Perhaps lets a worker die when a push leaves while a former owner's record is on its way to `state`.
    func strikeAtPushOverLateRecord(_ flight: Flight, of worker: SimulatedWorker) {
        let logID = SimulatedKafka.LogID(topic: .state, partition: flight.partition)
        guard
            self.kafka.transits.contains(where: {
                $0.logID == logID && ($0.producer != worker.number || $0.isOfEndedClient)
            }),
            self.strikes(.pushOverLateRecord), self.mayStrike(flight.activity)
        else { return }
        self.log("worker \(worker.number) is to die over a push of activity \(flight.activity)")
        worker.fuse = 1
        self.attend(to: flight.activity, events: 4)
    }

    /// Perhaps delays an owner's marker so that a former owner's record is stored before it.
    /// - Returns: the greatest delay, in milliseconds. 0: the marker is not delayed.
    func strikeAtMarker(
        _ record: LoggedRecord, to logID: SimulatedKafka.LogID, of worker: SimulatedWorker
    ) -> Int64 {
        guard logID.topic == .state, record.key == Array("m".utf8),
            worker.partitions[logID.partition]?.isRunning == true,
            self.kafka.transits.contains(where: {
                $0.logID == logID && ($0.producer != worker.number || $0.isOfEndedClient)
            }),
            self.strikes(.slowMarker)
        else { return 0 }
        self.log("the marker of worker \(worker.number) in state \(logID.partition) takes its time")
        return 15_000
    }

    /// Perhaps makes APNs unreachable until an update that is about to be written has expired. The only later event has
    /// an older timestamp.
    /// - Parameter expires: when the update expires. The fault replaces it by a time that is near.
    /// - Returns: whether the fault happens.
    func strikeAtExpiring(_ activity: Int, expires: inout Int64?) -> Bool {
        guard expires != nil, self.phones[activity].token != nil, self.strikes(.lastWord) else { return false }
        let seconds = Int64.random(in: 1...20, using: &self.random)
        self.log("activity \(activity) hears its last word while APNs is away")
        expires = self.wallSeconds + seconds
        self.apnsAwayUntilMillis = max(self.apnsAwayUntilMillis, self.steadyMillis + (seconds + 5) * 1_000)
        self.hasHeardLast.insert(activity)
        return true
    }

    /// A readable name for the key of a `state` record. The key of a member contains the raw token.
    func name(ofStateKey key: [UInt8]) -> String {
        guard !key.allSatisfy({ (0x20..<0x7f).contains($0) }) else { return String(decoding: key, as: UTF8.self) }
        let hex = key.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return self.members.firstIndex { hex.hasSuffix($0.token) }.map { "member \($0)" } ?? hex
    }

    /// Index of the activity, channel or audience whose number is at the end of a key of `state`. `nil`: the key does
    /// not belong to one of them.
    func activity(ofStateKey key: [UInt8]) -> Int? {
        let digits = key.reversed().prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard let activity = Int(String(decoding: digits.reversed(), as: UTF8.self)),
            self.phones.indices.contains(activity),
            key.suffix(self.phones[activity].keyBytes.count).elementsEqual(self.phones[activity].keyBytes)
        else { return nil }
        return activity
    }
}
