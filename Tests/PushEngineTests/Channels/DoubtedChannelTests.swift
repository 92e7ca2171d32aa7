import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// Tests a channel that APNs reports as gone when something is broadcast on it.
@Suite struct DoubtedChannelTests {
    /// The keeper is told at once that the channel is gone. It lists the channels at APNs, reports that the channel has
    /// vanished, and opens another.
    @Test func aDeadChannelIsToldToItsKeeper() throws {
        let (h, apple) = AudienceChannelTests.harness()
        var service = apple
        h.advance(60_000)
        service.serve(h)
        service.channels.removeAll()
        service.asked.removeAll()
        h.audienceUpdate(2)
        h.deliverAll()
        let broadcast = try #require(h.take(route: 2))
        h.answer(broadcast, .response(PushResponse(status: 400, reason: "ChannelNotRegistered")))
        h.carryBus()
        service.serve(h)
        #expect(service.asked.first == .listChannels)
        let closed = try #require(h.outcomes.last { $0.outcome == "channel-closed" })
        #expect(closed.fields["reason"] as? String == "vanished")
        h.carryBus()
        service.serve(h)
        #expect(service.asked == [.listChannels, .listChannels, .createChannel] && service.channels.count == 1)
        h.carryBus()
        h.advance(1_000)
        h.audienceUpdate(3)
        h.deliverAll()
        #expect(h.deliver(route: 2)?.token == service.channels.last)
    }

    /// APNs may not know a new channel on all its servers yet. If APNs' list has the channel, the broadcast is tried
    /// again.
    @Test func aChannelThatIsThereAfterAllIsBroadcastOnAgain() throws {
        let (h, apple) = AudienceChannelTests.harness()
        var service = apple
        h.advance(60_000)
        service.serve(h)
        h.audienceUpdate(2)
        h.deliverAll()
        let broadcast = try #require(h.take(route: 2))
        h.answer(broadcast, .response(PushResponse(status: 400, reason: "ChannelNotRegistered")))
        h.carryBus()
        service.serve(h)
        h.carryBus()
        h.advance(16_000)
        let again = try #require(h.deliver(route: 2))
        #expect(again.token == AudienceChannelTests.channel && again.n == 2 && again.stamp == broadcast.stamp)
        #expect(service.channels.count == 1 && !h.outcomes.contains { $0.outcome == "channel-closed" })
    }
}
