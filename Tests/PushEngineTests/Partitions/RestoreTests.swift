import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests that a new owner begins with what `state` has (contract: At least once): pending updates, budget, stamps,
/// positions and life.
@Suite struct RestoreTests {
    private static func alive() -> EngineHarness {
        let h = EngineHarness()
        h.register()
        return h
    }

    // MARK: What comes back

    @Test func aPendingUpdateComesBackWhole() {
        let h = Self.alive()
        h.update(1, at: 1, priority: 10, alert: "one")
        let offset = h.update(
            2, at: 2, more: #""relevance-score":3.50"#, #""stale-date":\#(EngineHarness.seconds(9_000))"#,
            #""id":"e-2""#)
        h.advance(2_000)
        #expect(h.isCommitted())
        h.crash()
        #expect(h.counters.restored == 1, "a stale date lets nothing expire: the first has given way")
        #expect(h.counters.consumed == 0)
        h.advance(2_000)
        let push = h.deliver()
        #expect(push?.n == 2)
        #expect(push?.alert == "one")
        #expect(push?.priority == 10)
        #expect(push?.relevanceScore == 3.5)
        #expect(push?.staleDate == 9_000)
        #expect(push?.token == EngineHarness.token)
        let said = h.outcome(of: offset)
        #expect(said?.outcome == "delivered")
        #expect(said?.merged == 2)
        #expect(said?.fields["event-id"] as? String == "e-2")
    }

    /// The minimum distance to a former owner's push counts from the assignment, because the former owner cannot send
    /// after that. The time that the restore takes counts, too.
    @Test(arguments: [(0, 1_000), (700, 300), (999, 1)] as [(Int64, Int64)])
    func theDistanceToAPushOfTheFormerOwnerCountsFromTheAssignment(restoreMillis: Int64, left: Int64) {
        let h = Self.alive()
        h.update(1, priority: 10)
        h.deliver()
        h.advance(2_000)
        h.restoreMillis = restoreMillis
        h.crash()
        h.update(2, priority: 10)
        h.advance(left - 1)
        #expect(h.take() == nil)
        h.advance(1)
        #expect(h.deliver()?.n == 2)
    }

    /// An owner that released the partition says when it stopped sending. If that time is in the future by the new
    /// owner's clock, the distance counts from the assignment.
    @Test(arguments: [(400, 600), (999, 1), (0, 1_000), (-5_000, 1_000)] as [(Int64, Int64)])
    func theDistanceCountsFromWhenTheFormerOwnerStopped(agoMillis: Int64, left: Int64) {
        let h = Self.alive()
        h.update(1, priority: 10)
        h.deliver()
        h.advance(2_000)
        h.releasedWallMillis = h.now.wallMillis + 5_000 - agoMillis
        h.crash(afterMillis: 5_000)
        h.update(2, priority: 10)
        h.advance(left - 1)
        #expect(h.take() == nil)
        h.advance(1)
        #expect(h.deliver()?.n == 2)
    }

    @Test func contentCameThroughByteForByte() {
        let h = Self.alive()
        let content = #"{"b" : 1.50e+2,"a":"\u00e9\/",  "n":[ ]}"#
        h.consume(key: "a", value: #"{"event":"update","priority":10,"content-state":\#(content)}"#)
        h.advance(2_000)
        h.crash()
        h.advance(2_000)
        var request = PushRequest()
        let isFilled = h.engine.nextPush(route: 0, into: &request, now: h.now)
        #expect(isFilled)
        #expect(String(decoding: request.body, as: UTF8.self).contains(content))
    }

    @Test func aStartThatWasNeverSentComesBackWhole() {
        let h = EngineHarness()
        h.start(1, environment: "development", attributes: #"{"size":9}"#, more: #""input-push-token":1"#)
        h.update(2)
        h.end(3)
        h.advance(2_000)
        h.crash()
        h.advance(2_000)
        let push = h.deliver(route: 1)
        #expect(push?.event == "start")
        #expect(push?.n == 2)
        #expect(push?.token == EngineHarness.startToken)
        #expect((push?.aps["attributes"] as? [String: Any])?["size"] as? Int == 9)
        #expect(push?.aps["input-push-token"] as? Int == 1)
        #expect(push?.alert == "start")
        h.register(environment: "development")
        h.advance(2_000)
        #expect(h.deliver(route: 1)?.event == "end")
    }

    @Test func bothOfTwoPushesComeBack() {
        let h = Self.alive()
        h.update(1, at: 1, alert: String(repeating: "A", count: 1_000))
        h.update(2, at: 2, padding: 3_500)
        h.advance(2_000)
        h.crash()
        #expect(h.counters.restored == 2)
        h.advance(2_000)
        #expect(h.deliver()?.n == 1)
        h.advance(2_000)
        #expect(h.deliver()?.n == 2)
    }

    @Test func theNewestAcceptedEventComesBack() {
        let h = Self.alive()
        h.update(1, at: 50, priority: 10)
        h.deliver()
        h.advance(200)
        h.crash()
        #expect(h.outcomes(of: h.update(2, at: 49)) == ["superseded"])
    }

    @Test(arguments: ["ending", "ended", "started", "starting"])
    func theLifeComesBack(life: String) {
        let h = EngineHarness()
        if life.hasPrefix("end") { h.register() } else { h.start(1) }
        if life.hasPrefix("end") { h.end() }
        if life == "ended" || life == "started" { h.deliver() }
        h.advance(2_000)
        h.crash()
        switch life {
        case "ending", "ended": #expect(h.outcomes(of: h.update(9)) == ["late"])
        default: #expect(h.outcomes(of: h.start(9)) == ["duplicate"])
        }
    }

    @Test func theLifeEndsWhenItWouldHave() {
        let h = Self.alive()
        h.update(1, priority: 10)
        h.deliver()
        h.advance(200)
        h.crash(afterMillis: 11 * 3_600_000)
        #expect(h.counters.slots == 1)
        h.advance(3_600_000)
        #expect(h.counters.slots == 0)
        #expect(h.stateLog.last { $0.keyText != "m" }?.isNull == true)
    }

    @Test func whatOutlivedItsOwnerLeavesAtOnce() {
        let h = Self.alive()
        h.update(1, priority: 10)
        h.deliver()
        h.advance(200)
        h.crash(afterMillis: 100 * 3_600_000)
        h.advance(1_000)
        #expect(h.counters.slots == 0)
    }

    @Test func aWallClockThatSteppedBackMakesNoLifeLonger() {
        let h = Self.alive()
        h.advance(200)
        h.stepWallClock(-86_400_000)
        h.crash()
        h.advance(12 * 3_600_000 + 1_000)
        #expect(h.counters.slots == 0)
    }

    // MARK: Replays

    @Test func replaysSkipWhatStateKnows() {
        let h = Self.alive()
        let update = h.update(1, priority: 10)
        h.deliver()
        h.advance(200)
        h.crash(replays: false)
        // The commit was lost with the process, so everything is read again.
        let records = h.consumed[0]!
        for (record, key, value) in records {
            h.engine.consume(record, key: key.span, value: value.span, traceparent: [UInt8]().span, now: h.now)
            h.step()
        }
        #expect(h.outcomes(of: update) == ["delivered", "duplicate"])
        #expect(h.take() == nil)
        h.advance(1_000)
        #expect(h.take() == nil)
    }

    @Test func whatStateDoesNotKnowIsTakenAgain() {
        let h = Self.alive()
        h.advance(1_000)
        h.acknowledgesAtOnce = false
        let first = h.update(1, priority: 10)
        h.deliver()
        let second = h.update(2)
        h.crash()
        h.advance(2_000)
        #expect(h.deliver()?.n == 2)
        #expect(h.outcomes(of: first) == ["delivered", "superseded"])
        #expect(h.outcomes(of: second) == ["delivered"])
    }

    @Test func aReplayOfForwardedRecordsIsKnownByItsOrigin() {
        let h = Self.alive()
        let value = EngineHarness.content("update", 1, at: nil, priority: 10, alert: nil, padding: 0, more: [])
        let origin = SourcePosition(topic: 0, partition: 5, offset: 3)
        h.consume(key: "a", value: value, topic: 1, origin: origin)
        h.deliver()
        h.advance(200)
        h.crash()
        // The forwarder crashed and forwarded the record again, with another offset and the same origin.
        h.consume(key: "a", value: value, topic: 1, origin: origin)
        #expect(h.outcomes.suffix(1).map(\.outcome) == ["duplicate"])
        h.advance(2_000)
        #expect(h.take() == nil)
    }

    // MARK: Which record counts

    @Test func theLastRecordOfAKeyCounts() {
        let h = Self.alive()
        for n in 0..<5 {
            h.update(n, priority: 10)
            h.advance(1_500)
        }
        #expect(h.stateLog.count > 4)
        h.crash()
        #expect(h.counters.restored == 1)
        h.advance(2_000)
        #expect(h.deliver()?.n == 4)
    }

    @Test func aTombstoneForgets() {
        let h = Self.alive()
        h.update(1, priority: 10)
        h.advance(2_000)
        h.deliver()
        h.advance(13 * 3_600_000)
        #expect(h.stateLog.last { $0.keyText != "m" }?.isNull == true)
        h.crash()
        #expect(h.counters.slots == 0)
        #expect(h.counters.restored == 0)
    }

    /// A worker that had lost the partition wrote a record behind its successor's marker. A restore ignores that
    /// record.
    @Test func recordsOfAnOlderEpochBehindANewerMarkerAreIgnored() {
        let h = Self.alive()
        h.update(1, priority: 10)
        h.advance(2_000)
        let foreign = h.stateLog.last!
        h.crash()  // a newer marker
        h.update(2, priority: 10)
        h.advance(2_000)
        h.writeState(foreign)
        h.crash()
        #expect(h.restoreResults.suffix(2).first == .ignored)
        h.advance(2_000)
        #expect(h.deliver()?.n == 2)
    }

    @Test func restoringTakesOnlyWhatItKnows() {
        var engine = RestoredEngine.make()
        let now = EngineTime(steadyMillis: 0, wallMillis: 1_700_000_000_000)
        let key = Array("a/com.example.pizza/x".utf8)
        func restore(_ key: String, _ value: [UInt8]) -> RestoreResult {
            let key = Array(key.utf8)
            return engine.restore(
                partition: 0, key: key.span, value: value.span, isTombstone: false, offset: 1, now: now)
        }
        #expect(restore("a/com.example.pizza/x", [1, 1]) == .ignored, "the marker is not acknowledged")
        engine.partitionAssigned(0, now: now)
        engine.acknowledged(engine.batch.records[0].acknowledgement, offset: 9, now: now)
        var told: [PartitionAction] = []
        engine.takeActions(into: &told, now: now)
        #expect(told == [.restore(partition: 0, markerOffset: 9)])
        #expect(restore("a/com.example.pizza/x", [7, 1]) == .unknownVersion(7))
        #expect(restore("a/com.example.pizza/x", []) == .malformed("the record is cut short"))
        #expect(restore("a/com.example.pizza/x", [1, 11]) == .malformed("a record of kind 11"))
        #expect(restore("a/com.example.pizza/x", [1, 3]) == .malformed("a channel under an activity's key"))
        #expect(restore("c/com.example.pizza/x", [1, 1]) == .malformed("an activity under a channel's key"))
        #expect(restore("a/com.example.gone/x", [1, 1]) == .ignored)
        #expect(restore("a/com.example.pizza/", [1, 1]) == .ignored)
        #expect(restore("a/com.example.pizza/" + String(repeating: "x", count: 70_000), [1, 1]) == .ignored)
        #expect(restore("zzz", [1, 1]) == .ignored)
        let empty: [UInt8] = []
        let forgotten = engine.restore(
            partition: 0, key: key.span, value: empty.span, isTombstone: true, offset: 2, now: now)
        #expect(forgotten == .ignored)
        let activities = engine.counters.slots
        #expect(activities == 0)
    }
}
