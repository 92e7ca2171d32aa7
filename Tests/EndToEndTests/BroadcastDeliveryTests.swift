import APNSSimulator
import DeviceModel
import Foundation
import PushModel
import Testing

/// Tests of one event for many phones: broadcasts from Kafka to the phones that listen on a channel, over real TLS and
/// HTTP/2.
@Suite(.timeLimit(.minutes(10)))
struct BroadcastDeliveryTests {
    /// Runs `body` in a house whose APNs has a management port for channels, and with the settings of a worker that
    /// uses the port. The least time between two broadcasts on a channel is a second.
    private static func with(_ body: (TestHouse, String) async throws -> Void) async throws {
        var configuration = SimulatorConfiguration()
        configuration.managementPort = 0
        configuration.channelPushesPerMinuteMax = nil
        configuration.watchedChannelSpacingMillis = 900
        try await TestHouse.with(simulator: configuration) { house in
            let port = try #require(house.simulator.managementPort)
            try await body(
                house,
                """
                channel.minimum-distance: 1s
                apns.production.manage-host: 127.0.0.1
                apns.production.manage-port: \(port)
                """)
        }
    }

    private static func broadcast(
        _ publisher: TestPublisher, _ channel: String, _ step: Int, event: String = "update"
    ) throws {
        try publisher.send(
            key: Array(channel.utf8),
            value: Array(
                """
                {"event":"\(event)","app":"\(TestPublisher.app)","to":{"channel":"\(channel)"},"priority":10,\
                "content-state":{"step":\(step)}}
                """.utf8))
    }

    private static func shows(_ house: TestHouse, _ phone: Int, _ step: Int) -> Bool {
        let shown = house.simulator.device(token: Tokens.make(phone))?.device.contentState ?? []
        return String(decoding: shown, as: UTF8.self) == "{\"step\":\(step)}"
    }

    @Test func everyPhoneThatListensShowsTheSame() async throws {
        try await Self.with { house, settings in
            let publisher = try TestPublisher(house.kafka)
            let channels = [ChannelStorage.none, .mostRecent].compactMap {
                house.simulator.createChannel(app: TestPublisher.app, storage: $0)
            }
            try #require(channels.count == 2)
            // Three phones listen on each of two channels. On each channel, one phone is offline for a while.
            for phone in 0..<6 {
                #expect(house.simulator.setListening(token: Tokens.make(phone), channel: channels[phone / 3]))
            }
            let worker = try await house.startWorker(settings: settings)
            for channel in channels { try Self.broadcast(publisher, channel, 1) }
            try await publisher.flush()
            try await worker.ready()
            try await until("every phone has got the first") { (0..<6).allSatisfy { Self.shows(house, $0, 1) } }

            for phone in [2, 5] { #expect(house.simulator.setOnline(token: Tokens.make(phone), false)) }
            for channel in channels { try Self.broadcast(publisher, channel, 2) }
            try await publisher.flush()
            try await until("the phones that are there have got the second") {
                [0, 1, 3, 4].allSatisfy { Self.shows(house, $0, 2) }
            }
            for phone in [2, 5] { #expect(house.simulator.setOnline(token: Tokens.make(phone), true)) }
            #expect(Self.shows(house, 5, 2), "it was kept for it")
            #expect(Self.shows(house, 2, 1), "nothing was kept")

            for channel in channels { try Self.broadcast(publisher, channel, 3, event: "end") }
            try await publisher.flush()
            try await until("every phone has got the end") {
                (0..<6).allSatisfy {
                    Self.shows(house, $0, 3)
                        && house.simulator.device(token: Tokens.make($0))?.device.phase == .ended
                }
            }
            #expect(house.violations().isEmpty)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            try await until("every event is said to be delivered") {
                try OutcomeRecord.all(in: outcomes).count { $0.outcome == "delivered" } == 6
            }
            #expect(try await worker.metric("mailboat_channel_questions_total") == 2)
            #expect(try await worker.metric("mailboat_channels") == 2)
        }
    }

    /// The next worker knows the storage policy of a channel from `state`, and does not ask APNs again.
    @Test func aRestartRemembersWhatAChannelKeeps() async throws {
        try await Self.with { house, settings in
            let publisher = try TestPublisher(house.kafka)
            let channel = try #require(house.simulator.createChannel(app: TestPublisher.app, storage: .mostRecent))
            #expect(house.simulator.setListening(token: Tokens.make(0), channel: channel))
            let first = try await house.startWorker(settings: settings)
            try Self.broadcast(publisher, channel, 1)
            try await publisher.flush()
            try await until("the phone has got the first") { Self.shows(house, 0, 1) }
            first.terminate()
            #expect(try await first.exited() == 0)

            let second = try await house.startWorker("second", settings: settings)
            try Self.broadcast(publisher, channel, 2)
            try await publisher.flush()
            try await until("the phone has got the second") { Self.shows(house, 0, 2) }
            #expect(try await second.metric("mailboat_channel_questions_total") == 0)
            #expect(house.simulator.channel(id: channel)?.storedBody.isEmpty == false)
            #expect(house.violations().isEmpty)
        }
    }

    @Test func whatIsForADeletedChannelIsRejected() async throws {
        try await Self.with { house, settings in
            let publisher = try TestPublisher(house.kafka)
            let channel = try #require(house.simulator.createChannel(app: TestPublisher.app, storage: .none))
            #expect(house.simulator.deleteChannel(id: channel))
            _ = try await house.startWorker(settings: settings)
            try Self.broadcast(publisher, channel, 1)
            try await publisher.flush()
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            try await until("the event is rejected") {
                try OutcomeRecord.all(in: outcomes).contains {
                    $0.outcome == "rejected" && $0.reason == "ChannelNotRegistered"
                }
            }
        }
    }
}
