import DeviceModel
import Testing

@testable import PushInspection

/// Tests of a flood with too many events to read. Only a few activities are listed, with all of their events.
struct SamplingTests {
    private static let now: Int64 = 1_795_600_000_000

    private static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    /// Plays a second with events for a range of activities. Each event is followed by its push.
    private func flood(_ timeline: inout Timeline, second: Int64, activities: Range<Int>, rounds: Int = 1) {
        for _ in 0..<rounds {
            for number in activities {
                _ = timeline.takeEvent(
                    at: EventPosition(partition: 0, offset: Int64(timeline.revision)),
                    key: Array("order-\(number)".utf8),
                    value: Array(#"{"event":"update","content-state":{"n":\#(second)}}"#.utf8),
                    nowMillis: Self.now + second * 1_000)
                var push = TimelineTests.push(id: "id-\(second)-\(number)", token: Self.token(number))
                push.atMillis = Self.now + second * 1_000
                timeline.takePush(push)
            }
        }
    }

    private func registered(_ count: Int) -> Timeline {
        var timeline = TimelineTests.timeline {
            $0.entriesPerSecondMax = 20
            $0.phonesMax = 10
        }
        for number in 0..<count {
            // Each registration is in another second, so all are listed.
            _ = timeline.takeEvent(
                at: EventPosition(partition: 1, offset: Int64(number)), key: Array("order-\(number)".utf8),
                value: Array(#"{"event":"register","token":"\#(Self.token(number))"}"#.utf8),
                nowMillis: Self.now - Int64(1_000 * (count - number)))
        }
        return timeline
    }

    private func lines(_ timeline: Timeline, after millis: Int64) -> [TimelineEntry] {
        timeline.entries.filter { $0.atMillis >= millis }
    }

    @Test func whatIsListedOfAFloodIsWhole() throws {
        var timeline = self.registered(30)
        self.flood(&timeline, second: 1, activities: 0..<30)
        #expect(timeline.unlisted.pushes == 10, "the first of the second are listed")
        self.flood(&timeline, second: 2, activities: 0..<30)
        let listed = self.lines(timeline, after: Self.now + 2_000)
        let newest = timeline.phonesInOrder.suffix(Timeline.sampledPhonesMax).map(\.activity)
        #expect(Set(listed.map(\.activity)) == Set(newest))
        for activity in newest {
            #expect(listed.count { $0.activity == activity } == 2, "its event and its push")
        }
        #expect(timeline.unlisted.pushes == 10 + 30 - Timeline.sampledPhonesMax)
        let state = timeline.changes(since: 0)
        #expect(state["sampling"]?["isSample"] == true)
        #expect(state["sampling"]?["pushes"] == .integer(30), "of how many it is a sample")
        let wanted = ["order-99", "order-0", newest[0]].map { activity in
            let key = Array(activity.utf8)
            return timeline.wantsOutcome(key: key.span)
        }
        #expect(wanted == [false, true, true], "an event of order-0 stands there and waits for it")
    }

    /// If a person looks at an activity, all its events are listed, even if its phone was forgotten.
    @Test func whatIsLookedAtIsWhole() throws {
        var timeline = self.registered(30)
        self.flood(&timeline, second: 1, activities: 0..<30)
        #expect(timeline.phone(activity: "order-1") == nil, "forgotten for newer ones")
        timeline.look(at: "order-1", nowMillis: Self.now + 1_500)
        self.flood(&timeline, second: 2, activities: 0..<30)
        #expect(self.lines(timeline, after: Self.now + 2_000).count { $0.activity == "order-1" } == 2)
        #expect(timeline.phone(activity: "order-1") != nil)

        // The last look is too long ago from here on.
        let later = 2 + Attention.lookMillis / 1_000
        self.flood(&timeline, second: later, activities: 0..<30)
        self.flood(&timeline, second: later + 1, activities: 0..<30)
        let isNew = timeline.phonesInOrder.suffix(Timeline.sampledPhonesMax).contains { $0.activity == "order-1" }
        #expect(
            self.lines(timeline, after: Self.now + (later + 1) * 1_000).contains { $0.activity == "order-1" } == isNew)
    }

    /// An activity that a person looks at is listed in full, even in the second in which the flood begins.
    @Test func whatIsLookedAtIsListedBeyondTheFirstOfASecond() {
        var timeline = self.registered(30)
        timeline.look(at: "order-29", nowMillis: Self.now)
        self.flood(&timeline, second: 1, activities: 0..<30)
        #expect(self.lines(timeline, after: Self.now + 1_000).count { $0.activity == "order-29" } == 2)
        #expect(timeline.unlisted.pushes == 9)
    }

    /// Pushes to unknown tokens share one phone on the page. They displace neither known phones nor phones that a
    /// person looks at.
    @Test func strangersTakeOnePlace() {
        var timeline = self.registered(10)
        timeline.look(at: "order-0", nowMillis: Self.now)
        for number in 100..<120 {
            timeline.takePush(TimelineTests.push(id: "id-\(number)", token: Self.token(number)))
        }
        #expect(timeline.phones.count == 10)
        #expect(timeline.phones.values.count { $0.activity.isEmpty } == 1)
        #expect(timeline.phone(activity: "order-0") != nil)
    }

    /// An older reading of the clock does not begin a second again. Two threads read the clock, so an older reading may
    /// arrive later.
    @Test func aSecondThatIsOverDoesNotBeginAgain() {
        var allowance = SecondlyAllowance(countMax: 2)
        _ = allowance.begin(nowMillis: 5_000)
        for _ in 0..<3 { _ = allowance.see() }
        let begun = [6_000, 5_999, 6_001, 3_000].map { allowance.begin(nowMillis: $0) }
        #expect(begun == [true, false, false, true], "only a clock that was set back begins a second again")
    }

    /// After a flood, a wait says only that no listed event matches. An event that was skipped may match.
    @Test func aWaitAfterAFloodSaysWhatToDo() throws {
        var timeline = self.registered(30)
        self.flood(&timeline, second: 1, activities: 0..<30)
        guard case .unmet(let text) = try WaitCondition([("activity", "order-500")]).answer(timeline) else {
            Issue.record("met")
            return
        }
        #expect(text.contains("No event with content that is listed is for it."), "\(text)")
        #expect(text.contains("POST /api/activities makes one"), "\(text)")
    }

    /// A look finds a phone that the page has forgotten to make room for others, because the simulated phone still
    /// exists.
    @Test func whoeverAsksFindsAPhoneThatGaveWay() throws {
        var timeline = self.registered(30)
        #expect(timeline.phone(activity: "order-0") == nil)
        timeline.look(at: "order-0", nowMillis: Self.now, isByTheWay: true)
        #expect(timeline.phone(activity: "order-0") == nil, "nobody asked for it")
        timeline.look(at: "order-0", nowMillis: Self.now)
        let phone = try #require(timeline.phone(activity: "order-0"))
        #expect(phone.token == Self.token(0) && phone.id == 1, "links to it hold")
        #expect(timeline.phonesMetCount == 30)
        #expect(timeline.phones.count == 10 && timeline.forgottenPhones.count == 20)

        // A forgotten phone whose card was swiped away comes back with its dead token and without a card.
        let swiped = try #require(timeline.phone(activity: "order-29"))
        timeline.setSwiped(swiped.id)
        timeline.meet(token: Self.token(77), activity: "order-77", app: "")
        for number in 80..<100 { timeline.meet(token: Self.token(number), activity: "order-\(number)", app: "") }
        timeline.look(at: "order-29", nowMillis: Self.now)
        let again = try #require(timeline.phone(activity: "order-29"))
        #expect(again.isSwiped && again.card == "dismissed" && again.id == swiped.id)
    }

    @Test func aPhoneInTroubleStays() throws {
        var timeline = self.registered(5)
        var push = TimelineTests.push(status: 410, reason: "Unregistered", phone: .notReached, token: Self.token(0))
        push.atMillis = Self.now
        timeline.listPush(push)
        for number in 10..<60 { timeline.meet(token: Self.token(number), activity: "order-\(number)", app: "") }
        #expect(timeline.phone(activity: "order-0")?.lastVerdict?.word == .refused)
        #expect(timeline.phones.count == 10 && timeline.phone(activity: "order-1") == nil)
        #expect(timeline.changes(since: 0)["phonesMet"] == .integer(55))
    }

    /// A look in passing displaces no other look. `POST /events` looks in passing at the activity of each event.
    @Test func aLookByTheWayTakesNoPlaceFromOthers() {
        var attention = Attention()
        for number in 0..<Attention.slotsMax - 1 { _ = attention.look(at: "order-\(number)", nowMillis: Self.now) }
        for number in 100..<120 {
            let isNew = attention.look(at: "order-\(number)", nowMillis: Self.now + 1, isByTheWay: true)
            #expect(isNew == (number == 100), "there was room for one")
        }
        #expect(attention.holds("order-0") && attention.holds("order-100"))
        _ = attention.look(at: "order-50", nowMillis: Self.now + 2)
        #expect(attention.holds("order-0") && !attention.holds("order-100"), "it gives way first")
    }

    @Test func afterAFloodEverythingIsListedAgain() {
        var timeline = self.registered(30)
        self.flood(&timeline, second: 1, activities: 0..<30)
        self.flood(&timeline, second: 2, activities: 0..<5)
        self.flood(&timeline, second: 3, activities: 0..<5)
        #expect(timeline.changes(since: 0)["sampling"]?["isSample"] == false)
        #expect(self.lines(timeline, after: Self.now + 3_000).count == 10)
    }

    @Test func afterAFloodThatNothingFollowsThePageSaysSo() {
        var timeline = self.registered(30)
        self.flood(&timeline, second: 1, activities: 0..<30)
        #expect(timeline.changes(since: 0)["sampling"]?["isSample"] == true)
        for second in 2...3 {
            let revision = timeline.revision
            timeline.tick(nowMillis: Self.now + Int64(second) * 1_000)
            #expect(timeline.revision > revision, "whoever follows is told")
        }
        #expect(timeline.changes(since: 0)["sampling"]?["isSample"] == false)
        let revision = timeline.revision
        timeline.tick(nowMillis: Self.now + 4_000)
        #expect(timeline.revision == revision, "nothing is new")
    }

    /// The events of the sample are also limited, because one activity may get any number of events.
    @Test func whatIsListedIsBounded() {
        var timeline = self.registered(1)
        for second in 1...3 { self.flood(&timeline, second: Int64(second), activities: 0..<1, rounds: 100) }
        #expect(self.lines(timeline, after: Self.now + 3_000).count == 40)
        for number in 0..<100 { timeline.look(at: "order-\(number)", nowMillis: Self.now) }
        #expect(timeline.attention.activities(nowMillis: Self.now).count == Attention.slotsMax)
    }

    @Test func aTokenIsTheSameInUpperAndLowerCase() {
        #expect(ByteKey(token: "ABCDEF0123456789a") == ByteKey(token: "abcdef0123456789A"))
        #expect(ByteKey(token: "abcdef0123456789a") != ByteKey(token: "abcdef0123456789b"))
        #expect(ByteKey("order-A") != ByteKey("order-a"))
        #expect(Set((0..<10_000).map { ByteKey("order-\($0)") }).count == 10_000)
    }

    /// A follower that shows an old entry is told of its change, however many entries are newer.
    @Test func aFollowerLearnsOfTheChangeOfAnOldEntry() throws {
        var timeline = TimelineTests.timeline()
        _ = timeline.takeEvent(
            at: EventPosition(partition: 0, offset: 0), key: Array("order-1".utf8),
            value: Array(#"{"event":"update","content-state":{}}"#.utf8), nowMillis: TimelineTests.now)
        for _ in 0..<Timeline.entriesPerAnswerMax { timeline.addNote("a note", phone: 0, nowMillis: TimelineTests.now) }
        let before = timeline.revision
        let found = try #require(EventOutcome.read(TimelineTests.outcome("superseded", at: 0), topic: "events"))
        timeline.takeOutcome(found.outcome, of: found.position)
        func ids(_ revision: Int) -> [Int] {
            guard case .array(let entries)? = timeline.changes(since: revision)["entries"] else { return [] }
            return entries.compactMap { $0["id"].flatMap { Int($0.plainText) } }
        }
        #expect(ids(before) == [1])
        #expect(ids(0).count == Timeline.entriesPerAnswerMax)
    }
}
