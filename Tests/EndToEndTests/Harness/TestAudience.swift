import APNSSimulator
import ChildProcesses
import DeviceModel
import PushEngine
import PushWorker
import Testing

/// An audience as its publisher sees it, and its phones as APNs sees them.
struct TestAudience {
    let id: String
    let publisher: TestPublisher
    let house: TestHouse

    /// Settings of a worker with one connection, for tests that act in the middle of a pass. With `narrowStreams` and
    /// answers after 200 ms, a pass over a thousand phones takes ten seconds.
    static let narrow = """
        apns.connections-max: 1
        shards: 1
        """
    static let narrowStreams: UInt32 = 20

    func join(_ phones: Range<Int>) throws { for phone in phones { try self.join(Tokens.make(phone)) } }

    /// Joins phones that report a push-to-start token. The token is the event's key in Kafka.
    func joinToBeStarted(_ phones: Range<Int>) throws {
        for phone in phones {
            try self.publisher.send(
                key: Array(Tokens.make(phone).utf8),
                value: Array(
                    """
                    {"event":"register","app":"\(TestPublisher.app)","audience":"\(self.id)","token-type":"start"}
                    """.utf8))
        }
    }
    /// Publishes a `start` that shows `step`.
    func start(_ step: Int, _ more: String = "") throws {
        try self.publish(
            step, event: "start",
            """
            "attributes-type":"Match","attributes":{"home":"A"},"alert":{"title":"Kick-off","body":"A : B"}\
            \(more.isEmpty ? "" : ",\(more)")
            """)
    }

    /// Joins one token.
    /// - Parameter channel: the channel on which the app reports that the phone listens.
    func join(_ token: String, frequentUpdates: Bool = false, channel: String? = nil) throws {
        let channel = channel.map { ",\"channel\":\"\($0)\"" } ?? ""
        try self.publisher.send(
            key: Array(token.utf8),
            value: Array(
                """
                {"event":"register","app":"\(TestPublisher.app)","audience":"\(self.id)",\
                "frequent-updates":\(frequentUpdates)\(channel)}
                """.utf8))
    }
    /// Makes phones listen on the channel, and publishes joins that name the channel.
    func listen(_ phones: Range<Int>, on channel: String) throws {
        for phone in phones {
            let token = Tokens.make(phone)
            #expect(self.house.simulator.setListening(token: token, channel: channel))
            try self.join(token, channel: channel)
        }
    }
    /// Publishes the event that opens the audience's channel before any content is published.
    func open() throws {
        try self.publisher.send(
            key: Array(self.id.utf8),
            value: Array(
                """
                {"event":"open","app":"\(TestPublisher.app)","to":{"audience":"\(self.id)"}}
                """.utf8))
    }

    /// Publishes that a token leaves.
    /// - Parameter isNamed: whether the event names this audience. Otherwise the token leaves its present audience.
    func leave(_ token: String, isNamed: Bool = true) throws {
        let audience = isNamed ? ",\"audience\":\"\(self.id)\"" : ""
        try self.publisher.send(
            key: Array(token.utf8),
            value: Array("{\"event\":\"unregister\",\"app\":\"\(TestPublisher.app)\"\(audience)}".utf8))
    }

    /// Publishes an update or end that shows `step`.
    /// - Parameter more: further members of the event's JSON.
    func publish(_ step: Int, event: String = "update", _ more: String = "") throws {
        try self.publisher.send(
            key: Array(self.id.utf8),
            value: Array(
                """
                {"event":"\(event)","app":"\(TestPublisher.app)","to":{"audience":"\(self.id)"},\
                "content-state":{"step":\(step)}\(more.isEmpty ? "" : ",\(more)")}
                """.utf8))
    }
    static let goal = #""alert":{"title":"Goal","body":"1:0"}"#
    static let withdrawn = #""priority":10,"alert":null"#

    /// Waits until a worker that owns all partitions holds `count` members.
    func has(_ count: Int, at worker: WorkerProcess) async throws {
        try await until("\(count) members are held (log: \(worker.logPath))") {
            let answer = try await worker.get("/metrics")
            guard let answer, answer.status == 200 else { return false }
            return PrometheusReading.sum("mailboat_members", in: answer.body) == Double(count)
        }
    }

    /// Waits until a worker in this process holds `count` members.
    func has(_ count: Int, at worker: WorkerService) async throws {
        try await worker.waitUntil { $0.engine.membersHeld == count }
    }

    /// A summary of what the phones show. A phone counts as differing if, for example, two of its pushes came within
    /// half a second.
    func summary(_ phones: Range<Int>) -> DeviceSummary {
        var query = SummaryQuery()
        // The worker sends two pushes to a phone at least a second apart. On a busy machine the first may be delayed,
        // so the simulator may get them closer together.
        query.leastDistanceMillis = 500
        query.highPriorityPerHourMax = 15
        query.bothWaysMax = 0
        return self.house.simulator.summary(query, tokens: phones.map(Tokens.make))
    }

    /// Waits until all these phones show `step` on a card in the state `card`.
    @discardableResult func shows(_ step: Int, _ phones: Range<Int>, _ card: Shown.Card = .active) async throws
        -> DeviceSummary
    {
        try await until("all \(phones.count) phones show \(step), \(card.rawValue)") {
            let summary = self.summary(phones)
            return summary.unknownTokens == 0 && summary.shown.count == 1 && summary.cardsShownOtherwise == 0
                && summary.shown[0].card == card
                && String(decoding: summary.shown[0].contentState, as: UTF8.self) == "{\"step\":\(step)}"
        }
        return self.summary(phones)
    }
}
