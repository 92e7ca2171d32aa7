import APNSProtocol
import ChannelKeeping
import DeviceModel
import Foundation
import PushEngine
import PushModel

/// Judges kept channels by the requests that Apple gets, the channels that it has, and the records in `state`.
extension SimulationWorld {
    /// Longest time, in milliseconds, from a request's departure until it is carried out
    /// (`KeeperSettings.requestTimeoutMillis`).
    private static let requestMillisMax: Int64 = 35_000
    /// Number of channels in a home at which workers stop making more: 95 % of Apple's maximum.
    private static let refusalCount = SimulatedApple.countMax * 95 / 100

    func judgeKeptDeparture(_ request: KeptRequest, worker: SimulatedWorker) {
        guard request.kind != .readChannel, !self.isStraight(request.body) else { return self.judgeStraight(request) }
        guard request.kind != .broadcast else { return self.judgeKeptBroadcast(request, worker: worker) }
        let partition = self.keeperPartition(request.home)
        if self.group.owner(of: partition) != worker.number {
            self.fail("worker \(worker.number) asks Apple for a \(request.kind), and keeps no channels there")
        }
        switch request.kind {
        case .createChannel: self.judgeCreation(request)
        case .deleteChannel: self.judgeDeletion(request, worker: worker)
        default: break
        }
    }

    // MARK: Creations

    private func judgeCreation(_ request: KeptRequest) {
        let asked = (self.keptRecords[request.home] ?? [:]).values.count { $0.phase == "asked" }
        if asked != 1 { self.fail("a creation leaves with \(asked) intents in state") }
        let others = self.keptRequests.contains {
            $0.kind == .createChannel && $0.home == request.home
                && (!$0.isOver || (!$0.isAnswered && self.steadyMillis - $0.leftMillis < Self.requestMillisMax))
        }
        if others { self.fail("two creations at once") }
        let reader = ListReader(home: request.home, worker: request.worker)
        guard let count = self.listedCounts.removeValue(forKey: reader) else {
            return self.fail("a creation leaves without a list since the one before")
        }
        // Channels that somebody else made count too, because Apple's maximum is for all channels of the home.
        if count >= Self.refusalCount { self.fail("a creation leaves although the list shows \(count) channels") }
    }
    /// A worker that reads the list of a home. `listedCounts` has a count for each reader, because a former keeper may
    /// still read lists.
    struct ListReader: Hashable {
        var home: KeptHome
        var worker: Int
    }

    /// Remembers that the worker has the answer to a request.
    func rememberKeptAnswer(_ request: KeptRequest, _ result: PushAnswer.Result) {
        self.rememberBeaconHeard(request, result)
        guard request.kind == .listChannels, case .channel(let answer) = result else { return }
        let count = answer.body.count { $0 == UInt8(ascii: ",") } + 1
        self.listedCounts[ListReader(home: request.home, worker: request.worker)] = count
    }

    // MARK: Deletions

    private func judgeDeletion(_ request: KeptRequest, worker: SimulatedWorker) {
        let id = request.channel
        guard let channel = self.apple[id] else { return self.fail("\(id) never was, and is deleted") }
        if channel.maker == .other { self.fail("\(id) is deleted, and is another's") }
        guard let record = self.keptRecord(id), record.phase == "deleting" else {
            return self.fail("\(id) is deleted without an intent in state")
        }
        guard let ended = record.endedMillis, !channel.wasTakenAway else { return }
        // Clocks may have been set, and differ between machines.
        let slack = 2 * self.plan.clockSkewMillisMax + self.differenceMillis + self.aheadMillis + self.behindMillis
        let lingered = self.now(of: worker).wallMillis - ended
        if lingered < self.plan.app.channelLingerMillis - slack {
            self.fail("\(id) lingered for \(lingered) ms only")
        }
    }

    // MARK: Broadcasts

    private func judgeKeptBroadcast(_ request: KeptRequest, worker: SimulatedWorker) {
        let id = request.channel
        guard let body = self.readMemberBody(request.body) else {
            return self.fail(
                "\(id): no audience has \(String(decoding: request.body.prefix(200), as: UTF8.self))")
        }
        guard let channel = self.apple[id], channel.maker != .other, channel.home == request.home else {
            return self.fail("\(id) is broadcast on, and is not of that app and environment")
        }
        guard self.durableChannels.contains(id) else { return self.fail("\(id) is broadcast on before state has it") }
        if body.content.event == .start { self.fail("\(id): a broadcast starts") }
        if request.body.count > 5_120 { self.fail("\(id): a payload of \(request.body.count) bytes") }
        if let record = self.keptRecord(id), let name = record.audience, name != self.phones[body.audience].key {
            self.fail("\(id) is of \(name), and gets what is for audience \(body.audience)")
        }
        self.judgeExpiration(request, channel: channel, worker: worker)
        self.rememberBeaconLeaves(request)
        let isOwners = self.group.owner(of: self.home(of: body.audience)) == worker.number
        let isKeepers =
            body.content.event == .end && self.group.owner(of: self.keeperPartition(channel.home)) == worker.number
        if !isOwners && !isKeepers {
            self.fail("worker \(worker.number) broadcasts for audience \(body.audience), which is not its own")
        }
        self.judgeSameBody(body)
        self.rememberBroadcast(request, body)
        guard body.content.event != .end else { return }
        let distance = self.plan.app.channelMinimumDistanceMillis
        if let last = self.broadcastsLeft[id]?[worker.number], self.steadyMillis - last < distance {
            self.fail("\(id): \(self.steadyMillis - last) ms after the last broadcast")
        }
    }

    /// Remembers when a broadcast that is not an end leaves. Its answer has already been drawn. A broadcast that is not
    /// processed begins no minimum distance. Neither does a refused one, unless the reason is its message or too many
    /// requests (429).
    func rememberKeptDeparture(_ request: KeptRequest) {
        guard request.kind == .broadcast, let body = self.readMemberBody(request.body), body.content.event != .end
        else { return }
        switch request.result {
        case .notProcessed: return
        case .response(let response)
        where response.verdict != .tokenThrottled && response.verdict != .messageRefused:
            return
        case nil, .accepted, .channel, .unknown, .response: break
        }
        self.broadcastsLeft[request.channel, default: [:]][request.worker] = self.steadyMillis
    }

    /// Judges a broadcast's expiration. It must be 0 on a channel that stores nothing, and at most 8 hours ahead on
    /// others.
    private func judgeExpiration(_ request: KeptRequest, channel: SimulatedApple.Channel, worker: SimulatedWorker) {
        let until = request.expirationSeconds
        if !channel.stores, until != 0 { self.fail("\(channel.id): keeps nothing, told to keep until \(until)") }
        let ahead = until - self.now(of: worker).wallSeconds
        if until != 0, ahead > 8 * 3_600 { self.fail("\(channel.id): told to keep for \(ahead) s") }
    }

    /// Judges that all bodies with one stamp are equal, apart from the alert, whether they go to tokens or to a
    /// channel.
    private func judgeSameBody(_ body: MemberBody) {
        let stamp = body.content.stampSeconds
        guard let version = self.phones[body.audience].audience?.versions[stamp] else {
            let version = SimulatedAudience.Version(
                body: body.silent, event: body.event, content: body.contentEvent,
                isUpdate: body.content.event == .update, isBehind: self.isOwnerBehind(body.audience))
            self.phones[body.audience].audience?.versions[stamp] = version
            return
        }
        if version.body != body.silent {
            self.fail(
                "audience \(body.audience): stamp \(stamp) has both \(String(decoding: version.body.prefix(200), as: UTF8.self)) and, in a broadcast, "
                    + String(decoding: body.silent.prefix(200), as: UTF8.self))
        }
    }

    // MARK: Starts

    /// Judges the input fields of a start. A phone that can listen gets either its audience's channel or a request for
    /// its token. A phone that cannot listen gets neither.
    /// - Returns: the id of the channel in the start. `nil`: it has none.
    func judgeStartInput(_ body: [UInt8], starter: Int, audience: Int) -> String? {
        guard let content = try? PayloadReader.read(body.span) else { return nil }
        let text = String(decoding: body[content.inputPushChannel], as: UTF8.self)
        let asksForToken = String(decoding: body, as: UTF8.self).contains("\"input-push-token\":1")
        guard self.starters[starter].isChannelCapable else {
            if asksForToken || !text.isEmpty { self.fail("starter \(starter) of an older iOS: \(text.prefix(40))") }
            return nil
        }
        if asksForToken == !text.isEmpty { self.fail("starter \(starter): asked for its token, and given \(text)") }
        guard !text.isEmpty else { return nil }
        let id = String(text.dropFirst().dropLast())
        guard let channel = self.apple[id], channel.maker != .other,
            channel.home.isDevelopment == self.starters[starter].isDevelopment,
            channel.home.app == self.phones[audience].audience?.app, self.durableChannels.contains(id)
        else {
            self.fail("starter \(starter) is to listen on \(id), which is no channel of its audience")
            return nil
        }
        if let name = self.keptRecord(id)?.audience, name != self.phones[audience].key {
            self.fail("starter \(starter) is to listen on \(id), which is of \(name)")
        }
        return id
    }

    // MARK: When everything is quiet

    /// Judges the channels that exist at the end. A worker's channel may remain if it is warm, or if
    /// `isForgottenSecond` is true for it. In an app that shares its channels with other makers, it may also remain if
    /// `state` says that it is possibly ours. No worker may have deleted a channel of another maker.
    func judgeKeptChannels() {
        guard self.plan.kept.isOn else { return }
        for home in self.keptHomes {
            let records = (self.keptRecords[home] ?? [:]).values
            let warm = Set(records.filter { $0.phase == "open" && $0.audience == nil }.compactMap(\.id))
            if warm.count > self.plan.app.channelsWarm { self.fail("\(warm.count) warm channels") }
            let shown = Set(records.filter { $0.phase == "possiblyOurs" }.compactMap(\.id))
            for channel in self.apple.registered(home)
            where channel.maker != .other && !warm.contains(channel.id) && !self.isForgottenSecond(channel) {
                if self.plan.app.channelsExclusive { self.fail("\(channel.id) has leaked") }
                if self.durableChannels.contains(channel.id) { self.fail("\(channel.id) was ours, and has leaked") }
                if !shown.contains(channel.id) { self.fail("\(channel.id) has leaked, and is not shown") }
            }
            for record in records {
                let isLeft = record.phase == "open" ? record.audience != nil : record.phase != "possiblyOurs"
                if isLeft {
                    self.fail("left over: \(record.phase) \(record.id ?? "") of \(record.audience ?? "nobody")")
                }
            }
            let isTouched = self.apple.channels.contains {
                $0.home == home && $0.maker == .other && !$0.isRegistered && !$0.wasTakenAway
            }
            if isTouched { self.fail("a channel of others is gone") }
        }
        self.judgeEndsOfOnlyListeners()
        for (channel, sleeper) in self.keptSleepers.sorted(by: { $0.key < $1.key }) {
            self.judgeKeptSleeper(sleeper, channel: channel)
        }
    }

    /// Judges that a sleeper shows the end of its audience if it was switched on early enough.
    private func judgeKeptSleeper(_ sleeper: KeptSleeper, channel id: String) {
        guard let channel = self.apple[id], let ended = channel.endedMillis, !channel.wasTakenAway else { return }
        guard sleeper.isOn, sleeper.device.phase != .ended,
            sleeper.device.phase != .untouched || !channel.beacons.isEmpty
        else { return }
        let linger = self.plan.app.channelLingerMillis
        let last = (linger - 1) / 3_600_000 * 3_600_000
        // The last hourly broadcast of the end is due `last` milliseconds after the end. It may be delayed by some
        // minutes, and clocks may have been set.
        let slack = 1_800_000 + self.aheadMillis + self.behindMillis
        guard !channel.stores, sleeper.sinceMillis < ended + last - slack else { return }
        self.fail("the phone that listens on \(id) has a live card: it ended at \(ended - Self.beginMillis) ms")
    }
}
