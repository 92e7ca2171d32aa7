import APNSProtocol
import DeviceModel
import Foundation
import PushEngine
import PushModel
import ShardLoop

/// Broadcast channels in the simulated world. A channel has the number of an activity, and takes that activity's place.
/// One phone always listens on it, and another is sometimes off.
extension SimulationWorld {
    func makePhone(_ number: Int) -> SimulatedPhone {
        guard let stores = self.plan.channels[number] else {
            return SimulatedPhone(key: "order-\(number)", lastEventSeconds: self.wallSeconds)
        }
        // The id must be valid base64, like all ids of channels.
        var phone = SimulatedPhone(key: "match+\(number)", lastEventSeconds: self.wallSeconds)
        phone.channel = SimulatedChannel(stores: stores)
        phone.token = phone.key
        return phone
    }

    private func channelChance(_ percent: Int) -> Bool {
        self.faultsAreOn && Int.random(in: 0..<100, using: &self.channelRandom) < percent
    }

    // MARK: Upstream

    /// Writes an event for a channel. Perhaps somebody deletes the channel before that.
    func writeToChannel(_ activity: Int) {
        if !self.phones[activity].isTokenDead, self.plan.deadTokenPercent > 0, self.channelChance(2) {
            self.log("channel \(activity) is deleted")
            self.phones[activity].isTokenDead = true
            self.phones[activity].hasLostToken = true
        }
        self.writeContent(activity)
    }

    /// The event's JSON, with the name of its channel or audience if it has one.
    func addressed(_ value: String, to activity: Int) -> String {
        let phone = self.phones[activity]
        guard phone.channel != nil || phone.audience != nil, value.hasPrefix("{") else { return value }
        return "{\"to\":{\"\(phone.channel == nil ? "audience" : "channel")\":\"\(phone.key)\"}," + value.dropFirst()
    }

    // MARK: Questions

    func activity(of request: PushRequest, token: String) -> Int? {
        guard request.kind == .device else { return self.phones.firstIndex { $0.channel != nil && $0.key == token } }
        return Int(token.prefix(2), radix: 16).flatMap { $0 < self.phones.count ? $0 : nil }
    }

    /// Takes a worker's request for the storage policy of a channel.
    func ask(_ request: PushRequest, from worker: SimulatedWorker) {
        let token = String(decoding: request.target, as: UTF8.self)
        guard let activity = self.activity(of: request, token: token), let channel = self.phones[activity].channel
        else {
            return self.fail("a question about the unknown channel \(token)")
        }
        self.log("worker \(worker.number) asks about channel \(activity)")
        if self.plan.app.channelStorage != .ask { self.fail("channel \(activity): asked, though it is configured") }
        if channel.answeredWorkers.contains(worker.number), !self.plan.livesAreShort {
            self.fail("channel \(activity): worker \(worker.number) asks once more")
        }
        if self.stateHasStorage(activity, to: worker) {
            self.fail("channel \(activity): worker \(worker.number) asks what state has told it")
        }
        let answers = self.steadyMillis + Int64.random(in: 2...120, using: &self.channelRandom)
        var result = PushAnswer.Result.channel(
            ChannelAnswer(
                status: 200, channelID: [],
                body: Array(
                    "{\"message-storage-policy\":\(channel.stores ? 1 : 0),\"push-type\":\"LiveActivity\"}".utf8)))
        if self.phones[activity].isTokenDead {
            result = .response(PushResponse(status: 400, reason: "ChannelNotRegistered"))
        } else if self.channelChance(self.plan.failurePercent / 2) {
            result = [
                .response(PushResponse(status: 503, reason: "ServiceUnavailable")), .notProcessed,
                .unknown(detail: "connection lost"),
                .channel(ChannelAnswer(status: 200, channelID: [], body: Array("{}".utf8))),
                .response(PushResponse(status: 404, reason: "BadPath")),
            ].randomElement(using: &self.channelRandom)!
        }
        self.questions.append(
            ChannelQuestion(
                worker: worker.number, activity: activity,
                answer: PushAnswer(id: request.id, result: result, apnsMicros: 1_000), answersMillis: answers))
    }

    /// Remembers where `state` has a worker's first marker. A marker whose answer is lost does not count.
    func rememberMarker(_ transit: SimulatedKafka.Transit, offset: Int64) {
        guard transit.record.key == Array("m".utf8), transit.fate == .delivered,
            let worker = self.workers.first(where: { $0.number == transit.producer }),
            worker.partitions[transit.logID.partition]?.markerOffset == nil
        else { return }
        worker.partitions[transit.logID.partition]?.markerOffset = offset
    }

    /// Lets workers ask about a channel again, because an owner has removed its record from `state`.
    func rememberForgottenChannel(_ transit: SimulatedKafka.Transit) {
        guard transit.record.isTombstone, transit.record.key.starts(with: "c/".utf8) else { return }
        for activity in self.phones.indices
        where transit.record.key == Array("c/com.example.pizza/\(self.phones[activity].key)".utf8) {
            self.phones[activity].channel?.answeredWorkers = []
        }
    }

    /// Whether `state` contained the channel's storage policy when this worker took the partition over.
    private func stateHasStorage(_ activity: Int, to worker: SimulatedWorker) -> Bool {
        let logID = SimulatedKafka.LogID(topic: .state, partition: self.home(of: activity))
        guard let marker = worker.partitions[logID.partition]?.markerOffset else { return false }
        // A channel that was touched less than this time ago is not forgotten yet.
        let rememberedMillis = min(self.plan.lifetimeMillis, self.plan.app.retentionAfterEndMillis) / 2
        let key = Array("c/com.example.pizza/\(self.phones[activity].key)".utf8)
        let reader = StateRecordReader(inputTopics: Self.topics)
        var newestEpoch = Int64.min
        var isKnown = false
        for offset in 0..<marker {
            guard let record = self.kafka.record(logID, offset), !record.isGone else { continue }
            let epoch = record.header(.epoch).flatMap { Int64($0) }
            let description = reader.read(
                key: record.key, value: record.isTombstone ? nil : record.value, tombstoneEpoch: epoch,
                nowMillis: self.wallMillis)
            switch description.content {
            case .marker(let marker): newestEpoch = max(newestEpoch, marker.epoch ?? offset)
            case .slot(let slot):
                // A record with an older epoch was written by a worker that had lost the partition.
                guard slot.epoch >= newestEpoch else { continue }
                newestEpoch = slot.epoch
                guard record.key == key else { continue }
                isKnown =
                    slot.channel?.storage != nil
                    && self.wallMillis - slot.lastTouchedMillis < rememberedMillis
            case .tombstone(let epoch):
                if record.key == key, epoch ?? newestEpoch >= newestEpoch { isKnown = false }
            case .member, .crowd, .pause, .keptChannel, .unknownVersion, .malformed: continue
            }
        }
        return isKnown
    }

    /// Forgets answers with status 429 that are not recorded in `state`. A worker that gets a partition back knows only
    /// the recorded ones.
    func forgetUnwrittenRefusals(of partition: Int32, worker: Int) {
        for channel in self.phones.indices
        where self.phones[channel].channel?.refusals[worker] != nil && self.home(of: channel) == partition
            && !self.stateHasRefusal(channel)
        {
            self.phones[channel].channel?.refusals[worker] = nil
        }
    }

    /// Whether the channel's newest record in `state` contains a longer distance because of a 429.
    private func stateHasRefusal(_ activity: Int) -> Bool {
        let logID = SimulatedKafka.LogID(topic: .state, partition: self.home(of: activity))
        let key = Array("c/com.example.pizza/\(self.phones[activity].key)".utf8)
        for offset in (0..<self.kafka.end(logID)).reversed() {
            guard let record = self.kafka.record(logID, offset), record.key == key else { continue }
            let description = StateRecordReader(inputTopics: Self.topics).read(
                key: record.key, value: record.isTombstone ? nil : record.value,
                tombstoneEpoch: record.header(.epoch).flatMap { Int64($0) }, nowMillis: self.wallMillis)
            guard case .slot(let slot) = description.content else { return false }
            return slot.channel.map { $0.throttleSteps > 0 } ?? false
        }
        return false
    }

    func answerQuestions() {
        for question in self.questions where question.answersMillis <= self.steadyMillis {
            guard let worker = self.workers.first(where: { $0.number == question.worker && $0.isAlive }), worker.runs
            else { continue }
            self.log("worker \(worker.number) hears about channel \(question.activity): \(question.answer.result)")
            worker.answers.append(question.answer)
            guard case .channel(let answer) = question.answer.result, answer.body.count > 2 else { continue }
            self.phones[question.activity].channel?.answeredWorkers.insert(worker.number)
        }
        self.questions.removeAll { question in
            guard let worker = self.workers.first(where: { $0.number == question.worker && $0.isAlive }) else {
                return true
            }
            return worker.runs && question.answersMillis <= self.steadyMillis
        }
    }

    // MARK: What must hold for a broadcast

    func checkBroadcast(_ request: PushRequest, activity: Int, worker: SimulatedWorker) {
        guard let channel = self.phones[activity].channel else {
            if request.kind != .device { self.fail("activity \(activity): a \(request.kind)") }
            return
        }
        guard request.kind == .broadcast else { return self.fail("channel \(activity): a \(request.kind)") }
        // On a channel that stores nothing, the only valid expiration is 0. On a channel that is known to store a
        // message, it must be later.
        let until = request.expirationSeconds
        if !channel.stores, until != 0 { self.fail("channel \(activity): keeps nothing, told to keep until \(until)") }
        let ahead = until - self.now(of: worker).wallSeconds
        if until != 0, ahead > 8 * 3_600 { self.fail("channel \(activity): told to keep for \(ahead) s") }
        if channel.stores, until == 0, self.plan.app.channelStorage == .mostRecent {
            self.fail("channel \(activity): keeps the most recent message, and was told to keep none")
        }
        if channel.stores, until == 0, self.stateHasStorage(activity, to: worker) {
            self.fail("channel \(activity): told to keep nothing, against what state has told")
        }
        let distance = self.plan.app.channelMinimumDistanceMillis
        if let last = channel.departures[worker.number], self.steadyMillis - last < distance {
            self.fail("channel \(activity): \(self.steadyMillis - last) ms after the last broadcast")
        }
        // The distance is measured with the wall clocks of two machines, so it may be shorter by their difference.
        let slack = 2 * self.plan.clockSkewMillisMax + self.differenceMillis + self.aheadMillis
        if let last = channel.departures.values.max(), self.steadyMillis - last < distance - slack {
            self.fail("channel \(activity): \(self.steadyMillis - last) ms after the last broadcast of any worker")
        }
        if let refused = channel.refusals[worker.number], self.steadyMillis - refused < 2 * distance {
            self.fail("channel \(activity): \(self.steadyMillis - refused) ms after a 429")
        }
    }

    func rememberDeparture(_ flight: Flight) {
        guard self.phones[flight.activity].channel != nil, flight.result != .notProcessed else { return }
        // A refusal begins a new distance only if its reason is the message or too many requests (429).
        if case .response(let response) = flight.result, response.verdict != .tokenThrottled,
            response.verdict != .messageRefused
        {
            return
        }
        self.phones[flight.activity].channel?.departures[flight.worker] = self.steadyMillis
    }

    func rememberAnswer(_ flight: Flight, result: PushAnswer.Result) {
        guard self.phones[flight.activity].channel != nil, flight.partitionLives,
            self.group.owner(of: flight.partition) == flight.worker
        else { return }
        if case .response(let response) = result, response.verdict == .tokenThrottled {
            self.phones[flight.activity].channel?.refusals[flight.worker] = self.steadyMillis
        } else {
            self.phones[flight.activity].channel?.refusals[flight.worker] = nil
        }
    }

    // MARK: The phone that is off now and then

    func perhapsSleep() {
        guard self.plan.sleepPercent > 0 else { return }
        for activity in self.phones.indices where self.phones[activity].channel != nil {
            guard Int.random(in: 0..<100, using: &self.channelRandom) < self.plan.sleepPercent else { continue }
            if self.phones[activity].channel?.isSleeperOn == true {
                self.log("a phone on channel \(activity) goes off")
                self.phones[activity].channel?.isSleeperOn = false
            } else {
                self.wakeSleeper(activity)
            }
        }
    }

    /// Switches the second phone on again. It gets the message that APNs has stored for it.
    private func wakeSleeper(_ activity: Int) {
        guard var channel = self.phones[activity].channel, !channel.isSleeperOn else { return }
        self.log(
            "a phone on channel \(activity) comes back, \(channel.stored == nil ? "nothing" : "a message") was kept for it"
        )
        channel.isSleeperOn = true
        if let stored = channel.stored, stored.untilSeconds > self.wallSeconds {
            do {
                try channel.sleeper.push(body: stored.body, priority: stored.priority, nowMillis: self.wallMillis)
                channel.sleeperNewest.remember(stored.body)
            } catch {
                self.fail("the sleeping phone cannot decode what was kept: \(error)")
            }
        }
        channel.stored = nil
        self.phones[activity].channel = channel
    }

    /// Gives a channel's second phone a broadcast that APNs has taken. If that phone is off, APNs may store the
    /// broadcast.
    /// - Parameter isShown: whether the phone that is always on shows the broadcast.
    func deliverToSleeper(_ flight: Flight, isShown: Bool) throws {
        guard var channel = self.phones[flight.activity].channel else { return }
        if isShown { channel.newest.remember(flight.body) }
        if channel.isSleeperOn {
            try channel.sleeper.push(body: flight.body, priority: flight.priority, nowMillis: self.wallMillis)
            channel.sleeperNewest.remember(flight.body)
        } else {
            channel.stored =
                channel.stores && flight.expirationSeconds > self.wallSeconds
                ? (flight.body, flight.priority, flight.expirationSeconds) : nil
        }
        self.phones[flight.activity].channel = channel
    }

    /// Judges that a phone which was off shows the same as the phone that was always on. It compares phases if both
    /// have got the same last message, and content if they have also got the same last message with content.
    func judgeSleeper(_ activity: Int) {
        guard self.phones[activity].channel != nil else { return }
        self.wakeSleeper(activity)
        guard let channel = self.phones[activity].channel, channel.newest.any == channel.sleeperNewest.any else {
            return
        }
        let (awake, sleeper) = (self.phones[activity].device, channel.sleeper)
        if awake.phase != sleeper.phase {
            self.fail("channel \(activity): a phone that was off is \(sleeper.phase), not \(awake.phase)")
        }
        guard channel.newest == channel.sleeperNewest, awake.contentState != sleeper.contentState else { return }
        self.fail(
            "channel \(activity): a phone that was off shows \(String(decoding: sleeper.contentState, as: UTF8.self)), not "
                + String(decoding: awake.contentState, as: UTF8.self))
    }
}
