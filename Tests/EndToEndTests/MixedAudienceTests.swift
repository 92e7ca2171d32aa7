import APNSProtocol
import APNSSimulator
import ChildProcesses
import DeviceModel
import Foundation
import PushEngine
import PushWorker
import Testing

/// Tests of an audience with two kinds of phones. Some listen on the audience's kept channel. The others get pushes by
/// their tokens.
@Suite(.timeLimit(.minutes(10)))
struct MixedAudienceTests {
    private static let count = 100
    /// Phones that listen on the channel: the first half.
    private static let listeners = 0..<50
    private static let others = 50..<100

    @Test func eachPhoneGetsEachVersionOnceByItsOwnWay() async throws {
        try await MixedHouse.with { house, settings in
            let publisher = try TestPublisher(house.kafka)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            let worker = try await house.startWorker(settings: settings)
            let channel = try await MixedHouse.open(match, in: outcomes)
            #expect(house.simulator.channels().map(\.id) == [channel])
            try match.listen(Self.listeners, on: channel)
            try match.join(Self.others)
            try await publisher.flush()
            try await match.has(Self.count, at: worker)
            // The owner may not have read a partition's question yet. Then the partition gets this version with the
            // owner's answer, and pushes it by tokens. So pushes and messages are counted only for the next version.
            try match.publish(1)
            try await publisher.flush()
            try await match.shows(1, 0..<Self.count)

            let (pushes, messages) = Self.arrived(match)
            try match.publish(2, TestAudience.goal)
            try await publisher.flush()
            try await match.shows(2, 0..<Self.count)
            try match.publish(3)
            try await publisher.flush()
            let third = try await match.shows(3, 0..<Self.count)
            #expect(third.listening == Self.listeners.count)
            #expect(third.alerts.map(\.alerts) == [1], "everybody has heard the goal once")
            let (pushesThen, messagesThen) = Self.arrived(match)
            #expect(pushesThen.listeners == pushes.listeners, "no push for those that listen")
            #expect(pushesThen.others == pushes.others + 2 * Self.others.count)
            #expect(messagesThen.listeners == messages.listeners + 2 * Self.listeners.count)
            #expect(messagesThen.others == 0)
            #expect(
                house.simulator.channel(id: channel)?.publishedCount == messagesThen.listeners / Self.listeners.count)

            let dump = try await MixedHouse.run(
                ["state", "dump", "--config", worker.configurationPath, "--audience", "match-7"], in: house)
            #expect(dump.contains("channel, production: open, id \(channel), taken up to "), "\(dump)")
            #expect(dump.contains("\(Self.count) members in"), "\(dump)")
            #expect(dump.contains(", \(Self.listeners.count) of them listen on a channel"), "\(dump)")
            // The metric shows the keeper's last list of channels. The keeper got it before this channel was made.
            let listed = "mailboat_channels_listed{app=\"\(TestPublisher.app)\",environment=\"production\"} 0"
            #expect(try await worker.get("/metrics")?.body.contains(listed) == true)
            try await until("the record of the third says whom its broadcast spoke for") {
                try MixedHouse.broadcasts(of: match, in: outcomes).contains {
                    $0.accepted && $0.channel == channel && $0.listeners == Self.listeners.count
                }
            }

            try match.publish(4, event: "end")
            try await publisher.flush()
            let last = try await match.shows(4, 0..<Self.count, .ended)
            #expect(last.differingCount == 0)
            #expect(house.simulator.statistics().bothWays == 0)
            #expect(house.violations().isEmpty)
            // The channel is kept for a while, so that phones that are off get the end later.
            #expect(house.simulator.channels().map(\.id) == [channel])
            let said = try await house.everythingIsAccountedFor(publisher, worker)
            #expect(said.count { $0.outcome == "fanned-out" } == 4)
            let broadcastCount = Double(messages.listeners / Self.listeners.count + 3)
            #expect(try await worker.metric("mailboat_channels_broadcasts_accepted_total") == broadcastCount)
        }
    }

    /// A publisher takes the id of a kept channel from the outcomes and sends an event to it. No phone gets the event,
    /// and its outcome names the audience to use. Events for the publisher's own channel are accepted.
    @Test func whatIsSentStraightToAKeptChannelIsRejected() async throws {
        try await MixedHouse.with { house, settings in
            let publisher = try TestPublisher(house.kafka)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            let worker = try await house.startWorker(settings: settings)
            let channel = try await MixedHouse.open(match, in: outcomes)
            try match.listen(Self.listeners, on: channel)
            try await publisher.flush()
            try await match.has(Self.listeners.count, at: worker)
            try match.publish(1)
            try await publisher.flush()
            try await match.shows(1, Self.listeners)
            let own = try #require(house.simulator.createChannel(app: TestPublisher.app, storage: .mostRecent))
            for channel in [channel, own] {
                try publisher.send(
                    key: Array(channel.utf8),
                    value: Array(
                        """
                        {"event":"update","app":"\(TestPublisher.app)","to":{"channel":"\(channel)"},"priority":10,\
                        "content-state":{"step":"99"}}
                        """.utf8))
            }
            try match.publish(2)
            try await publisher.flush()
            try await match.shows(2, Self.listeners)
            let said = try await house.everythingIsAccountedFor(publisher, worker)
            let rejected = said.filter { $0.outcome == "rejected" }
            #expect(rejected.count == 1)
            #expect(rejected.first?.reason?.contains(#"expected "to": {"audience": "match-7"}"#) == true)
            #expect(said.count { $0.outcome == "delivered" } == 1)
            #expect(house.simulator.channel(id: own)?.publishedCount == 1)
            #expect(house.simulator.statistics().bothWays == 0)
            #expect(match.summary(Self.listeners).differingCount == 0)
            #expect(house.violations().isEmpty)
        }
    }

    /// Numbers of pushes and of channel messages that arrived at phones that listen, and at the others.
    private static func arrived(_ match: TestAudience) -> (
        pushes: (listeners: Int, others: Int), messages: (listeners: Int, others: Int)
    ) {
        let (listeners, others) = (match.summary(Self.listeners), match.summary(Self.others))
        return ((listeners.pushes, others.pushes), (listeners.messages, others.messages))
    }

    /// APNs refuses broadcasts for longer than `channel.fallback`. Phones that listen then get pushes by their tokens,
    /// with the alert. They return to the channel when APNs accepts broadcasts again.
    @Test func aRefusedBroadcastGoesToTheTokens() async throws {
        try await MixedHouse.with { house, settings in
            let publisher = try TestPublisher(house.kafka)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            // Pushes replace a broadcast that has failed for one second. A minute lasts 200 ms for channels.
            let worker = try await house.startWorkerInside(settings: settings + "\nchannel.fallback: 1s") {
                $0.engine.channelMinuteMillis = 200
            }
            let channel = try await MixedHouse.open(match, in: outcomes)
            try match.listen(Self.listeners, on: channel)
            try match.join(Self.others)
            try await publisher.flush()
            try await match.has(Self.count, at: worker)
            try match.publish(1)
            try await publisher.flush()
            try await match.shows(1, 0..<Self.count)

            let (pushes, messages) = Self.arrived(match)
            let fault = house.simulator.add(
                Fault(.answer(status: 503, reason: "ServiceUnavailable"), kind: .broadcast))
            try match.publish(2, TestAudience.goal)
            try await publisher.flush()
            let second = try await match.shows(2, 0..<Self.count)
            #expect(second.alerts.map(\.alerts) == [1], "everybody has heard the goal once")
            let (pushesThen, messagesThen) = Self.arrived(match)
            #expect(pushesThen.listeners == pushes.listeners + Self.listeners.count)
            #expect(messagesThen.listeners == messages.listeners)
            try await until("the fallback is counted") { worker.snapshot().engine.channelFallbacks == 1 }

            #expect(house.simulator.remove(fault))
            let taken = worker.snapshot().engine.channelBroadcastsAccepted
            var step = 2
            try await until("the channel brings the newest again") {
                step += 1
                try match.publish(step)
                try await publisher.flush()
                try await match.shows(step, 0..<Self.count)
                return worker.snapshot().engine.channelBroadcastsAccepted > taken
            }
            // A version that went out by tokens is broadcast with the same stamp as soon as APNs accepts it. A phone
            // that has the version ignores the broadcast.
            let bothWays = house.simulator.statistics().bothWays
            #expect(bothWays > 0 && bothWays.isMultiple(of: Self.listeners.count))
            let last = try await match.shows(step, 0..<Self.count)
            #expect(last.alerts.map(\.alerts) == [1], "the goal that came both ways is heard once")
            #expect(house.violations().isEmpty)
        }
    }

    /// Somebody deletes the channel. Phones that listened on it get pushes by their tokens, and the worker opens
    /// another channel.
    @Test func aChannelThatIsGoneLeavesNobodyBehind() async throws {
        try await MixedHouse.with { house, settings in
            let publisher = try TestPublisher(house.kafka)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            let worker = try await house.startWorkerInside(settings: settings) {
                $0.engine.channelMinuteMillis = 200
            }
            let channel = try await MixedHouse.open(match, in: outcomes)
            try match.listen(Self.listeners, on: channel)
            try match.join(Self.others)
            try await publisher.flush()
            try await match.has(Self.count, at: worker)
            try match.publish(1)
            try await publisher.flush()
            try await match.shows(1, 0..<Self.count)

            #expect(house.simulator.deleteChannel(id: channel))
            try match.publish(2, TestAudience.goal)
            try await publisher.flush()
            let second = try await match.shows(2, 0..<Self.count)
            #expect(second.alerts.map(\.alerts) == [1])
            try await until("another one is opened") {
                try MixedHouse.channelOutcomes(of: match, in: outcomes).contains {
                    $0.outcome == "channel-opened" && $0.channel != channel
                }
            }
            #expect(
                try MixedHouse.channelOutcomes(of: match, in: outcomes).contains {
                    $0.outcome == "channel-closed" && $0.channel == channel && $0.reason == "vanished"
                })
            #expect(house.simulator.channels().count == 1)
        }
    }

    /// A phone that was off during the `end` would show a live card for ever. So the end is broadcast several times,
    /// and then the channel is deleted.
    @Test func theEndComesAgainAndTheChannelGoes() async throws {
        try await MixedHouse.with { house, settings in
            let publisher = try TestPublisher(house.kafka)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            // A minute lasts 200 ms here, so the end is repeated after 0.2, 1, 3 and 6 s.
            let worker = try await house.startWorkerInside(settings: settings) {
                $0.engine.channelMinuteMillis = 200
                for app in $0.apps.indices { $0.apps[app].engine.channelLingerMillis = 8_000 }
            }
            let channel = try await MixedHouse.open(match, in: outcomes)
            try match.listen(Self.listeners, on: channel)
            try match.join(Self.others)
            try await publisher.flush()
            try await match.has(Self.count, at: worker)
            try match.publish(1)
            try await publisher.flush()
            try await match.shows(1, 0..<Self.count)

            #expect(house.simulator.setOnline(token: Tokens.make(0), false))
            try match.publish(2, event: "end")
            try await publisher.flush()
            try await match.shows(2, 1..<Self.count, .ended)
            #expect(match.summary(0..<1).shown.map(\.card) == [.active])
            #expect(house.simulator.setOnline(token: Tokens.make(0), true))
            try await match.shows(2, 0..<1, .ended)

            try await until("the channel is deleted") { house.simulator.channels().isEmpty }
            try await until("it is told") {
                try MixedHouse.channelOutcomes(of: match, in: outcomes).contains {
                    $0.outcome == "channel-closed" && $0.channel == channel && $0.reason == "ended"
                }
            }
            let counters = try await worker.waitUntil { $0.engine.channelsDeleted == 1 }.engine
            #expect(counters.channelBeacons >= 2 && counters.channelsLingering == 0)
            #expect(house.simulator.statistics().bothWays == 0)
            #expect(match.summary(0..<Self.count).differingCount == 0)
            #expect(house.violations().isEmpty)
        }
    }
}
