import PushEngine
import PushModel
import Testing

/// Tests a start at its audience's owner. Update members get an update instead of the start; start members get the
/// start. The update and the start leave with the audience's next version.
@Suite struct StartOwnerTests {
    private static let update = EngineHarness.memberToken(1)
    private static let start = EngineHarness.memberToken(2)

    private static func harness() -> EngineHarness {
        let h = EngineHarness.starts()
        h.join(1)
        h.joinStart(2)
        return h
    }

    /// An event that arrives while the next version waits for the minimum distance.
    enum Event { case start, goal, score, withdrawal }
    struct Row {
        var events: [Event]
        /// Content and alert that the update member gets.
        var update: (n: Int, alert: String?)
        /// Content and alert that the start member gets.
        var start: (n: Int, alert: String?)
    }

    /// Several events wait together. Update members never get the alert of a start, and a start always has an alert.
    @Test(
        arguments: [
            Row(events: [.start], update: (1, nil), start: (1, "kick-off")),
            Row(events: [.goal, .start], update: (2, "goal"), start: (2, "kick-off")),
            Row(events: [.start, .goal], update: (2, "goal"), start: (2, "goal")),
            Row(events: [.start, .score], update: (2, nil), start: (2, "kick-off")),
            Row(events: [.start, .goal, .score], update: (3, "goal"), start: (3, "goal")),
            Row(events: [.start, .goal, .withdrawal], update: (3, nil), start: (3, "kick-off")),
            Row(events: [.goal, .start, .withdrawal], update: (3, nil), start: (3, "kick-off")),
            Row(events: [.goal, .start, .score], update: (3, "goal"), start: (3, "kick-off")),
        ]) func whatWaitsTogetherIsMerged(row: Row)
    {
        let h = Self.harness()
        h.audienceUpdate(9, priority: 10)
        _ = h.deliverAll()
        var starts: [Int64] = []
        for (index, event) in row.events.enumerated() {
            let n = index + 1
            switch event {
            case .start: starts.append(h.audienceStart(n, more: #""timestamp":\#(h.now.wallSeconds + Int64(n))"#))
            case .goal: h.audienceUpdate(n, alert: "goal", more: #""timestamp":\#(h.now.wallSeconds + Int64(n))"#)
            case .score: h.audienceUpdate(n, more: #""timestamp":\#(h.now.wallSeconds + Int64(n))"#)
            case .withdrawal:
                h.audienceUpdate(n, more: #""alert":null"#, #""timestamp":\#(h.now.wallSeconds + Int64(n))"#)
            }
        }
        let pushes = h.deliverAll(withinMillis: 5_000)
        let updates = pushes.filter { $0.token == Self.update }
        #expect(updates.map(\.n) == [row.update.n] && updates.map(\.alert) == [row.update.alert])
        let cards = pushes.filter { $0.token == Self.start }
        #expect(cards.map(\.n) == [row.start.n] && cards.map(\.alert) == [row.start.alert])
        #expect(cards.allSatisfy { $0.event == "start" && $0.priority == 10 && $0.aps["attributes"] != nil })
        #expect(h.counters.versionsPublished == 2 && h.isCommitted())
        #expect(h.outcomes(of: starts[0]) == [row.events.last == .start ? "fanned-out" : "superseded"])
    }

    /// Update members get the start's update at priority 5, which takes no unit of the audience's budget.
    @Test func itTakesNoUnitOfOthers() {
        let h = EngineHarness.starts { $0.apps[0].budgetAudiencePerHour = 3 }
        h.join(1)
        h.audienceStart(1)
        #expect(h.deliverAll(withinMillis: 2_000).map(\.priority) == [5])
        var priorities: [Int] = []
        for n in 2...5 {
            h.audienceUpdate(n, alert: "goal")
            priorities += h.deliverAll(withinMillis: 2_000).map(\.priority)
        }
        #expect(priorities == [10, 10, 10, 5])
    }

    /// A start that is older than the newest update does not replace what phones show. The start still goes to members
    /// without a card, with the newer content.
    @Test func aLateStartBringsNothingOlder() {
        let h = Self.harness()
        h.audienceUpdate(5, more: #""timestamp":\#(h.now.wallSeconds + 60)"#)
        _ = h.deliverAll(withinMillis: 2_000)
        h.audienceStart(1, more: #""timestamp":\#(h.now.wallSeconds)"#)
        let pushes = h.deliverAll(withinMillis: 3_000)
        #expect(pushes.allSatisfy { $0.n == 5 })
        #expect(pushes.filter { $0.event == "start" }.map(\.alert) == ["kick-off"])
    }

    /// A version may bring along an older version that expires later. The older version begins no second round of the
    /// start.
    @Test func anOlderVersionBesideTheNewestBeginsNoSecondRound() {
        let h = EngineHarness.starts()
        for member in 1...4 { h.joinStart(member) }
        h.audienceStart(1)
        var tokens = h.deliverAll(withinMillis: 1_500).map(\.token)
        for n in [3, 5] {
            h.audienceUpdate(n - 1)
            h.audienceUpdate(n, more: #""expires":\#(h.now.wallSeconds + 20)"#)
            tokens += h.deliverAll(withinMillis: 3_000).map(\.token)
        }
        h.crash()
        h.carryBus()
        tokens += h.deliverAll(withinMillis: 3_000).map(\.token)
        #expect(tokens.count == 4 && Set(tokens).count == 4)
    }

    @Test func anEndThatWaitsWithItCancelsIt() {
        let h = Self.harness()
        h.audienceUpdate(9, priority: 10)
        _ = h.deliverAll()
        let start = h.audienceStart(1)
        h.audienceEnd(2)
        let pushes = h.deliverAll(withinMillis: 5_000)
        #expect(pushes.map(\.event) == ["end"] && pushes.map(\.token) == [Self.update])
        #expect(h.outcomes(of: start) == ["superseded"])
        h.audienceStart(3)
        #expect(h.deliverAll(withinMillis: 3_000).contains { $0.event == "start" && $0.n == 3 })
    }

    @Test func whoTakesOverSendsAStartThatWaited() {
        let h = Self.harness()
        h.audienceUpdate(9, priority: 10)
        _ = h.deliverAll()
        h.audienceStart(1)
        h.audienceUpdate(2)
        h.crash(afterMillis: 20_000)
        h.carryBus()
        let pushes = h.deliverAll(withinMillis: 5_000)
        #expect(pushes.filter { $0.event == "start" }.map(\.n) == [2])
    }

    // MARK: Expiry

    @Test func anEventThatIsTooOldStartsNobodyAndIsNoStart() {
        for more in [#""expires":1700000001"#, nil] {
            let h = Self.harness()
            h.advance(10_000)
            let written = h.now.wallMillis - (more == nil ? 901_000 : 0)
            let late = h.consume(
                key: "match",
                value: EngineHarness.content(
                    "start", 1, at: nil, priority: nil, alert: "kick-off", padding: 0,
                    more: [
                        #""to":{"audience":"match"}"#, #""attributes-type":"Match""#, #""attributes":{}"#,
                    ] + (more.map { [$0] } ?? [])), recordMillis: written)
            h.carryBus()
            #expect(h.deliverAll(withinMillis: 3_000).isEmpty)
            #expect(h.outcomes(of: late) == ["expired"])
            h.audienceStart(2)
            #expect(h.deliverAll(withinMillis: 3_000).map(\.n) == [2, 2])
        }
    }

    /// A start's version expires only if the start's event has `expires`. Otherwise update members get the version's
    /// content, however late they join.
    @Test func theVersionExpiresWithTheEventAlone() {
        for expires in [true, false] {
            let h = Self.harness()
            let more = expires ? #""expires":\#(h.now.wallSeconds + 30)"# : #""x-none":1"#
            h.audienceStart(1, more: more)
            #expect(h.deliverAll(withinMillis: 3_000).count == 2)
            h.advance(1_000_000)
            h.join(3)
            #expect(h.deliverAll(withinMillis: 3_000).map(\.n) == (expires ? [] : [1]))
        }
    }

    // MARK: After the end

    /// A void that is sent twice does not remove members that joined between the two voids.
    @Test func aVoidToldTwiceConcernsNobodyWhoCameAfterIt() throws {
        let h = Self.harness()
        h.audienceStart(1)
        _ = h.deliverAll(withinMillis: 2_000)
        h.audienceEnd(2)
        _ = h.deliverAll(withinMillis: 2_000)
        for _ in 0..<70 {
            h.advance(60_000)
            h.carryBus()
        }
        let void = try #require(h.written.last { $0.headers[RecordHeader.kind.text] == "void" })
        #expect(h.counters.membersHeld == 1)
        h.join(3)
        h.consume(keyBytes: void.key, valueBytes: void.value, topic: 1, kind: .void)
        h.carryBus()
        h.advance(10_000)
        h.carryBus()
        #expect(h.counters.membersHeld == 2)
    }

    /// A partition that asks after a void is not sent another void at once, however old its members are.
    @Test func voidsAndQuestionsDoNotChaseEachOther() {
        let h = EngineHarness.starts { $0.apps[0].startMemberLifeMillis = 86_400_000 }
        h.joinStart(2)
        h.audienceStart(1)
        _ = h.deliverAll(withinMillis: 2_000)
        h.audienceEnd(2)
        _ = h.deliverAll(withinMillis: 2_000)
        for _ in 0..<1_440 {
            h.advance(120_000)
            h.carryBus()
        }
        let voids = h.written.count { $0.headers[RecordHeader.kind.text] == "void" }
        #expect(voids < 5, "\(voids) voids in two days")
        #expect(h.counters.membersHeld == 0 && h.counters.slots == 0)
    }
}
