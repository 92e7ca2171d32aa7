import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests a start that goes round: it is announced before it leaves, and goes once to each member.
@Suite struct StartRoundTests {
    private static func tokens(_ members: ClosedRange<Int>) -> Set<String> {
        Set(members.map { EngineHarness.memberToken($0) })
    }

    @Test func everyMemberGetsItOnce() {
        let h = EngineHarness.starts()
        for member in 1...600 { h.joinStart(member) }
        h.audienceStart(1)
        let pushes = h.deliverAll(withinMillis: 5_000)
        #expect(pushes.count == 600 && Set(pushes.map(\.token)) == Self.tokens(1...600))
        #expect(Set(pushes.map(\.body)).count == 1)
        let starts = h.counters.startMembers
        #expect(starts.due == 600 && starts.accepted == 600 && starts.waiting == 0)
        #expect(h.counters.pushesHighPriority == 600)
        #expect(h.deliverAll(withinMillis: 60_000).isEmpty)
    }

    @Test func nothingLeavesBeforeStateSaysSo() throws {
        let h = EngineHarness.starts()
        for member in 1...5 { h.joinStart(member) }
        h.acknowledgesAtOnce = false
        h.audienceStart(1)
        let isProgress: (WrittenRecord) -> Bool = { $0.keyText.hasPrefix("r/") }
        // Kafka has everything except the record that announces the members.
        for _ in 0..<20 where !h.outstanding.contains(where: isProgress) {
            h.acknowledgeAll { !isProgress($0) }
            h.carryBus()
            h.advance(200)
        }
        try #require(h.outstanding.contains(where: isProgress))
        #expect(h.take() == nil)
        h.advance(5_000)
        #expect(h.take() == nil)
        h.acknowledgesAtOnce = true
        h.acknowledgeAll()
        #expect(h.deliverAll(withinMillis: 3_000).count == 5)
    }

    /// The owner dies after different numbers of pushes. Nobody gets two cards, and members that were not announced
    /// get one.
    @Test func aNewOwnerSendsNoSecondCard() {
        for served in [0, 1, 5, 100, 255, 256, 257, 400, 599, 600] {
            let h = EngineHarness.starts()
            for member in 1...600 { h.joinStart(member) }
            h.audienceStart(1)
            var first: [String] = []
            while first.count < served, let push = h.take() {
                if first.count % 3 != 2 { h.answer(push, .accepted) }
                first.append(push.token)
            }
            #expect(first.count == served)
            h.crash(afterMillis: 2_000)
            h.carryBus()
            let rest = h.deliverAll(withinMillis: 5_000).map(\.token)
            #expect(Set(rest).isDisjoint(with: first), "died after \(served)")
            #expect(Set(rest).count == rest.count)
            let unknown = Int(h.counters.startMembers.unknown)
            #expect(rest.count + first.count + unknown >= 600)
            #expect(rest.count >= 600 - served - 1_024, "what was announced and had not left")
        }
    }

    /// The partition is released in good order. Members that were announced and not sent the start get it from the next
    /// owner.
    @Test func aReleaseTakesTheAnnouncementBack() {
        let h = EngineHarness.starts()
        for member in 1...100 { h.joinStart(member) }
        h.audienceStart(1)
        let first = (1...30).compactMap { _ in h.deliver()?.token }
        h.engine.beginRelease(partition: h.partition, now: h.now)
        h.engine.finishRelease(partition: h.partition, now: h.now)
        h.advance(0)
        h.crash()
        h.carryBus()
        let rest = h.deliverAll(withinMillis: 5_000).map(\.token)
        #expect(rest.count == 70 && Set(rest).isDisjoint(with: first))
    }

    @Test func whereTheAppWantsItSentAgainItIs() {
        let h = EngineHarness.starts { $0.apps[0].startOnUnknown = .resend }
        for member in 1...50 { h.joinStart(member) }
        h.audienceStart(1)
        let unanswered = (1...10).compactMap { _ in h.take()?.token }
        h.advance(1_500)
        h.crash()
        h.carryBus()
        let rest = h.deliverAll(withinMillis: 5_000).map(\.token)
        #expect(Set(rest).count == 50 && Set(unanswered).isSubset(of: rest))
    }

    // MARK: Supersession
    @Test func itStaysAStartWithTheNewestContent() {
        let h = EngineHarness.starts()
        for member in 1...10 { h.joinStart(member) }
        h.audienceStart(1)
        let first = (1...4).compactMap { _ in h.deliver() }
        h.advance(1_000)
        h.audienceUpdate(2)
        h.advance(1_000)
        h.audienceUpdate(3, alert: "goal")
        let rest = h.deliverAll(withinMillis: 3_000)
        #expect(rest.count == 6 && Set((first + rest).map(\.token)).count == 10)
        #expect(rest.allSatisfy { $0.event == "start" && $0.n == 3 && $0.alert == "goal" })
        #expect(rest.allSatisfy { $0.stamp > first[0].stamp && $0.aps["attributes-type"] as? String == "Match" })
        #expect(Set(rest.map(\.body)).count == 1)
    }

    @Test func contentThatDoesNotFitBesideTheAttributesWaitsForTheCard() {
        let h = EngineHarness.starts()
        for member in 1...4 { h.joinStart(member) }
        h.audienceStart(1)
        h.deliver()
        h.advance(1_000)
        h.audienceUpdate(2, padding: 3_950)
        let rest = h.deliverAll(withinMillis: 3_000)
        #expect(rest.count == 3 && rest.allSatisfy { $0.event == "start" && $0.n == 1 && $0.alert == "kick-off" })
    }

    @Test func anEndCancelsIt() {
        let h = EngineHarness.starts()
        for member in 1...10 { h.joinStart(member) }
        h.audienceStart(1)
        for _ in 1...4 { h.deliver() }
        h.advance(1_000)
        h.audienceEnd(2)
        #expect(h.deliverAll(withinMillis: 5_000).isEmpty)
        #expect(h.counters.startMembers.superseded == 6 && h.counters.startMembers.waiting == 0)
    }

    @Test func itIsNotSentAfterItHasExpired() {
        let h = EngineHarness.starts()
        for member in 1...10 { h.joinStart(member) }
        h.audienceStart(1)
        for _ in 1...4 { h.deliver() }
        h.advance(901_000)
        #expect(h.deliverAll(withinMillis: 5_000).isEmpty)
        #expect(h.counters.startMembers.expired == 6)
        h.joinStart(11)
        #expect(h.deliverAll(withinMillis: 5_000).isEmpty)
    }

    /// The audience's next version carries a start that is over in this partition, because the owner's clock is behind
    /// or was set back. The start does not begin again.
    @Test(arguments: [false, true]) func whatHasEndedHereDoesNotBeginAgain(crashes: Bool) {
        let h = EngineHarness.starts()
        for member in 1...10 { h.joinStart(member) }
        h.audienceStart(1)
        #expect(h.deliverAll(withinMillis: 2_000).count == 10)
        h.advance(899_000)
        #expect(h.deliverAll(withinMillis: 3_000).isEmpty)
        h.stepWallClock(-60_000)
        if crashes {
            h.crash()
            h.carryBus()
        }
        h.audienceUpdate(2)
        #expect(h.deliverAll(withinMillis: 3_000).isEmpty)
        h.joinStart(11)
        #expect(h.deliverAll(withinMillis: 3_000).isEmpty)
        #expect(h.counters.startMembers.accepted == (crashes ? 0 : 10))
    }

    @Test func aSecondStartOfTheSameLifeIsADuplicate() {
        let h = EngineHarness.starts()
        h.joinStart(1)
        h.audienceStart(1)
        #expect(h.deliverAll(withinMillis: 2_000).count == 1)
        let second = h.audienceStart(2)
        #expect(h.outcomes(of: second) == ["duplicate"])
        #expect(h.deliverAll(withinMillis: 2_000).isEmpty)
    }

    @Test func afterAnEndAStartBeginsANewLife() {
        let h = EngineHarness.starts()
        for member in 1...5 { h.joinStart(member) }
        h.join(6)
        h.audienceStart(1)
        _ = h.deliverAll(withinMillis: 2_000)
        h.audienceEnd(2)
        #expect(h.deliverAll(withinMillis: 2_000).map(\.event) == ["end"])
        h.audienceStart(3)
        let pushes = h.deliverAll(withinMillis: 3_000)
        #expect(pushes.count { $0.event == "start" } == 5)
        #expect(pushes.filter { $0.event == "start" }.allSatisfy { $0.n == 3 })
    }

    // MARK: Failures
    @Test func whoIsRefusedForNowIsTriedAgain() {
        let h = EngineHarness.starts()
        for member in 1...3 { h.joinStart(member) }
        h.audienceStart(1)
        let push = h.take()!
        h.answer(push, .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
        let throttled = h.take()!
        h.answer(throttled, .response(PushResponse(status: 429, reason: "TooManyRequests")))
        let rest = h.deliverAll(withinMillis: 20_000)
        #expect(rest.count == 3 && Set(rest.map(\.token)).count == 3)
        #expect(h.counters.startMembers.accepted == 3 && h.counters.startMembers.repeated == 2)
    }

    /// Members are refused, which is written down, and the owner dies. The next owner tries them again.
    @Test func aNewOwnerTriesThoseAgainThatWereRefused() {
        let h = EngineHarness.starts()
        for member in 1...5 { h.joinStart(member) }
        h.audienceStart(1)
        let refused = (1...2).compactMap { _ in h.take() }
        for push in refused {
            h.answer(push, .response(PushResponse(status: 429, reason: "TooManyRequests", retryAfterSeconds: 30)))
        }
        _ = h.deliverAll()
        h.advance(2_500)
        h.crash()
        h.carryBus()
        let rest = h.deliverAll(withinMillis: 5_000).map(\.token)
        #expect(rest.sorted() == refused.map(\.token).sorted())
        #expect(h.counters.startMembers.unknown == 0)
    }

    @Test func anUnknownAnswerIsNotTriedAgain() {
        let h = EngineHarness.starts()
        for member in 1...3 { h.joinStart(member) }
        h.audienceStart(1)
        let push = h.take()!
        h.answer(push, .unknown(detail: "connection lost"))
        #expect(h.deliverAll(withinMillis: 30_000).count == 2)
        #expect(h.counters.startMembers.unknown == 1)
        #expect(h.outcomes.contains { $0.outcome == "unknown" && $0.fields["audience"] as? String == "match" })
    }

    /// APNs says that the token died before its member joined. The member is tried again, and leaves when APNs has said
    /// so several times.
    @Test(arguments: [(7, true), (8, false)]) func aDeathFromBeforeJoiningIsIgnoredAWhile(answers: Int, stays: Bool) {
        let h = EngineHarness.starts()
        h.joinStart(1)
        h.audienceStart(1)
        let long = h.now.wallMillis - 86_400_000
        for _ in 0..<answers {
            for _ in 0..<100 {
                if let push = h.take() {
                    h.answer(
                        push, .response(PushResponse(status: 410, reason: "Unregistered", timestampMillis: long)))
                    break
                }
                h.advance(500)
            }
        }
        #expect(h.deliverAll(withinMillis: 5_000).count == (stays ? 1 : 0))
        #expect(h.counters.membersHeld == (stays ? 1 : 0) && h.counters.startMembers.gone == (stays ? 0 : 1))
    }

    @Test func aDeadTokenLeavesAllItsAudiences() {
        let h = EngineHarness.starts()
        h.joinStart(1)
        h.joinStart(1, of: "other")
        h.joinStart(2)
        h.audienceStart(1)
        while let push = h.take() {
            guard push.token == EngineHarness.memberToken(1) else {
                h.answer(push, .accepted)
                continue
            }
            h.answer(
                push, .response(PushResponse(status: 410, reason: "Unregistered", timestampMillis: h.now.wallMillis)))
        }
        #expect(h.counters.membersHeld == 1 && h.counters.startMembers.gone == 1)
        h.audienceStart(1, of: "other")
        #expect(h.deliverAll(withinMillis: 2_000).isEmpty)
    }
}
