import PushEngine
import PushModel
import Testing

/// Tests that Kafka gets an outcome before the state record that says that its event is done. If Kafka had the state
/// record and a crash lost the outcome, a replay could only report `duplicate`.
@Suite struct OutcomeBeforeStateTests {
    /// Some events need no push. Kafka gets the outcome of such an event before its `state` record.
    @Test(arguments: ["register", "unregister", "late update", "older update"])
    func theRecordWaitsForTheOutcomeOfAnEventThatEndsAtOnce(_ kind: String) {
        let h = EngineHarness()
        h.register()
        h.update(1, at: 0, priority: 10)
        h.deliver()
        if kind == "late update" {
            h.advance(2_000)
            h.end()
            h.deliver()
        }
        h.advance(2_000)
        h.acknowledgesAtOnce = false
        let (offset, outcome): (Int64, String) =
            switch kind {
            case "register": (h.register(token: "bb"), "applied")
            case "unregister": (h.unregister(), "applied")
            case "late update": (h.update(2), "late")
            default: (h.update(2, at: -1), "superseded")
            }
        h.advance(2_000)
        #expect(h.outstanding.map(\.topic) == [.outcomes])
        h.acknowledgeAll()
        h.advance(200)
        #expect(h.outstanding.map(\.topic) == [.state])
        #expect(h.committed[0] == offset)
        h.acknowledgeAll()
        #expect(h.isCommitted())
        #expect(h.outcomes(of: offset) == [outcome])
    }

    /// An engine in which one update gave way to another. Kafka has acknowledged no record about that.
    private static func gaveWay() -> (EngineHarness, first: Int64) {
        let h = EngineHarness()
        h.register()
        h.advance(1_000)
        h.acknowledgesAtOnce = false
        let first = h.update(1, priority: 10)
        h.update(2)
        h.advance(2_000)
        return (h, first)
    }

    @Test func theRecordWaitsForTheOutcomeOfAnEventThatGaveWay() {
        let (h, first) = Self.gaveWay()
        #expect(h.outstanding.map(\.topic) == [.outcomes])
        // After a crash at this moment the next owner would take the first event again.
        h.acknowledgeAll()
        h.advance(200)
        #expect(h.outstanding.map(\.topic) == [.state])
        #expect(h.committed[0] == first)
        h.acknowledgeAll()
        #expect(h.isCommitted())
    }

    @Test func killedBeforeTheOutcomeWasAcknowledgedTheEventGivesWayAgain() {
        let (h, first) = Self.gaveWay()
        h.acknowledgeAll { $0.topic == .state }
        h.crash()
        h.advance(2_000)
        h.deliver()
        #expect(h.outcomes(of: first) == ["superseded", "superseded"])
    }

    /// Events come without a pause, and the records about each are acknowledged only after the next event has arrived.
    /// The state record is still written.
    @Test(arguments: ["gives way", "late"])
    func anActivityThatIsNeverQuietIsWrittenAllTheSame(_ kind: String) {
        let h = EngineHarness()
        h.register()
        h.advance(1_000)
        if kind == "late" {
            h.end()
            h.deliver()
            h.advance(1_000)
        }
        h.acknowledgesAtOnce = false
        let first = h.update(0, priority: 10)
        var states = 0
        for n in 1...300 {
            let before = h.outstanding.count
            h.update(n)
            let old = Set(h.outstanding.prefix(before).map(\.acknowledgement))
            states += h.outstanding.filter { $0.topic == .state }.count
            h.acknowledgeAll { old.contains($0.acknowledgement) }
            h.advance(20)
        }
        #expect(states >= 1)
        #expect(h.committed[0]! > first)
    }
}
