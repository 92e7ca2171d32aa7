import APNSProtocol
import APNSSimulator
import ChildProcesses
import DeviceModel
import Foundation
import Testing

/// Tests that kill workers at each step of a kept channel's life. No phone is left behind, and no channel is lost.
@Suite(.timeLimit(.minutes(10)))
struct MixedRestartTests {
    private static let count = 100
    /// Phones that listen on the channel: the first half.
    private static let listeners = 0..<50
    private static let others = 50..<100

    /// APNs has made a channel, and the worker dies before the id is in `state`. The next owner waits for a minute,
    /// because APNs might still carry out a delayed creation. Then it looks for unknown channels in the list.
    @Test(arguments: [true, false]) func nothingIsLostBetweenACreationAndItsRecord(isExclusive: Bool) async throws {
        try await MixedHouse.with(isExclusive: isExclusive) { house, settings in
            let publisher = try TestPublisher(house.kafka)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            let fault = house.simulator.add(Fault(.stall(applied: true), kind: .createChannel))
            let first = try await house.startWorker("first", settings: settings)
            try match.join(Self.others)
            try match.publish(1, TestAudience.goal)
            try await publisher.flush()
            try await until("APNs has made it and says nothing") { house.simulator.fired(fault) ?? 0 > 0 }
            let made = try #require(house.simulator.channels().first?.id)
            // Phones that do not listen get the version without waiting for the channel.
            try await match.shows(1, Self.others)
            first.kill()
            #expect(try await first.exited() == -SIGKILL)
            house.simulator.clearFaults()

            let second = try await house.startWorker("second", settings: settings)
            let channel = try await MixedHouse.opened(match, in: outcomes)
            #expect((channel == made) == isExclusive)
            let channels = house.simulator.channels().map(\.id)
            #expect(Set(channels) == [made, channel] && channels.count == (isExclusive ? 1 : 2))
            // The metrics page is a fraction of a second behind the outcomes.
            let adopted = isExclusive
            try await until("what the creation has made is \(adopted ? "adopted" : "shown")") {
                let counts = (
                    try await second.metric("mailboat_channels_adopted_total"),
                    try await second.metric("mailboat_channels_possibly_ours")
                )
                return counts == (adopted ? (1, 0) : (0, 1))
            }
            if !isExclusive {
                let said = try await MixedHouse.run(
                    ["channels", "reconcile", "--config", second.configurationPath], in: house)
                #expect(
                    said.split(separator: "\n").contains { $0.contains("possibly ours") && $0.contains(made) },
                    "\(said)")
            }
            try await Self.everybodyGetsTheNext(match, on: channel, at: second, in: house)
        }
    }

    /// The worker dies while it asks for a list, before it makes a channel. The next worker makes one channel.
    @Test func nothingIsMadeTwice() async throws {
        try await MixedHouse.with { house, settings in
            let publisher = try TestPublisher(house.kafka)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            let fault = house.simulator.add(Fault(.stall(applied: true), kind: .listChannels))
            let first = try await house.startWorker("first", settings: settings)
            try match.join(Self.others)
            try match.publish(1, TestAudience.goal)
            try await publisher.flush()
            try await until("a list is not answered") { house.simulator.fired(fault) ?? 0 > 0 }
            try await match.shows(1, Self.others)
            first.kill()
            #expect(try await first.exited() == -SIGKILL)
            house.simulator.clearFaults()

            let second = try await house.startWorker("second", settings: settings)
            let channel = try await MixedHouse.opened(match, in: outcomes)
            #expect(house.simulator.channels().map(\.id) == [channel])
            try await Self.everybodyGetsTheNext(match, on: channel, at: second, in: house)
        }
    }

    /// APNs has accepted a broadcast, and the worker dies before it gets the answer. The next worker sends an identical
    /// broadcast, which the phones ignore.
    @Test func aBroadcastWithoutAnswerIsSentAgain() async throws {
        try await MixedHouse.with { house, settings in
            let publisher = try TestPublisher(house.kafka)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            let first = try await house.startWorker("first", settings: settings)
            let channel = try await MixedHouse.open(match, in: outcomes)
            try match.listen(Self.listeners, on: channel)
            try match.join(Self.others)
            try await publisher.flush()
            try await match.has(Self.count, at: first)
            try match.publish(1)
            try await publisher.flush()
            try await match.shows(1, 0..<Self.count)

            let fault = house.simulator.add(Fault(.stall(applied: true), kind: .broadcast))
            try match.publish(2, TestAudience.goal)
            try await publisher.flush()
            try await until("APNs has it and says nothing") { house.simulator.fired(fault) ?? 0 > 0 }
            first.kill()
            #expect(try await first.exited() == -SIGKILL)
            house.simulator.clearFaults()
            let published = try #require(house.simulator.channel(id: channel)?.publishedCount)

            let second = try await house.startWorker("second", settings: settings)
            try await until("it is sent again") {
                house.simulator.channel(id: channel)?.publishedCount == published + 1
            }
            let shown = try await match.shows(2, 0..<Self.count)
            #expect(shown.shown.map(\.cards) == [Self.count])
            try await match.has(Self.count, at: second)
            try await Self.everybodyGetsTheNext(match, on: channel, at: second, in: house)
        }
    }

    /// Makes the first half of the phones listen on the channel, and publishes two updates for all members. The channel
    /// must bring the second update.
    private static func everybodyGetsTheNext(
        _ match: TestAudience, on channel: String, at worker: WorkerProcess, in house: TestHouse
    ) async throws {
        try match.listen(Self.listeners, on: channel)
        try await match.publisher.flush()
        try await match.has(Self.count, at: worker)
        try match.publish(3)
        try await match.publisher.flush()
        try await match.shows(3, 0..<Self.count)
        let messages = match.summary(Self.listeners).messages
        try match.publish(4)
        try await match.publisher.flush()
        try await match.shows(4, 0..<Self.count)
        #expect(match.summary(Self.listeners).messages == messages + Self.listeners.count, "the channel brings it")
        #expect(house.violations(except: .http2, .tls).isEmpty)
    }
}
