import APNSSimulator
import DeviceModel
import Foundation
import HTTP2Session
import PushModel
import Testing
import Upstream

/// Tests of a whole worker with an APNs that does everything wrong. In the end the phones show what they would show
/// without any fault. The order of faults is drawn from a seed, which a failure prints.
@Suite(.timeLimit(.minutes(10)))
struct TortureTests {
    private static let seed: UInt64 =
        ProcessInfo.processInfo.environment["MAILBOAT_TORTURE_SEED"].flatMap(UInt64.init) ?? 1

    /// Number of activities in a group. A group's updates are published when the next fault begins.
    private static let groupSize = 20
    private static let startCount = 30

    /// The times are short, so that the test need not wait long for them.
    private static let settings = """
        apns.request-timeout: 2s
        apns.ping-after: 300ms
        apns.ping-timeout: 1s
        apns.connect-timeout: 2s
        apns.backoff-min: 20ms
        apns.backoff-max: 200ms
        retry.backoff-min: 100ms
        retry.backoff-max: 1s
        """

    /// Faults that may hit any request. None answers falsely or refuses a push for good, so every update can arrive.
    private static let requestFaults: [Fault] = [
        Fault(.answer(status: 503, reason: "ServiceUnavailable"), rate: 0.02),
        Fault(.answer(status: 500, reason: "InternalServerError"), rate: 0.02),
        Fault(.answer(status: 429, reason: "TooManyRequests"), rate: 0.02),
        Fault(.answerRaw(status: 502, body: Array("<html>".utf8)), rate: 0.01),
        Fault(.odd(OddAnswer(status: 999, body: [0xff, 0x7b])), rate: 0.01),
        Fault(.odd(OddAnswer(status: 503, body: Array(repeating: 0x7b, count: 5_000))), rate: 0.01),
        Fault(.odd(OddAnswer(sendsMessageID: false, applied: true)), rate: 0.05),
        Fault(.odd(OddAnswer(body: [1], ending: .reset(.internalError), applied: true)), rate: 0.01),
        Fault(.reset(.refusedStream, applied: false), rate: 0.05), Fault(.reset(.cancel, applied: true), rate: 0.02),
        Fault(.stall(applied: true), rate: 0.005), Fault(.stall(applied: false), rate: 0.005),
        Fault(.goAway(GoAway(reason: "Shutdown", lastStream: .current)), rate: 0.01),
        Fault(.cut(applied: true), rate: 0.005), Fault(.then(.reset), rate: 0.005),
    ]

    private static let actions: [ConnectionAction] = [
        .goAway(GoAway(reason: "Shutdown", closes: false)), .goAway(GoAway(errorCode: .internalError)),
        .settings(HTTP2SettingsChange(initialWindowByteCount: 1, headerTableByteCount: 0)), .silence, .starve,
        .slowReads(bytesPerSecond: 5_000), .reset, .cutMidRecord, .close, .frames(.giant), .frames(.empty),
        .frames(.pushPromise), .frames(.garbage),
    ]

    @Test func phonesShowWhatTheyShouldWhateverAPNsDoes() async throws {
        try await TestHouse.with { house in
            print("torture seed \(Self.seed)")
            var random = SplitMix64(seed: Self.seed)
            let worker = try await house.startWorker(settings: Self.settings)
            let publisher = try TestPublisher(house.kafka)
            let actions = Self.actions.shuffled(using: &random)
            for group in 0..<actions.count + 3 {
                for member in 0..<Self.groupSize {
                    let number = group * Self.groupSize + member
                    try publisher.register("order-\(number)", token: Tokens.make(number))
                }
            }
            try await publisher.flush()
            try await worker.ready()

            for fault in Self.requestFaults { house.simulator.add(fault) }
            for (group, action) in actions.enumerated() {
                let before = house.simulator.statistics().requests
                try Self.publish(group, publisher)
                try await publisher.flush()
                house.simulator.perform(action)
                _ = try await house.simulator.wait { $0.requests >= before + Self.groupSize / 2 }
            }
            try await Self.outages(actions.count, publisher, house)
            try Self.publishStarts(publisher)
            try await publisher.flush()
            _ = try await house.simulator.wait { $0.faultsFired > 30 }
            house.simulator.clearFaults()

            try await house.phonesAgree(with: publisher.phones)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            try await DeliveryTests.everyEventHasAnOutcome(publisher, outcomes, in: house)
            try Self.judgeStarts(outcomes, house)
            let kinds = Set(try OutcomeRecord.all(in: outcomes).map(\.outcome))
            #expect(kinds.isSubset(of: ["applied", "delivered", "superseded", "unknown"]), "\(kinds)")
            #expect(house.violations().isEmpty, "\(house.violations().prefix(3))")
            try await until("everything is accounted for and nothing waits") {
                let unaccounted = try await worker.metric("mailboat_events_unaccounted")
                let pending = try await worker.metric("mailboat_events_pending")
                return unaccounted == 0 && pending == 0
            }

            // APNs works again from here on, and each update is at most one push. Damaged connections are cut, so that
            // the test does not wait for their timeouts.
            house.simulator.perform(.cut)
            let requests = house.simulator.statistics().requests
            try Self.publish(0, publisher)
            try await publisher.flush()
            try await house.phonesAgree(with: publisher.phones)
            #expect(house.simulator.statistics().requests - requests <= 2 * Self.groupSize)
            worker.terminate()
            #expect(try await worker.exited() == 0)
            _ = try await house.simulator.wait { $0.connectionsOpen == 0 }
        }
    }

    /// Causes outages: APNs allows one stream and then many again, refuses connections, and accepts a connection
    /// without answering on it.
    private static func outages(_ group: Int, _ publisher: TestPublisher, _ house: TestHouse) async throws {
        let simulator = house.simulator
        var before = simulator.statistics()
        simulator.setConcurrentStreamsMax(1)
        try Self.publish(group, publisher)
        try await publisher.flush()
        _ = try await simulator.wait { [before] in $0.requests >= before.requests + 10 }
        simulator.setConcurrentStreamsMax(0)
        simulator.setConcurrentStreamsMax(1_000)

        before = simulator.statistics()
        simulator.setRefusesConnections(true)
        simulator.perform(.cut)
        try Self.publish(group + 1, publisher)
        try await publisher.flush()
        _ = try await simulator.wait { [before] in $0.connectionsRefused >= before.connectionsRefused + 2 }
        simulator.setMute(true)
        simulator.setRefusesConnections(false)

        before = simulator.statistics()
        try Self.publish(group + 2, publisher)
        try await publisher.flush()
        _ = try await simulator.wait { [before] in $0.connectionsAccepted > before.connectionsAccepted }
        simulator.setMute(false)
    }

    private static func publish(_ group: Int, _ publisher: TestPublisher) throws {
        for member in 0..<Self.groupSize {
            let number = group * Self.groupSize + member
            try publisher.update("order-\(number)", "in the oven", priority: 10)
            // This update merges with the first one, or leaves a second later.
            try publisher.update("order-\(number)", "at the door", alert: "Ding dong")
        }
    }

    private static func publishStarts(_ publisher: TestPublisher) throws {
        for number in 0..<Self.startCount {
            var start = StoryEvent(
                .start, app: TestPublisher.app, contentState: "{\"health\":100}",
                alert: "{\"title\":\"Go\",\"body\":\"on an adventure\"}")
            start.startToken = Self.startToken(number)
            start.attributesType = "AdventureAttributes"
            start.attributes = "{}"
            // The phones are not expected to show this start. If its answer is unknown, it is not sent again.
            try publisher.send(
                key: Array("hero-\(number)".utf8), value: start.value,
                recordMillis: Int64(Date().timeIntervalSince1970 * 1_000))
        }
    }

    private static func startToken(_ number: Int) -> String { Tokens.make(1_000_000 + number) }

    private static func judgeStarts(_ outcomes: TopicTail, _ house: TestHouse) throws {
        let records = try OutcomeRecord.all(in: outcomes)
        for number in 0..<Self.startCount {
            let cards = house.simulator.device(token: Self.startToken(number))?.device.cardCount ?? 0
            let outcome = records.first { $0.activity == "hero-\(number)" }?.outcome
            #expect(cards <= 1, "hero-\(number) was started \(cards) times")
            #expect(
                outcome == "unknown" || (outcome == "delivered" && cards == 1), "hero-\(number): \(outcome ?? "none")")
        }
    }
}
