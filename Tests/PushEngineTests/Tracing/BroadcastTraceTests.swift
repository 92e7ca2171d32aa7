import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// Tests what the engine reports, for tracing, of broadcasts that bring an audience's version to a channel.
@Suite struct BroadcastTraceTests {
    private static let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    /// An audience with a member that has a token and two that listen. All have the newest version.
    private static func harness() -> EngineHarness {
        let (h, _) = AudienceChannelTests.harness()
        for member in 2...3 { h.join(member, channel: AudienceChannelTests.channel) }
        h.deliverAll()
        h.advance(3_000)
        h.tracesPasses = true
        return h
    }
    private static func broadcasts(_ h: EngineHarness) -> [(TracedBroadcast, PushAnswer, SourcePosition)] {
        h.traceNotices().compactMap { note in
            if case .broadcastAnswered(let broadcast, let answer) = note.happening {
                (broadcast, answer, note.source)
            } else {
                nil
            }
        }
    }

    /// Delivers everything, over the channel and by tokens.
    private static func broadcast(_ h: EngineHarness) {
        for _ in 1...4 {
            while let request = h.take(route: 2) { h.answer(request, .accepted) }
            h.deliverAll()
            h.advance(20_000)
            h.carryBus()
        }
    }

    @Test func eachRequestIsTold() throws {
        let h = Self.harness()
        h.traceparent = Self.traceparent
        let offset = h.audienceUpdate(2, alert: "goal")
        h.deliverAll()
        let first = try #require(h.take(route: 2))
        let sentMillis = h.now.steadyMillis
        h.advance(40)
        h.answer(first, .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
        h.advance(20_000)
        let second = try #require(h.take(route: 2))
        h.answer(second, .accepted)
        let told = Self.broadcasts(h)
        #expect(
            told.map(\.1.result) == [
                .response(PushResponse(status: 503, reason: "ServiceUnavailable")), .accepted,
            ])
        let broadcast = try #require(told.first?.0)
        #expect(
            told.allSatisfy { $0.2 == SourcePosition(topic: 0, partition: 0, offset: offset) && $0.0.source == $0.2 })
        #expect(broadcast.parent == TraceContext(traceparent: Array(Self.traceparent.utf8).span))
        #expect(broadcast.audience == Array("match".utf8) && broadcast.app == 0 && broadcast.route == 2)
        #expect(broadcast.channel == Array(AudienceChannelTests.channel.utf8) && broadcast.mergedCount == 1)
        #expect(broadcast.sentMillis == sentMillis && broadcast.priority == .high)
        #expect(told.map { [$0.0.apnsIDHigh, $0.0.apnsIDLow] } == [first, second].map(\.apnsID))
        #expect(told[1].0.stampSeconds == broadcast.stampSeconds && told[1].0.sentMillis > sentMillis)
    }

    @Test func whatNobodyHasSampledIsNotTold() throws {
        let h = Self.harness()
        for traceparent in ["", String(Self.traceparent.dropLast()) + "0", "00-nonsense"] {
            h.traceparent = traceparent
            h.audienceUpdate(2)
            Self.broadcast(h)
        }
        h.tracesPasses = false
        h.traceparent = Self.traceparent
        h.audienceUpdate(3)
        Self.broadcast(h)
        #expect(h.engine.counters.channelBroadcastsAccepted > 0)
        #expect(Self.broadcasts(h).isEmpty)
    }
}
