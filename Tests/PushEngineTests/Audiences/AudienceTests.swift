import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests audiences of update tokens: one event for many phones. Owner and members are in one partition here, and
/// still talk over the bus.
@Suite struct AudienceTests {
    static func harness(_ configure: (inout EngineConfiguration) -> Void = { _ in }) -> EngineHarness {
        EngineHarness {
            $0.partitionCount = 1
            configure(&$0)
        }
    }

    // MARK: One event

    @Test func everyMemberGetsTheSame() throws {
        let h = Self.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(7, alert: "goal")
        let pushes = h.deliverAll()
        #expect(Set(pushes.map(\.token)) == Set((1...3).map { EngineHarness.memberToken($0) }))
        #expect(Set(pushes.map(\.body)).count == 1)
        #expect(pushes.allSatisfy { $0.priority == 10 && $0.n == 7 && $0.alert == "goal" && $0.kind == .device })
        #expect(h.outcomes.last { $0.key == "match" }?.outcome == "fanned-out")
        #expect(h.counters.members.due == 3 && h.counters.members.accepted == 3)
    }

    @Test func whoJoinsLateGetsTheNewestQuietly() throws {
        let h = Self.harness()
        h.join(1)
        h.audienceUpdate(7, alert: "goal")
        let first = try #require(h.deliverAll().first)
        h.join(2)
        let late = h.deliverAll()
        #expect(late.map(\.token) == [EngineHarness.memberToken(2)])
        #expect(late.first?.n == 7 && late.first?.alert == nil && late.first?.priority == 5)
        #expect(late.first?.stamp == first.stamp)
    }

    /// The owner may read an event before the question of an earlier join, because they are in different logs. The
    /// join's time decides whether the member gets the alert.
    @Test(arguments: [(0, "goal"), (2_000, nil)] as [(Int64, String?)])
    func whoseQuestionIsOvertakenGetsTheAlert(joinedAfterMillis: Int64, alert: String?) {
        let h = Self.harness()
        let goal = h.now.wallMillis
        h.consume(
            key: EngineHarness.memberToken(1), value: #"{"event":"register","audience":"match"}"#,
            recordMillis: goal + joinedAfterMillis)
        #expect(h.counters.membersHeld == 1)
        // The join's question stays on its way, because the bus is carried only after the version has been made.
        h.advance(3_000)
        h.consume(
            key: "match",
            value: EngineHarness.content(
                "update", 7, at: nil, priority: 10, alert: "goal", padding: 0,
                more: [#""to":{"audience":"match"}"#]),
            recordMillis: goal)
        h.carryBus()
        #expect(h.outcomes.last { $0.key == "match" }?.outcome == "fanned-out")
        let pushes = h.deliverAll()
        #expect(pushes.map(\.n) == [7] && pushes.map(\.alert) == [alert])
    }

    @Test func aJoinThatChangesNothingDoesNothing() {
        let h = Self.harness()
        h.join(1)
        h.audienceUpdate(7)
        h.deliverAll()
        let records = h.counters.stateRecords
        h.join(1)
        #expect(h.counters.stateRecords == records)
        #expect(h.deliverAll().isEmpty)
        #expect(h.isCommitted())
    }

    @Test func whoLeavesGetsNothing() {
        let h = Self.harness()
        h.join(1)
        h.join(2)
        h.leave(1)
        h.audienceUpdate(7)
        #expect(h.deliverAll().map(\.token) == [EngineHarness.memberToken(2)])
        #expect(h.isCommitted() && h.isCommitted(topic: 1))
    }

    @Test func theLatestJoinWins() {
        let h = Self.harness()
        h.join(1, of: "match")
        h.join(1, of: "other")
        h.audienceUpdate(7, of: "match")
        #expect(h.deliverAll().isEmpty)
        h.audienceUpdate(8, of: "other", priority: 10)
        let pushes = h.deliverAll()
        #expect(pushes.map(\.n) == [8])
        #expect(pushes.map(\.priority) == [5], "a member that came from another audience within the hour")
    }

    // MARK: Supersession

    /// Members that have not got the alert get it with the newest content. The other members get only the content.
    @Test func aNewerVersionTakesOverInMidPass() {
        let h = Self.harness()
        for member in 1...10 { h.join(member) }
        h.audienceUpdate(1, alert: "goal")
        let first = (1...4).compactMap { _ in h.deliver() }
        h.advance(1_000)
        h.audienceUpdate(2, priority: 5)
        h.advance(1_000)
        let rest = h.deliverAll()
        #expect(rest.count == 10 && Set(rest.map(\.token)).count == 10)
        #expect(rest.allSatisfy { $0.n == 2 })
        let served = Set(first.map(\.token))
        #expect(rest.allSatisfy { ($0.alert == nil) == served.contains($0.token) })
        #expect(rest.allSatisfy { ($0.priority == 5) == served.contains($0.token) })
        #expect(h.counters.members.superseded == 6)
    }

    /// A newer version takes over the right to priority 10 from the version before. Members that joined after that
    /// version do not have the right, because their phones may have used it with a former token.
    @Test func whoJoinsInMidPassHasNoTenOfTheVersionBefore() {
        let h = Self.harness()
        for member in 1...10 { h.join(member) }
        h.audienceUpdate(1, alert: "goal")
        let served = Set((1...4).compactMap { _ in h.deliver()?.token })
        for member in 11...30 { h.join(member) }
        h.audienceUpdate(2, priority: 5)
        h.advance(2_000)
        let rest = h.deliverAll().filter { $0.n == 2 }
        #expect(rest.count == 30)
        let waited = Set((1...10).map { EngineHarness.memberToken($0) }).subtracting(served)
        #expect(rest.allSatisfy { ($0.priority == 10) == waited.contains($0.token) })
        #expect(rest.allSatisfy { ($0.alert != nil) == waited.contains($0.token) })
        // All members have the right to priority 10 with the next version.
        h.audienceUpdate(3)
        h.advance(2_000)
        #expect(h.deliverAll().filter { $0.n == 3 }.map(\.priority) == Array(repeating: 10, count: 30))
    }

    /// Members with `frequent-updates` have units left, and the other members do not. The next version gives members
    /// with `frequent-updates` priority 10, even if they joined late.
    @Test func aFrequentMemberThatJoinsInMidPassHasTheTenOfTheNextVersion() {
        let h = Self.harness {
            $0.apps[0].budgetAudiencePerHour = 1
            $0.apps[0].budgetAudienceFrequentPerHour = 9
        }
        for member in 1...10 { h.join(member) }
        h.audienceUpdate(1)
        for _ in 1...4 { h.deliver() }
        for member in 11...20 { h.join(member, frequent: true) }
        h.audienceUpdate(2)
        h.advance(2_000)
        let frequent = Set((11...20).map { EngineHarness.memberToken($0) })
        let late = h.deliverAll().filter { $0.n == 2 && frequent.contains($0.token) }
        #expect(late.map(\.priority) == Array(repeating: 10, count: 10))
    }

    @Test func anAlertTakenBackIsNotSentAnyMore() {
        let h = Self.harness()
        for member in 1...4 { h.join(member) }
        h.audienceUpdate(1, alert: "goal")
        h.deliver()
        h.advance(1_000)
        h.audienceUpdate(2, more: #""alert":null"#)
        h.advance(2_000)
        #expect(h.deliverAll().allSatisfy { $0.alert == nil && $0.n == 2 })
    }

    /// Members that have not got the alert first get it with the alert's own version. Then all members get the newest
    /// version.
    @Test func anAlertBesideWhichTheContentDoesNotFitGoesAlone() {
        let h = Self.harness()
        for member in 1...5 { h.join(member) }
        h.audienceUpdate(1, alert: "goal", padding: 1_900)
        h.deliver()
        h.advance(1_000)
        h.audienceUpdate(2, padding: 3_980)
        h.advance(1_000)
        var pushes = h.deliverAll()
        #expect(pushes.prefix(4).allSatisfy { $0.n == 1 && $0.alert == "goal" })
        h.advance(1_000)
        pushes += h.deliverAll()
        #expect(pushes.count == 9)
        #expect(pushes.dropFirst(4).allSatisfy { $0.n == 2 && $0.alert == nil })
    }

    // MARK: Failures

    @Test func whoIsRefusedForNowGetsTheNewestLater() {
        let h = Self.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1, alert: "goal")
        let push = h.take()!
        h.answer(push, .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
        #expect(h.deliverAll().count == 2)
        h.advance(1_000)
        h.audienceUpdate(2)
        h.advance(10_000)
        let pushes = h.deliverAll()
        #expect(pushes.count == 3)
        #expect(pushes.first { $0.token == push.token }?.alert == "goal")
        #expect(pushes.filter { $0.alert != nil }.count == 1)
    }

    /// A connection that shrinks to one stream returns many pushes at once. APNs has not processed them, so they leave
    /// again without the minimum distance.
    @Test(arguments: [
        PushAnswer.Result.notProcessed, .response(PushResponse(status: 400, reason: "IdleTimeout")),
    ]) func whatApnsHasNotLookedAtLeavesAgainAtOnce(answer: PushAnswer.Result) throws {
        let h = Self.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1, alert: "goal")
        let first = try #require(h.take())
        #expect(h.deliverAll().count == 2)
        h.advance(400)
        h.answer(first, answer)
        let again = h.deliverAll()
        #expect(again.map(\.token) == [first.token])
        #expect(again.allSatisfy { $0.n == 1 && $0.alert == "goal" && $0.stamp == first.stamp && $0.priority == 10 })
        // For this member, the minimum distance now counts from the second push.
        h.advance(600)
        h.audienceUpdate(2)
        #expect(h.deliverAll().count == 2)
        h.advance(399)
        #expect(h.deliverAll().isEmpty)
        h.advance(1)
        let last = h.deliverAll()
        #expect(last.map(\.token) == [first.token] && last.map(\.n) == [2])
        #expect(h.counters.members.waiting == 0 && h.counters.members.isConserved)
    }

    @Test func aDeadTokenLeaves() {
        let h = Self.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1)
        h.deliver()
        let push = h.take()!
        h.answer(push, .response(PushResponse(status: 410, reason: "Unregistered", timestampMillis: h.now.wallMillis)))
        h.deliverAll()
        h.advance(1_000)
        h.audienceUpdate(2)
        h.advance(1_000)
        #expect(h.deliverAll().count == 2)
        #expect(h.counters.members.gone == 1 && h.counters.membersHeld == 2)
        let failure = h.outcomes.first { $0.outcome == "rejected" }
        #expect(failure?.fields["audience"] as? String == "match" && failure?.status == 410)
    }

    /// APNs refuses the tokens of all members, because a setting is wrong. The record of each member that is kept says
    /// that its token is doubted, for update members and for start members.
    @Test(arguments: [false, true]) func aMemberThatIsKeptIsTold(isStart: Bool) {
        let h = isStart ? EngineHarness.starts() : Self.harness()
        for member in 1...40 { if isStart { h.joinStart(member) } else { h.join(member) } }
        if isStart { h.audienceStart(1) } else { h.audienceUpdate(1) }
        for _ in 0..<20 {
            while let push = h.take() {
                h.answer(push, .response(PushResponse(status: 400, reason: "BadDeviceToken")))
            }
            h.advance(200)
        }
        let refused = h.outcomes.filter { $0.outcome == "rejected" && $0.fields["token-hash"] != nil }
        let kept = refused.filter { $0.fields["token"] as? String == "doubted" }
        #expect(refused.count == 40 && kept.count > 30)
        #expect(UInt64(kept.count) == h.counters.tokenRemovalsStopped)
        #expect(UInt64(refused.count - kept.count) == h.counters.tokensDead)
        #expect(refused.allSatisfy { $0.fields["token"] == nil || $0.fields["token"] as? String == "doubted" })
    }

    /// For many tokens APNs names a time of death before the join, because dead tokens were registered again or a clock
    /// is ahead. These tokens leave soon, and live tokens do not wait for them.
    @Test func whoIsSaidToHaveDiedBeforeJoiningLeavesSoon() {
        let h = Self.harness()
        for member in 1...2_000 { h.join(member) }
        let living = Set([EngineHarness.memberToken(7), EngineHarness.memberToken(1_999)])
        let long = h.now.wallMillis - 86_400_000
        h.audienceUpdate(1)
        var served: Set<String> = []
        for _ in 0..<60 {
            while let push = h.take() {
                guard !living.contains(push.token) else {
                    served.insert(push.token)
                    h.answer(push, .accepted)
                    continue
                }
                h.answer(push, .response(PushResponse(status: 410, reason: "ExpiredToken", timestampMillis: long)))
            }
            h.advance(500)
        }
        #expect(served == living && h.counters.membersHeld == 2)
        #expect(h.counters.members.gone == 1_998 && h.counters.members.waiting == 0)
    }

    /// APNs says several times that a token died before its join, and failures of other kinds come in between. The
    /// token stays.
    @Test func aDeathFromBeforeJoiningIsIgnoredHoweverOftenItHasFailed() {
        let h = Self.harness()
        h.join(1)
        h.audienceUpdate(1)
        let earlier = PushResponse(status: 410, reason: "Unregistered", timestampMillis: h.now.wallMillis - 86_400_000)
        let busy = PushResponse(status: 503, reason: "ServiceUnavailable")
        for answer in [busy, busy, busy, earlier, busy, earlier, earlier, busy, earlier] {
            for _ in 0..<200 {
                if let push = h.take() {
                    h.answer(push, .response(answer))
                    break
                }
                h.advance(1_000)
            }
        }
        h.advance(300_000)
        #expect(h.deliverAll().map(\.n) == [1])
        #expect(h.counters.membersHeld == 1 && h.counters.members.gone == 0)
    }

    // MARK: Takeover

    @Test func aNewOwnerGoesOnWhereThePassStood() {
        let h = Self.harness()
        for member in 1...20 { h.join(member) }
        h.audienceUpdate(1, alert: "goal")
        let first = (1...8).compactMap { _ in h.deliver() }
        h.advance(1_500)
        h.crash()
        h.carryBus()
        h.advance(3_000)
        let rest = h.deliverAll()
        let served = Set(first.map(\.token))
        #expect(Set(rest.map(\.token)).union(served).count == 20)
        #expect(rest.allSatisfy { $0.alert == "goal" && $0.n == 1 })
        #expect(served.isDisjoint(with: rest.map(\.token)), "the record was a second old")
        #expect(Set(rest.map(\.stamp)) == Set(first.map(\.stamp)))
    }

    @Test func aNewOwnerSkipsNobodyWhereverTheOldOneDied() {
        for served in 0...12 {
            let h = Self.harness()
            for member in 1...12 { h.join(member) }
            h.audienceUpdate(1, alert: "goal")
            var shown: [String: Int] = [:]
            for _ in 0..<served { if let push = h.deliver() { shown[push.token] = push.n } }
            h.crash(afterMillis: 20_000)
            h.carryBus()
            h.advance(3_000)
            for push in h.deliverAll() { shown[push.token] = push.n }
            #expect(shown.count == 12, "died after \(served)")
        }
    }

    /// A progress record names members as unanswered. Another progress record follows their answers, so the next owner
    /// does not serve them again.
    @Test func whatWasAnsweredBeforeAQuietEndIsNotRepeated() {
        let h = Self.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1, alert: "goal")
        let pushes = (1...3).compactMap { _ in h.take() }
        h.advance(1_100)
        for push in pushes { h.answer(push, .accepted) }
        h.advance(2_000)
        h.crash()
        h.carryBus()
        h.advance(3_000)
        #expect(pushes.count == 3 && h.deliverAll().isEmpty)
    }

    // MARK: The end

    @Test func whatWasEndedIsForgotten() {
        let h = Self.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(1_000)
        h.audienceEnd(2)
        h.advance(1_000)
        let ends = h.deliverAll()
        #expect(ends.count == 3 && ends.allSatisfy { $0.event == "end" })
        h.join(4)
        #expect(h.deliverAll().map(\.event) == ["end"], "late ones get it, too")
        for _ in 0..<200 {
            h.advance(60_000)
            h.carryBus()
        }
        #expect(h.counters.membersHeld == 0 && h.counters.slots == 0)
        let live = Dictionary(h.stateLog.map { ($0.keyText, $0.isNull) }, uniquingKeysWith: { $1 })
        #expect(live.filter { !$0.value }.map(\.key) == ["m"], "nothing but the marker is left in state")
    }
}

extension EngineHarness {
    static func memberToken(_ member: Int) -> String {
        let digits = String(member, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    @discardableResult
    func join(_ member: Int, of audience: String = "match", frequent: Bool = false) -> Int64 {
        let offset = self.consume(
            key: Self.memberToken(member),
            value: #"{"event":"register","audience":"\#(audience)","frequent-updates":\#(frequent)}"#)
        self.carryBus()
        return offset
    }

    @discardableResult
    func leave(_ member: Int, of audience: String? = nil) -> Int64 {
        let named = audience.map { #","audience":"\#($0)""# } ?? ""
        let offset = self.consume(key: Self.memberToken(member), value: #"{"event":"unregister"\#(named)}"#)
        self.carryBus()
        return offset
    }

    @discardableResult
    func audienceUpdate(
        _ n: Int, of audience: String = "match", priority: Int = 10, alert: String? = nil, padding: Int = 0,
        more: String...
    ) -> Int64 {
        let offset = self.consume(
            key: audience,
            value: Self.content(
                "update", n, at: nil, priority: priority, alert: alert, padding: padding,
                more: [#""to":{"audience":"\#(audience)"}"#] + more))
        self.carryBus()
        return offset
    }

    @discardableResult
    func audienceEnd(_ n: Int, of audience: String = "match", more: String...) -> Int64 {
        let offset = self.consume(
            key: audience,
            value: Self.content(
                "end", n, at: nil, priority: nil, alert: nil, padding: 0,
                more: [#""to":{"audience":"\#(audience)"}"#] + more))
        self.carryBus()
        return offset
    }

    /// Delivers everything that is ready.
    @discardableResult
    func deliverAll() -> [Push] {
        var pushes: [Push] = []
        self.carryBus()
        while pushes.count < 100_000, let push = self.take() {
            self.answer(push, .accepted)
            pushes.append(push)
            self.carryBus()
        }
        return pushes
    }
}
