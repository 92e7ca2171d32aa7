import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests what resolves an offset, and when it may be committed (contract: Outcome and offset).
@Suite struct ResolutionTests {
    // MARK: Push, state, outcome: then the commit

    @Test func nothingIsCommittedBeforePushStateAndOutcomeAreAcknowledged() {
        let h = EngineHarness()
        h.register()
        h.advance(1_000)
        h.acknowledgesAtOnce = false
        let offset = h.update(1, priority: 10)
        let push = h.take()!
        h.advance(900)
        #expect(h.committed[0] == offset)
        h.answer(push, .accepted)
        h.advance(200)
        // The state record says that the event is done, so Kafka gets the outcome first.
        #expect(h.outstanding.map(\.topic) == [.outcomes])
        #expect(h.committed[0] == offset)
        h.acknowledgeAll { $0.topic == .outcomes }
        h.advance(200)
        #expect(h.outstanding.map(\.topic) == [.state])
        #expect(h.committed[0] == offset, "the state record is not acknowledged")
        h.acknowledgeAll { $0.topic == .state }
        #expect(h.committed[0] == offset + 1)
    }

    @Test func anAcknowledgedOutcomeAloneCommitsNothing() {
        let h = EngineHarness()
        h.register()
        h.advance(1_000)
        h.acknowledgesAtOnce = false
        let offset = h.update(1, priority: 10)
        h.deliver()
        h.advance(200)
        h.acknowledgeAll { $0.topic == .outcomes }
        #expect(h.committed[0] == offset)
        h.advance(200)
        #expect(h.committed[0] == offset)
        h.acknowledgeAll { $0.topic == .state }
        #expect(h.isCommitted())
    }

    /// Tests events that end at once. Their offsets must not wait until the slot leaves memory.
    @Test(arguments: [
        "late update", "late end", "late register", "duplicate start", "older update", "register", "unregister",
    ])
    func whatNeedsNoPushIsCommittedAtOnce(_ kind: String) {
        let h = EngineHarness()
        h.register()
        h.update(1, at: 0, priority: 10)
        h.deliver()
        if kind.hasPrefix("late") {
            h.advance(2_000)
            h.end()
            h.deliver()
        }
        h.advance(2_000)
        #expect(h.isCommitted())
        let expected: String
        let offset: Int64
        switch kind {
        case "late update": (offset, expected) = (h.update(2), "late")
        case "late end": (offset, expected) = (h.end(), "late")
        case "late register": (offset, expected) = (h.register(), "late")
        case "duplicate start": (offset, expected) = (h.start(2), "duplicate")
        case "older update": (offset, expected) = (h.update(2, at: -1), "superseded")
        case "register": (offset, expected) = (h.register(token: "bb"), "applied")
        default: (offset, expected) = (h.unregister(), "applied")
        }
        h.advance(200)
        #expect(h.outcomes(of: offset) == [expected])
        #expect(h.isCommitted())
        #expect(h.take() == nil)
    }

    @Test(arguments: OutcomePublication.allCases)
    func whatIsNotPublishedIsCommittedAllTheSame(_ publication: OutcomePublication) {
        let h = EngineHarness { $0.settings.outcomePublication = publication }
        h.register()
        h.update(1, at: 5, priority: 10)
        h.deliver()
        h.update(2, at: 4)
        h.update(3, at: 6)
        h.update(4, at: 6)
        h.advance(1_000)
        h.deliver()
        h.end()
        h.advance(1_000)
        h.deliver()
        h.update(5)
        h.advance(1_000)
        #expect(h.isCommitted())
        #expect(h.counters.pending == 0)
        #expect(h.counters.count(.superseded) == 2)
        let published = Set(h.outcomes.map(\.outcome))
        for outcome in Outcome.allCases where !publication.includes(outcome) {
            #expect(!published.contains("\(outcome.name)"))
        }
    }

    // MARK: Updates that are held long

    /// A pending update that is held for more than a second is written to `state`, which resolves its event's offset.
    /// The event's outcome follows with the push.
    @Test func aPendingUpdateHeldForASecondIsWrittenDown() {
        let h = EngineHarness()
        h.register()
        h.advance(1_000)
        h.acknowledgesAtOnce = false
        let offset = h.update(1, priority: 10)  // ready, but no stream is free
        h.advance(999)
        #expect(h.outstanding.isEmpty)
        h.advance(200)
        #expect(h.outstanding.map(\.topic) == [.state])
        #expect(h.committed[0] == offset)
        h.acknowledgesAtOnce = true
        h.step()
        #expect(h.isCommitted())
        #expect(h.outcomes(of: offset).isEmpty)
        #expect(h.counters.pending == 1)
        h.deliver()
        #expect(h.outcomes(of: offset) == ["delivered"])
    }

    @Test func itIsWrittenAtMostOnceASecondPerSlot() {
        let h = EngineHarness()
        h.register()
        h.advance(1_000)
        let before = h.counters.stateRecords
        for n in 0..<100 {  // 10 seconds of merging
            h.update(n, priority: 10)
            h.advance(100)
        }
        let written = h.counters.stateRecords - before
        #expect(written >= 8 && written <= 10)
        h.advance(2_000)
        #expect(h.isCommitted())
        h.deliver()
        h.advance(200)
        #expect(h.isCommitted())
        #expect(h.counters.pending == 0)
    }

    /// An event in `state` has no ledger entry. Therefore the state record that removes the event waits for the event's
    /// outcome.
    @Test func theRecordAfterADurableEventWaitsForItsOutcome() {
        let h = EngineHarness()
        h.register()
        h.advance(1_000)
        let offset = h.update(1, priority: 10)
        h.advance(2_000)
        #expect(h.isCommitted())
        h.acknowledgesAtOnce = false
        h.deliver()
        h.advance(500)
        #expect(h.outstanding.map(\.topic) == [.outcomes])
        h.acknowledgeAll()
        h.advance(100)
        #expect(h.outstanding.map(\.topic) == [.state])
        h.acknowledgeAll()
        #expect(h.outcomes(of: offset) == ["delivered"])
        // If the worker had crashed before the outcome was acknowledged, the event would still have been in `state`.
    }

    @Test func killedBeforeTheOutcomeWasAcknowledgedTheEventIsStillKnown() {
        let h = EngineHarness()
        h.register()
        h.advance(1_000)
        let offset = h.update(1, priority: 10)
        h.advance(2_000)
        h.acknowledgesAtOnce = false
        h.deliver()
        h.advance(500)
        h.crash()
        #expect(h.counters.pending == 1)
        h.advance(2_000)
        h.deliver()
        #expect(h.outcomes(of: offset) == ["delivered", "delivered"])
    }

    // MARK: Groups

    /// A thousand events of one slot need one ledger entry, and one push resolves them all. So memory is bounded by the
    /// number of slots.
    @Test func aGroupResolvesWithItsPush() {
        let h = EngineHarness()
        h.register()
        h.advance(1_000)
        let first = h.update(0, priority: 10)
        for n in 1..<1_000 { h.update(n) }
        #expect(h.committed[0] == first)
        h.deliver()
        h.advance(200)
        #expect(h.isCommitted())
        #expect(h.counters.count(.superseded) == 999)
        #expect(h.counters.count(.delivered) == 1)
    }

    @Test func anotherSlotsUnresolvedEventHoldsTheCommitBack() {
        let h = EngineHarness()
        h.register(of: "a")
        h.register(token: "bb", of: "b")
        h.advance(1_000)
        let first = h.update(1, of: "a", priority: 10)
        h.update(1, of: "b", priority: 10)
        let held = h.take()!
        let push = h.take()!
        h.answer(push, .accepted)
        h.advance(200)
        #expect(h.committed[0] == first)
        h.answer(held, .accepted)
        h.advance(200)
        #expect(h.isCommitted())
    }

    /// The slot holds entries of two logs. Each log waits for the outcome of its own event.
    @Test func bothLogsWaitForTheOutcome() {
        let h = EngineHarness()
        h.register()
        h.advance(1_000)
        h.acknowledgesAtOnce = false
        let origin = SourcePosition(topic: 0, partition: 5, offset: 3)
        let routed = h.consume(
            key: "a",
            value: EngineHarness.content("update", 1, at: nil, priority: 10, alert: nil, padding: 0, more: []),
            topic: 1, origin: origin)
        let direct = h.update(2, priority: 10)
        h.deliver()
        h.advance(200)
        h.acknowledgeAll { $0.topic == .state }
        #expect(h.committed[0] == direct)
        #expect((h.committed[1] ?? routed) == routed)
        h.acknowledgeAll()
        h.advance(200)
        h.acknowledgeAll()
        #expect(h.isCommitted(topic: 0))
        #expect(h.isCommitted(topic: 1))
    }

    @Test func anOutcomesPositionIsTheOriginalOne() {
        let h = EngineHarness()
        h.register()
        let value = EngineHarness.content("update", 1, at: nil, priority: 10, alert: nil, padding: 0, more: [])
        h.consume(key: "a", value: value, topic: 1, origin: SourcePosition(topic: 0, partition: 5, offset: 3))
        h.deliver()
        let outcome = h.outcomes.last
        #expect(outcome?.outcome == "delivered")
        #expect(outcome?.topic == "liveactivity.events")
        #expect(outcome?.number("partition") == 5)
        #expect(outcome?.offset == 3)
    }

    // MARK: Unusual acknowledgements

    @Test func anAcknowledgementGivenTwiceOrUnknownChangesNothing() {
        let h = EngineHarness()
        h.register()
        h.advance(1_000)
        h.acknowledgesAtOnce = false
        let offset = h.update(1, priority: 10)
        h.deliver()
        h.advance(200)
        let outcome = h.outstanding.first { $0.topic == .outcomes }!
        for _ in 0..<3 { h.engine.acknowledged(outcome.acknowledgement, offset: 0, now: h.now) }
        h.engine.acknowledged(.max, offset: 0, now: h.now)
        h.step()
        #expect(h.committed[0] == offset)
        h.advance(200)
        h.acknowledgeAll()
        #expect(h.isCommitted())
    }
}
