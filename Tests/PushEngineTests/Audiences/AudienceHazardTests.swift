import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests audiences when records arrive twice, with a delay, or not at all. The simulation found each of these cases.
@Suite struct AudienceHazardTests {
    /// A join and a leave are forwarded twice, because a forwarding worker died before it could commit them. The second
    /// copies do not bring the member back.
    @Test func aJoinThatIsForwardedTwiceBringsNobodyBack() {
        let h = AudienceTests.harness()
        let token = EngineHarness.memberToken(1)
        let join = #"{"event":"register","audience":"match"}"#
        func forward(_ value: String, _ offset: Int64) {
            h.consume(
                key: token, value: value, topic: 1, origin: SourcePosition(topic: 0, partition: 5, offset: offset))
        }
        forward(join, 3)
        forward(#"{"event":"unregister"}"#, 4)
        #expect(h.counters.membersHeld == 0)
        forward(join, 3)
        #expect(h.counters.membersHeld == 0)
        #expect(h.outcomes.last?.outcome == "duplicate")
        forward(#"{"event":"unregister"}"#, 4)
        forward(join, 5)
        #expect(h.counters.membersHeld == 1)
        #expect(h.isCommitted(topic: 1))
    }

    /// Consumes a member's record that was forwarded.
    private static func forward(
        _ h: EngineHarness, _ value: String, _ offset: Int64, at recordMillis: Int64, from partition: Int32 = 5
    ) {
        h.consume(
            key: EngineHarness.memberToken(1), value: value, topic: 1, recordMillis: recordMillis,
            origin: SourcePosition(topic: 0, partition: partition, offset: offset))
        h.carryBus()
    }
    private static func join(_ audience: String) -> String { #"{"event":"register","audience":"\#(audience)"}"# }

    /// A member has moved to another audience when Kafka stores a second copy of the member's former join. The
    /// partition has a new owner by then. The member is not moved back.
    @Test(arguments: [false, true]) func aJoinThatIsForwardedLateMovesNobodyBack(isTwice: Bool) {
        let h = AudienceTests.harness()
        let millis = h.now.wallMillis
        Self.forward(h, Self.join("match"), 3, at: millis)
        Self.forward(h, Self.join("other"), 4, at: millis)
        for _ in 0...(isTwice ? 1 : 0) { h.crash(replays: false) }
        h.carryBus()
        Self.forward(h, Self.join("match"), 3, at: millis)
        #expect(h.outcomes.last?.outcome == "applied", "whoever took it may have died before it said so")
        h.advance(2_000)
        h.audienceUpdate(1, of: "match")
        h.audienceUpdate(2, of: "other")
        h.advance(2_000)
        #expect(h.deliverAll().map(\.n) == [2])
        // A record that is newer than the takeover is not a replay, even if its offset is low. Its topic may have been
        // created anew.
        Self.forward(h, Self.join("match"), 0, at: h.now.wallMillis)
        h.advance(2_000)
        #expect(h.deliverAll().map(\.n) == [1])
    }

    /// A member has left, and the partition has a new owner, when a second copy of the member's join arrives. The copy
    /// does not bring the member back.
    @Test func aJoinThatIsForwardedLateBringsNobodyBack() {
        let h = AudienceTests.harness()
        let millis = h.now.wallMillis
        Self.forward(h, Self.join("match"), 3, at: millis)
        Self.forward(h, #"{"event":"unregister"}"#, 4, at: millis)
        h.crash(replays: false)
        h.carryBus()
        Self.forward(h, Self.join("match"), 3, at: millis)
        #expect(h.counters.membersHeld == 0)
        #expect(h.outcomes.last?.outcome == "applied", "whoever took it may have died before it said so")
    }

    /// Partitions are added, so a member's records come from another partition than before. Then the member leaves. A
    /// delayed join from the former partition does not bring the member back.
    @Test(arguments: [0, 1, 2]) func aJoinFromThePartitionBeforeBringsNobodyBack(takeovers: Int) {
        let h = AudienceTests.harness()
        let millis = h.now.wallMillis
        Self.forward(h, Self.join("match"), 30, at: millis)
        Self.forward(h, Self.join("match"), 3, at: millis, from: 9)
        Self.forward(h, #"{"event":"unregister"}"#, 4, at: millis, from: 9)
        for _ in 0..<takeovers { h.crash(replays: false) }
        h.carryBus()
        Self.forward(h, Self.join("match"), 30, at: millis)
        #expect(h.counters.membersHeld == 0)
        #expect(h.outcomes.last?.outcome == (takeovers == 0 ? "duplicate" : "applied"))
        Self.forward(h, Self.join("match"), 31, at: millis)
        #expect(h.counters.membersHeld == 1)
    }

    /// A member goes to another audience and comes back at once. The minimum distance to its last push is kept,
    /// although the other audience sends nothing.
    @Test func whoGoesAndComesBackAtOnceKeepsItsDistance() {
        let h = AudienceTests.harness()
        h.join(1)
        h.audienceUpdate(7)
        #expect(h.deliverAll().count == 1)
        h.join(1, of: "other")
        h.join(1)
        #expect(h.deliverAll().isEmpty)
        h.advance(1_000)
        #expect(h.deliverAll().map(\.n) == [7])
    }

    /// An audience's end expires unsent, so partitions never see it. The audience is forgotten all the same.
    @Test func anAudienceWhoseEndHasExpiredIsForgottenAsWell() {
        let h = AudienceTests.harness()
        h.join(1)
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(1_000)
        let seconds = h.now.wallMillis / 1_000
        h.consume(
            key: "match",
            value:
                #"{"event":"end","expires":\#(seconds + 5),"to":{"audience":"match"},"content-state":{"n":2}}"#)
        h.carryBus()
        for _ in 0..<100 {
            h.advance(60_000)
            h.carryBus()
        }
        #expect(h.counters.membersHeld == 0 && h.counters.slots == 0)
    }

    /// Kafka has a crowd's progress record, but not the record of the version that the progress is about. The owner
    /// sends the version again, and the partition takes it.
    @Test func progressAloneDoesNotMakeAVersionKnown() {
        let h = AudienceTests.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1, alert: "goal")
        #expect(h.deliverAll().count == 3)
        h.advance(2_000)
        h.acknowledgesAtOnce = false
        h.audienceUpdate(2, alert: "penalty")
        for _ in 0..<6 {
            h.acknowledgeAll { !$0.keyText.hasPrefix("v/") }
            h.carryBus()
        }
        h.crash()
        h.carryBus()
        h.advance(3_000)
        let pushes = h.deliverAll()
        #expect(pushes.count == 3 && pushes.allSatisfy { $0.n == 2 && $0.alert == "penalty" })
    }

    /// An owner dies before it has written the audience's tombstone, so its successor sends the void again. Members
    /// that joined between the two voids stay.
    @Test func aVoidThatIsToldTwiceTakesNobodyOfTheNextLife() throws {
        let h = AudienceTests.harness()
        h.join(1)
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(1_000)
        h.audienceEnd(2)
        h.advance(1_000)
        h.deliverAll()
        for _ in 0..<100 where h.counters.membersHeld > 0 {
            h.advance(60_000)
            h.carryBus()
        }
        h.advance(60_000)
        let void = try #require(h.written.last { $0.headers[RecordHeader.kind.text] == "void" })
        h.join(2)
        h.consume(keyBytes: void.key, valueBytes: void.value, topic: 1, kind: .void)
        h.carryBus()
        for _ in 0..<10 {
            h.advance(1_000)
            h.carryBus()
        }
        #expect(h.counters.membersHeld == 1)
        h.audienceUpdate(3)
        h.advance(1_000)
        #expect(h.deliverAll().map(\.n) == [3])
    }

    /// An alert is pushed alone, with its own version, and fails for three of four members. The alert is sent to these
    /// three again while the newest version goes round, and no member is left waiting.
    @Test func anAlertThatGoesAloneAndFailsIsCountedOnce() {
        let h = AudienceTests.harness()
        for member in 1...4 { h.join(member) }
        h.audienceUpdate(1, alert: "goal", padding: 1_900)
        h.advance(1_000)
        h.audienceUpdate(2, padding: 3_980)
        h.advance(1_000)
        let alone = (1...4).compactMap { _ in h.take() }
        #expect(alone.count == 4 && alone.allSatisfy { $0.n == 1 && $0.alert == "goal" })
        for push in alone.prefix(2) { h.answer(push, .notProcessed) }
        h.answer(alone[2], .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
        h.answer(alone[3], .accepted)
        var pushes: [Push] = []
        for _ in 0..<30 {
            h.advance(1_000)
            pushes += h.deliverAll()
        }
        #expect(pushes.filter { $0.n == 1 }.count == 3 && pushes.filter { $0.n == 1 }.allSatisfy { $0.alert == "goal" })
        #expect(pushes.filter { $0.n == 2 }.count == 4 && pushes.filter { $0.n == 2 }.allSatisfy { $0.alert == nil })
        #expect(h.counters.members.waiting == 0)
    }

    /// A version that fits beside an alert expires. The older version does not fit beside the alert, so the alert is
    /// pushed alone again.
    @Test func anAlertGoesAloneAgainWhenTheVersionBesideWhichItFitsExpires() {
        let h = AudienceTests.harness()
        for member in 1...6 { h.join(member) }
        h.audienceUpdate(1, alert: "goal", padding: 1_900)
        h.advance(1_000)
        h.audienceUpdate(2, padding: 3_980)
        h.advance(1_000)
        h.deliver()
        let seconds = h.now.wallMillis / 1_000
        h.audienceUpdate(3, more: #""expires":\#(seconds + 4)"#)
        h.advance(1_000)
        #expect(h.deliver()?.n == 3)
        h.advance(6_000)
        var pushes: [Push] = []
        for _ in 0..<4 {
            pushes += h.deliverAll()
            h.advance(2_000)
        }
        #expect(pushes.allSatisfy { $0.byteCount <= 4_096 })
        #expect(Set(pushes.filter { $0.n == 2 }.map(\.token)).count == 6)
        #expect(pushes.filter { $0.alert != nil }.count == 4 && pushes.allSatisfy { ($0.alert == nil) == ($0.n == 2) })
    }

    /// A version with a newer alert replaces versions with an older alert, and expires before any member has got it.
    /// The newest version that is left then brings the older alert, unless that alert was withdrawn.
    @Test(arguments: [false, true], [false, true])
    func anAlertOutlivesTheVersionThatReplacedIt(isWithdrawn: Bool, isTakenOver: Bool) throws {
        let h = AudienceTests.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1)
        let old = [h.take(), h.take(), h.take()].compactMap { $0 }
        #expect(old.count == 3)
        h.advance(2_000)
        h.audienceUpdate(2, alert: "goal")
        h.advance(2_000)
        if isWithdrawn { h.audienceUpdate(3, more: #""alert":null"#) }
        h.advance(2_000)
        h.audienceUpdate(4, alert: "penalty", more: #""expires":\#(h.wallSeconds + 4)"#)
        h.advance(2_000)
        #expect(h.take() == nil)
        if isTakenOver { h.crash() }
        h.advance(6_000)
        if !isTakenOver { for push in old { h.answer(push, .accepted) } }
        var pushes: [Push] = []
        for _ in 0..<10 {
            h.advance(1_000)
            pushes += h.deliverAll()
        }
        #expect(pushes.map(\.n) == Array(repeating: isWithdrawn ? 3 : 2, count: 3))
        #expect(pushes.allSatisfy { $0.alert == (isWithdrawn ? nil : "goal") })
    }

    /// The newest alert expires while its pushes fail. A member then gets the older alert only if its push of the older
    /// alert failed, before or after the newest alert came.
    @Test(arguments: [false, true]) func anAlertThatHasComeDoesNotReturn(isOnItsWay: Bool) throws {
        let h = AudienceTests.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(2_000)
        h.audienceUpdate(2, alert: "goal")
        let failed = try #require(h.take())
        if !isOnItsWay { Self.fail(failed, h) }
        #expect(Set(h.deliverAll().map(\.token)).subtracting([failed.token]).count == 2)
        if !isOnItsWay { Self.failAll(h) }
        h.advance(2_000)
        h.audienceUpdate(3, alert: "penalty", more: #""expires":\#(h.wallSeconds + 20)"#)
        if isOnItsWay { Self.fail(failed, h) }
        // Fails all pushes that leave before the newest alert expires. The first push with that alert fails only after
        // the expiry.
        var late: Push?
        for _ in 0..<19 {
            while let push = h.take() {
                if late == nil, push.n == 3 { late = push } else { Self.fail(push, h) }
            }
            h.advance(1_000)
        }
        h.advance(3_000)
        if let late { Self.fail(late, h) }
        var pushes: [Push] = []
        for _ in 0..<900 {
            h.advance(1_000)
            pushes += h.deliverAll()
        }
        #expect(pushes.allSatisfy { $0.n == 2 && ($0.token == failed.token) == ($0.alert == "goal") })
        #expect(Set(pushes.map(\.token)).count == 3 && pushes.count == 3)
        #expect(h.counters.members.isConserved)
    }
    /// A version withdraws older alerts and has a newer alert of its own. When that version expires, the version
    /// beneath it brings the newer alert.
    @Test(arguments: [false, true]) func aWithdrawalSparesTheAlertThatCameAfterIt(isTakenOver: Bool) throws {
        let h = AudienceTests.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1)
        let old = [h.take(), h.take(), h.take()].compactMap { $0 }
        #expect(old.count == 3)
        h.advance(2_000)
        func consume(_ n: Int, _ more: String...) {
            h.consume(
                key: "match",
                value: EngineHarness.content(
                    "update", n, at: nil, priority: 10, alert: nil, padding: 0,
                    more: [#""to":{"audience":"match"}"#] + more))
        }
        // The three events wait together. They become a version with the newest content. Event 3 is kept beneath it.
        consume(2, #""alert":null"#)
        consume(3, #""alert":{"title":"goal","body":"b"}"#)
        consume(4, #""expires":\#(h.wallSeconds + 10)"#)
        h.carryBus()
        h.advance(2_000)
        #expect(h.take() == nil)
        if isTakenOver { h.crash() }
        h.advance(12_000)
        if !isTakenOver { for push in old { h.answer(push, .accepted) } }
        var pushes: [Push] = []
        for _ in 0..<10 {
            h.advance(1_000)
            pushes += h.deliverAll()
        }
        #expect(pushes.count == 3 && pushes.allSatisfy { $0.n == 3 && $0.alert == "goal" })
    }
    private static func fail(_ push: Push, _ h: EngineHarness) {
        h.answer(push, .response(PushResponse(status: 429, reason: "TooManyRequests")))
    }
    private static func failAll(_ h: EngineHarness) { while let push = h.take() { Self.fail(push, h) } }

    /// Each version expires before the versions beneath it, and there are more versions than are kept. Owner and
    /// partition keep the version that expires last.
    @Test(arguments: [false, true]) func whatLivesLongestIsShownInTheEnd(isKnown: Bool) {
        let h = AudienceTests.harness()
        if isKnown { h.join(2) }
        h.audienceUpdate(1)
        for n in 2...6 {
            h.advance(2_000)
            h.deliverAll()
            h.audienceUpdate(n, more: #""expires":\#(h.wallSeconds + 60 - 5 * Int64(n))"#)
        }
        h.advance(2_000)
        #expect(h.deliverAll().map(\.n) == (isKnown ? [6] : []))
        h.advance(60_000)
        h.join(1)
        let late = h.deliverAll()
        #expect(late.map(\.n) == [1] && late.first?.token == EngineHarness.memberToken(1))
    }

    /// An alert does not fit beside the newest content, so members are first sent the alert with its own content. One
    /// member's older push has no answer yet. When APNs answers it, the member must still get the alert.
    @Test func anOldAnswerLeavesTheAlertThatGoesAloneOwed() throws {
        let h = AudienceTests.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1)
        let old = try #require(h.take())
        h.deliverAll()
        h.advance(2_000)
        h.audienceUpdate(2, alert: "goal", padding: 1_900)
        h.advance(1_000)
        h.audienceUpdate(3, padding: 3_980)
        h.advance(1_000)
        var pushes = [h.take(), h.take()].compactMap { $0 }
        #expect(pushes.count == 2 && pushes.allSatisfy { $0.n == 2 })
        #expect(h.take() == nil)
        h.answer(old, .notProcessed)
        for push in pushes { h.answer(push, .accepted) }
        for _ in 0..<10 {
            h.advance(1_000)
            pushes += h.deliverAll()
        }
        #expect(pushes.filter { $0.n == 2 }.count == 3 && pushes.filter { $0.n == 3 }.count == 3)
        #expect(pushes.last { $0.token == old.token }?.n == 3 && h.counters.members.waiting == 0)
    }
}
