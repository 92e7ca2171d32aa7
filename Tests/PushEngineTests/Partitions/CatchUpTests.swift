import APNSProtocol
import PushEngine
import PushModel
import Testing

/// After a takeover no push leaves before the log has been read up to its end at assignment. The wait for that end is
/// limited. The former owner may have sent any event in the log.
@Suite struct CatchUpTests {
    /// An engine whose former owner sent two updates in one push without a record, and crashed.
    private static func afterCrash(
        _ configure: (inout EngineConfiguration) -> Void = { _ in }
    ) -> (EngineHarness, [Int64]) {
        let h = EngineHarness(configure)
        h.register()
        h.advance(1_000)
        h.acknowledgesAtOnce = false
        let offsets = [h.update(1, priority: 10), h.update(2, priority: 10)]
        h.deliver()
        h.crash(replays: false)
        h.advance(2_000)
        return (h, offsets)
    }

    /// No push leaves before the log has been read. The phone shows the second update here, and a push with only the
    /// first update would replace it with older content.
    @Test func noPushLeavesBeforeTheLogHasBeenRead() throws {
        let (h, offsets) = Self.afterCrash()
        h.replay(offset: offsets[0])
        #expect(h.take() == nil)
        h.replay(offset: offsets[1])
        #expect(try #require(h.deliver()).body.contains(#""n":2"#))
    }

    /// An update in `state` waits until the log has been read. The former owner may have merged it with a newer event.
    @Test func whatWaitsInStateWaitsForTheLog() throws {
        let h = EngineHarness()
        h.register()
        h.advance(1_000)
        let first = h.update(0, priority: 10)
        let push = try #require(h.take())
        h.update(1, priority: 10)
        h.advance(2_000)
        h.answer(push, .accepted)
        #expect(h.outcome(of: first)?.outcome == "delivered")
        h.advance(1_500)
        h.acknowledgesAtOnce = false
        let newest = h.update(2, priority: 10)
        #expect(try #require(h.deliver()).body.contains(#""n":2"#))
        h.crash(replays: false)
        h.advance(2_000)
        #expect(h.take() == nil)
        h.replay(offset: newest)
        #expect(try #require(h.deliver()).body.contains(#""n":2"#))
    }

    /// A log's end may never be reached, for example because its last offset is a transaction's marker. The wait for
    /// the log's end is limited.
    @Test func theLogIsWaitedForSoLongAndNoLonger() throws {
        let (h, offsets) = Self.afterCrash { $0.settings.catchUpMaxMillis = 10_000 }
        h.replay(offset: offsets[0])
        h.advance(7_900)
        #expect(h.take() == nil)
        h.advance(200)
        #expect(try #require(h.deliver()).body.contains(#""n":1"#))
    }

    /// An engine without room for more records reads nothing, so it does not wait for the end of the log.
    @Test func whoMayReadNoMoreGoesOn() throws {
        let (h, offsets) = Self.afterCrash { $0.settings.pendingMax = 1 }
        h.replay(offset: offsets[0])
        #expect(h.recordRoom == 0)
        #expect(try #require(h.deliver()).body.contains(#""n":1"#))
    }
}
