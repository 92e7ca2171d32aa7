import Foundation

/// Channels that are kept for audiences: how soon many are open, and what an event costs where most phones of an audience listen.
struct MixedRows {
    let bench: Bench

    private static let partitionCount = 64
    private static let (audienceCount, warmUpCount) = (100, 10)
    /// Away as a data centre may be, milliseconds.
    private static let farMillis = 50
    /// How many of a hundred phones listen.
    private static let listeningPercent = 90
    /// Broadcasts of an audience keep the least distance there is. Two events are further apart.
    private static let settings = ["audience.channel: auto", "channel.minimum-distance: 1s"]
    private static let eventDistanceMillis = 1_500
    private static let joinedTogether = 50_000

    func run() throws {
        try self.measureOpening(latencyMillis: 0)
        // Each channel takes a list and a creation, one after the other.
        if !self.bench.isQuick { try self.measureOpening(latencyMillis: Self.farMillis) }
        try self.measureEvents()
    }

    private func stage() throws -> Stage {
        try Stage(
            self.bench, partitionCount: Self.partitionCount,
            options: .init(connectionsMax: 2, settings: Self.settings, asksAboutChannels: true))
    }

    // MARK: Opening

    /// From before `open` is produced for each audience until the outcomes of all channels are in Kafka.
    private func measureOpening(latencyMillis: Int) throws {
        let roundCount = self.bench.isQuick ? 1 : 5
        let name = "channels for \(Self.audienceCount) audiences, APNs \(latencyMillis) ms away"
        self.bench.say("mixed: \(name)")
        let stage = try self.stage()
        defer { stage.stop() }
        let publisher = try Prefiller(stage.broker, partitionCount: Self.partitionCount, lingerMillis: 0)
        if latencyMillis > 0 { try stage.sink.setLatency(millis: latencyMillis) }
        var (all, cpu) = (Sample(), Sample())
        var count = 0
        // Round 0 warms up.
        for round in 0...roundCount {
            let added = round == 0 ? Self.warmUpCount : Self.audienceCount
            count += added
            let (begin, cpuBegin) = (Clock.nowMicros, stage.worker.process.meter.cpuMicros)
            try publisher.open((0..<added).map { "match-\(round)-\($0)" })
            try Waiting.until(
                "\(count) channels", limitSeconds: 120, process: stage.worker.process, everyMillis: 50
            ) {
                guard let page = stage.worker.get("/metrics") else { return false }
                return Worker.sum("mailboat_channels_kept_open", label: "", of: page) == count
                    && Worker.sum("mailboat_kafka_unacknowledged_records", label: "", of: page) == 0
            }
            guard round > 0 else { continue }
            all.add(Double(Clock.nowMicros - begin) / 1_000)
            cpu.add(Double(stage.worker.process.meter.cpuMicros - cpuBegin) / 1_000 / Double(Self.audienceCount))
        }
        self.bench.add(ResultRow("\(name): open -> all are told", all.median, "ms"))
        self.bench.add(ResultRow("\(name): CPU per channel", cpu.median, "ms"))
        try stage.broker.checkNothingWasDropped()
    }

    // MARK: Events

    private struct Event {
        var (cpuMillis, lastMillis) = (Sample(), Sample())
    }

    private func measureEvents() throws {
        let members = self.bench.isQuick ? 20_000 : 200_000
        let none = try self.events(members: members, listening: 0)
        let most = try self.events(members: members, listening: members * Self.listeningPercent / 100)
        let name = "event to \(Double(members).short) members of whom \(Self.listeningPercent) % listen"
        self.bench.add(
            ResultRow(
                "\(name): produced -> last phone, beside none listening", most.lastMillis.median, "ms",
                baseline: none.lastMillis.median))
        self.bench.add(
            ResultRow(
                "\(name): CPU, beside none listening", most.cpuMillis.median, "ms", baseline: none.cpuMillis.median))
    }

    /// - Parameter listening: number of members, the last ones, that say that they listen.
    private func events(members: Int, listening: Int) throws -> Event {
        let roundCount = self.bench.isQuick ? 2 : 5
        self.bench.say("mixed: \(members) members, of whom \(listening) listen")
        let stage = try self.stage()
        defer { stage.stop() }
        let worker = stage.worker
        let publisher = try Prefiller(stage.broker, partitionCount: Self.partitionCount, lingerMillis: 0)
        try publisher.open([String(decoding: AudienceWorkload.audience, as: UTF8.self)])
        try Waiting.until("the channel", limitSeconds: 60, process: worker.process) {
            worker.metric("mailboat_channels_kept_open") == 1
        }
        let channels = try stage.sink.channels()
        guard let channel = channels.first, channels.count == 1 else {
            throw BenchmarkFailure("\(channels.count) channels for one audience")
        }
        let prefiller = try Prefiller(stage.broker, partitionCount: Self.partitionCount)
        for begin in stride(from: 0, to: members, by: Self.joinedTogether) {
            let end = min(members, begin + Self.joinedTogether)
            try prefiller.join(begin..<end, listeningFrom: members - listening, on: channel)
            try worker.settle(consumed: end + 1)
        }
        var event = Event()
        // Round 0 warms up: the first version may go by tokens to partitions that have only just asked.
        for round in 0...roundCount {
            Clock.sleep(millis: Self.eventDistanceMillis)
            // Nobody has told the owner whether anybody listens without a token: it broadcasts either way.
            let expected = members - listening + 1
            let (answered, broadcasts) = (stage.sink.answeredCount, self.broadcasts(worker))
            let (begin, cpuBegin) = (Clock.nowMicros, worker.process.meter.cpuMicros)
            try publisher.updateAudience(round)
            try Waiting.until("the last phone", limitSeconds: 120, process: worker.process, everyMillis: 5) {
                stage.sink.answeredCount - answered >= expected
            }
            let last = Clock.nowMicros
            try worker.settle(consumed: members + 2 + round)
            try stage.waitForMembers()
            guard round > 0 else { continue }
            // Nobody has two ways.
            guard stage.sink.answeredCount - answered == expected,
                self.broadcasts(worker) - broadcasts == 1
            else {
                throw BenchmarkFailure(
                    "\(stage.sink.answeredCount - answered) requests, and \(self.broadcasts(worker) - broadcasts) broadcasts, for \(expected)"
                )
            }
            event.lastMillis.add(Double(last - begin) / 1_000)
            event.cpuMillis.add(Double(worker.process.meter.cpuMicros - cpuBegin) / 1_000)
        }
        try stage.broker.checkNothingWasDropped()
        return event
    }
    private func broadcasts(_ worker: Worker) -> Int { worker.metric("mailboat_channels_broadcasts_accepted_total") }
}

extension Prefiller {
    /// Opens the channels of these audiences.
    fileprivate func open(_ audiences: [String]) throws {
        try self.write(audiences.count) { number, key, value in
            key += Array(audiences[number].utf8)
            value += Array("{\"event\":\"open\",\"to\":{\"audience\":\"\(audiences[number])\"}}".utf8)
        }
    }
    /// These members join the audience; those from `first` on say that they listen.
    fileprivate func join(_ members: Range<Int>, listeningFrom first: Int, on channel: String) throws {
        let listening = Array("{\"event\":\"register\",\"audience\":\"match\",\"channel\":\"\(channel)\"}".utf8)
        try self.write(members.count) { number, key, value in
            let member = members.lowerBound + number
            AudienceWorkload.appendKey(member, to: &key)
            value += member < first ? AudienceWorkload.join : listening
        }
    }
}

extension Sink {
    /// Ids of the channels there are. It must take questions.
    fileprivate func channels() throws -> [String] {
        struct Answer: Decodable {
            struct Channel: Decodable { var id: String }
            var channels: [Channel]
        }
        guard let text = LocalHTTP.get(port: self.controlPort, "/channels"),
            let answer = try? JSONDecoder().decode(Answer.self, from: Data(text.utf8))
        else { throw BenchmarkFailure("the simulated APNs does not say which channels there are") }
        return answer.channels.map(\.id)
    }
}
