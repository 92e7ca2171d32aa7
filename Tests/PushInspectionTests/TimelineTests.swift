import DeviceModel
import Testing

@testable import PushInspection

struct TimelineTests {
    static let now: Int64 = 1_795_600_000_000
    static let token = String(repeating: "ab", count: 32)

    static func timeline(_ change: (inout Timeline.Limits) -> Void = { _ in }) -> Timeline {
        var limits = Timeline.Limits()
        change(&limits)
        return Timeline(app: "com.example.app", limits: limits)
    }

    static func push(
        id: String = "id-1", status: Int? = 200, reason: String = "", phone: ObservedPush.Phone = .took(.shown),
        stamp: Int64 = 1_795_600_000, content: String = #"{"minutes":12}"#, token: String = Self.token
    ) -> ObservedPush {
        ObservedPush(
            atMillis: Self.now, messageID: id, token: token, topic: "com.example.app.push-type.liveactivity",
            priority: 10,
            body: Array(#"{"aps":{"event":"update","timestamp":\#(stamp),"content-state":\#(content)}}"#.utf8),
            status: status,
            reason: reason, phone: phone, hadWaited: false, stampBeforeSeconds: 1_795_600_010)
    }

    static func outcome(_ name: String, at offset: Int64, more: String = "") -> [UInt8] {
        Array(#"{"outcome":"\#(name)","topic":"events","partition":0,"offset":\#(offset)\#(more)}"#.utf8)
    }

    private func take(_ timeline: inout Timeline, _ value: String, key: String = "order-1", at offset: Int64)
        -> Timeline.Need?
    {
        timeline.takeEvent(
            at: EventPosition(partition: 0, offset: offset), key: Array(key.utf8), value: Array(value.utf8),
            nowMillis: Self.now)
    }

    private func outcome(_ timeline: inout Timeline, _ name: String, at offset: Int64, more: String = "") throws {
        let read = try #require(EventOutcome.read(Self.outcome(name, at: offset, more: more), topic: "events"))
        timeline.takeOutcome(read.outcome, of: read.position)
    }

    @Test func anActivityWithoutAPhoneAsksForOneOnce() {
        var timeline = Self.timeline()
        let update = #"{"event":"update","content-state":{}}"#
        #expect(self.take(&timeline, update, at: 0) == .phone(activity: "order-1", app: ""))
        #expect(self.take(&timeline, update, at: 1) == nil)
        #expect(self.take(&timeline, #"{"event":"register","token":"\#(Self.token)"}"#, key: "order-2", at: 2) == nil)
        #expect(self.take(&timeline, update, key: "order-2", at: 3) == nil)
        #expect(timeline.phone(activity: "order-2")?.token == Self.token)
        #expect(self.take(&timeline, #"{"event":"unregister"}"#, key: "order-2", at: 4) == nil)
        #expect(self.take(&timeline, update, key: "order-2", at: 5) == nil, "whoever takes a token away means it")
    }

    @Test(arguments: [true, false])
    func anEventIsLinkedToItsPushWhicheverComesFirst(eventFirst: Bool) throws {
        var timeline = Self.timeline()
        if !eventFirst {
            timeline.takePush(Self.push())
            try self.outcome(
                &timeline, "delivered", at: 0, more: #","apns-id":"id-1","status":200,"priority":5,"merged":2"#)
        }
        _ = self.take(&timeline, #"{"event":"update","priority":10,"content-state":{"minutes":12}}"#, at: 0)
        if eventFirst {
            try self.outcome(
                &timeline, "delivered", at: 0, more: #","apns-id":"id-1","status":200,"priority":5,"merged":2"#)
            timeline.takePush(Self.push())
        }
        let event = try #require(timeline.entries.first { if case .event = $0.body { true } else { false } })
        let push = try #require(timeline.entries.first { if case .push = $0.body { true } else { false } })
        #expect(event.related == [push.id])
        #expect(push.related == [event.id])
        #expect(push.activity == "order-1")
        let says = timeline.summary(of: event)
        #expect(
            says
                == "Delivered: APNs took the push that 2 events were merged into, at priority 5 instead of 10: the hourly budget is spent."
        )
        #expect(try timeline.search(EntryQuery("is:downgraded is:shown")).map(\.id).contains(event.id))
    }

    @Test func attemptsThatFailedBelongToTheirEvent() throws {
        var timeline = Self.timeline()
        _ = self.take(&timeline, #"{"event":"register","token":"\#(Self.token)"}"#, at: 0)
        timeline.takePush(Self.push(id: "before"))
        _ = self.take(&timeline, #"{"event":"update","priority":10,"content-state":{"minutes":12}}"#, at: 1)
        timeline.takePush(Self.push(id: "other", content: #"{"minutes":11}"#))
        timeline.takePush(Self.push(id: "id-0", status: 410, reason: "Unregistered", phone: .notReached))
        timeline.takePush(Self.push())
        try self.outcome(
            &timeline, "delivered", at: 1, more: #","apns-id":"id-1","status":200,"priority":10,"merged":1"#)
        #expect(timeline.entry(3)?.related == [6, 5])
        #expect(timeline.entry(2)?.related == [] && timeline.entry(4)?.related == [])
        #expect(try timeline.search(EntryQuery("is:event")).map(\.id) == [3, 1])
        #expect(try timeline.search(EntryQuery("is:push is:delivered")).map(\.id) == [6, 5])
        #expect(try timeline.search(EntryQuery("is:event status:410")).map(\.id) == [3])
    }

    @Test func aSupersededEventNamesTheOneThatTookItsPlace() throws {
        var timeline = Self.timeline()
        _ = self.take(&timeline, #"{"event":"update","content-state":{"minutes":12}}"#, at: 0)
        _ = self.take(&timeline, #"{"event":"update","content-state":{"minutes":11}}"#, at: 1)
        try self.outcome(
            &timeline, "superseded", at: 0,
            more: #","into":{"topic":"events","partition":0,"offset":1},"kept":["alert"]"#)
        let first = try #require(timeline.entry(1))
        #expect(timeline.summary(of: first) == "Superseded by event 2 before it was sent. Its alert lives on there.")
    }

    @Test func anOutcomeThatIsNotAboutOneEventIsPassedOver() {
        #expect(
            EventOutcome.read(Array(#"{"outcome":"pass","audience":"a","version":1}"#.utf8), topic: "events") == nil)
        #expect(EventOutcome.read(Self.outcome("delivered", at: 0), topic: "others") == nil)
        #expect(EventOutcome.read(Array("no JSON".utf8), topic: "events") == nil)
    }

    @Test func aPushIsComparedWithTheOneBefore() throws {
        var timeline = Self.timeline()
        timeline.takePush(Self.push(content: #"{"minutes":12,"eta":1764000000}"#))
        timeline.takePush(Self.push(id: "id-2", content: #"{"minutes":11,"eta":1764000000}"#))
        guard case .push(let push)? = timeline.entry(2)?.body else { throw Missing() }
        #expect(push.changes == [.init(path: "minutes", before: "12", after: "11")])
        #expect(push.dates.map(\.path) == ["eta"])
    }

    @Test func anAlertIsNewUntilTheNextPush() throws {
        var timeline = Self.timeline()
        var push = Self.push()
        push.body = Array(
            #"{"aps":{"event":"update","timestamp":1,"content-state":{},"alert":{"title":"T","body":"B"}}}"#.utf8)
        let phone = timeline.takePush(push)
        #expect(timeline.phones[phone]?.isAlertNew == true)
        // What the phone did not show changes nothing on it.
        timeline.takePush(Self.push(id: "id-2", phone: .took(.ignoredOlder)))
        #expect(timeline.phones[phone]?.isAlertNew == true)
        timeline.takePush(Self.push(id: "id-3"))
        #expect(timeline.phones[phone]?.isAlertNew == false)
    }

    @Test func noWholeTokenIsTold() throws {
        var timeline = Self.timeline()
        _ = self.take(&timeline, #"{"event":"register","token":"\#(Self.token)"}"#, at: 0)
        _ = self.take(&timeline, #"{"event":"register","audience":"match-7"}"#, key: Self.token, at: 1)
        _ = self.take(&timeline, #"{"event":"end","to":{"token":"0a1b2c3d"},"content-state":{}}"#, at: 2)
        _ = self.take(
            &timeline, #"{"event":"update","contentState":{},"x-token":"\#(Self.token)"}"#, key: Self.token, at: 3)
        timeline.takePush(Self.push())
        let told = timeline.changes(since: 0).text
        #expect(!told.contains(Self.token))
        #expect(!told.contains("0a1b2c3d"))
        #expect(told.contains("abababab…"))
        #expect(timeline.phone(token: Self.token) != nil)
    }

    @Test func whatIsNewIsTold() throws {
        var timeline = Self.timeline()
        _ = self.take(&timeline, #"{"event":"update","content-state":{}}"#, at: 0)
        let before = timeline.revision
        #expect(timeline.changes(since: before)["entries"] == [])
        timeline.takePush(Self.push())
        let change = timeline.changes(since: before)
        #expect(change["entries"]?.value(at: "0.type") == "push")
        #expect(change["phones"]?.value(at: "0.verdict.word") == "shown")
        #expect(change["phones"]?.value(at: "1") == nil)
    }

    @Test func onlySoMuchIsKept() throws {
        var timeline = Self.timeline {
            $0.entriesMax = 20
            $0.phonesMax = 3
            $0.earlyOutcomesMax = 5
            $0.activitiesMax = 10
        }
        for number in 0..<200 {
            let token = String(repeating: "0", count: 62) + (number < 16 ? "0" : "") + String(number, radix: 16)
            _ = self.take(
                &timeline, #"{"event":"register","token":"\#(token)"}"#, key: "order-\(number)", at: Int64(number))
            timeline.takePush(Self.push(id: "id-\(number)", token: token))
            try self.outcome(&timeline, "applied", at: Int64(1_000 + number))
        }
        #expect(timeline.entries.count <= 20)
        #expect(timeline.phones.count == 3)
        #expect(timeline.forgottenCount + timeline.entries.count == 400)
        #expect(timeline.entry(1) == nil)
        #expect(timeline.phone(activity: "order-199") != nil)
        let newest = try #require(timeline.entries.last)
        #expect(timeline.entry(newest.id)?.id == newest.id)
        // A phone that was forgotten asks for no other, and comes back with its next push.
        #expect(timeline.phone(activity: "order-195") == nil)
        #expect(self.take(&timeline, #"{"event":"update","content-state":{}}"#, key: "order-195", at: 500) == nil)
        timeline.takePush(Self.push(id: "again", token: String(repeating: "0", count: 62) + "c3"))
        #expect(timeline.phone(activity: "order-195") != nil)
        // An outcome of an event that was forgotten changes nothing.
        try self.outcome(&timeline, "applied", at: 0)
    }

    @Test func aTokenIsUntoldUntilItIsRegistered() throws {
        var timeline = Self.timeline()
        let new = String(repeating: "cd", count: 32)
        _ = self.take(&timeline, #"{"event":"register","token":"\#(Self.token)"}"#, at: 0)
        let phone = try #require(timeline.phone(activity: "order-1"))
        timeline.addToken(new, to: phone.id, isTold: false)
        #expect(timeline.phones[phone.id]?.untoldToken == new)
        #expect(timeline.phone(token: new)?.id == phone.id)
        _ = self.take(&timeline, #"{"event":"register","token":"\#(new)"}"#, at: 1)
        #expect(timeline.phones[phone.id]?.untoldToken == nil)
        #expect(timeline.phones.count == 1)
    }

    struct Missing: Error {}
}

struct PushVerdictTests {
    @Test(arguments: [
        (TimelineTests.push(), PushVerdict.Word.shown, "The card shows what it brought."),
        (
            TimelineTests.push(phone: .took(.ignoredOlder)), .ignored,
            "1795600000 (09:46:40) is older than 1795600010 (09:46:50), which the phone has seen."
        ),
        (TimelineTests.push(phone: .took(.ignoredSameStamp)), .ignored, "is that of what the phone shows."),
        (TimelineTests.push(phone: .took(.ignoredRepeat)), .ignored, "the same push came before"),
        (TimelineTests.push(phone: .took(.ignoredAfterEnd)), .ignored, "has ended on the phone"),
        (TimelineTests.push(phone: .took(.ignoredFuture)), .ignored, "too far ahead"),
        (TimelineTests.push(phone: .took(.throttled)), .budget, "Over the budget on the phone"),
        (TimelineTests.push(phone: .took(.shownAsSecondCard)), .shown, "second card"),
        (TimelineTests.push(phone: .couldNotDecode("“minutes” is missing")), .undecodable, "“minutes” is missing."),
        (TimelineTests.push(phone: .isAway), .waiting, "APNs keeps the newest push"),
        (
            TimelineTests.push(status: 410, reason: "Unregistered", phone: .notReached), .refused,
            "410 Unregistered. The app has another token by now"
        ),
        (
            TimelineTests.push(status: 503, reason: "ServiceUnavailable", phone: .notReached), .refused,
            "Refused by APNs: 503 ServiceUnavailable."
        ),
        (TimelineTests.push(status: nil, phone: .notReached), .unanswered, "no answer"),
    ])
    func everyPushHasAVerdict(push: ObservedPush, word: PushVerdict.Word, text: String) {
        let verdict = PushVerdict(push, stampSeconds: 1_795_600_000)
        #expect(verdict.word == word)
        #expect(verdict.text.contains(text), "\(verdict.text)")
    }
}

struct EntryQueryTests {
    static let facts = EntryFacts(
        activity: "Order-7", apps: ["com.example.pizza"], kinds: ["update"], words: ["event", "superseded", "alert"],
        statuses: [410],
        phones: [3], text: #"{"driverName":"Anne"}"#)

    @Test(arguments: [
        ("", true), ("  ", true), ("activity:order-7", true), ("activity:order-8", false), ("app:pizza", true),
        ("event:update", true),
        ("event:end", false), ("is:superseded", true), ("-is:superseded", false), ("is:delivered", false),
        ("status:410", true),
        ("-status:200", true), ("phone:3", true), ("phone:4", false), ("anne", true),
        ("ANNE is:alert activity:7", true),
        ("anne is:delivered", false), ("-", false), ("bob", false), ("-bob", true),
    ])
    func everyPartHasToFit(query: String, fits: Bool) throws {
        #expect(try EntryQuery(query).matches(Self.facts) == fits)
    }

    @Test(arguments: [
        ("foo:bar", "“foo:” is nothing to search by"), ("is:lost", "“is:lost” is nothing an entry can be"),
        ("status:x", "no number"),
        ("app:", "has no value"), (String(repeating: "x", count: 513), "at most 512 bytes"),
    ])
    func whatMakesNoSenseIsTold(query: String, text: String) {
        do {
            _ = try EntryQuery(query)
            Issue.record("taken: \(query)")
        } catch {
            #expect(error.description.contains(text), "\(error.description)")
        }
    }
}

struct WaitConditionTests {
    static func timeline() -> Timeline {
        var timeline = TimelineTests.timeline()
        _ = timeline.takeEvent(
            at: EventPosition(partition: 0, offset: 0), key: Array("order-1".utf8),
            value: Array(#"{"event":"register","token":"\#(TimelineTests.token)"}"#.utf8), nowMillis: TimelineTests.now)
        _ = timeline.takeEvent(
            at: EventPosition(partition: 0, offset: 1), key: Array("order-1".utf8),
            value: Array(#"{"event":"update","content-state":{"minutes":12}}"#.utf8), nowMillis: TimelineTests.now)
        timeline.takePush(TimelineTests.push())
        var shown = Device().shown(atSeconds: 0)
        shown.card = .active
        shown.contentState = Array(#"{"minutes":12.0,"driver":{"name":"Anne"},"late":false}"#.utf8)
        timeline.setShown(shown, isOnline: true, of: 1)
        return timeline
    }

    @Test(arguments: [
        ([("activity", "order-1")], nil as String?),
        ([("activity", "order-1"), ("key", "minutes"), ("value", "12")], nil),
        ([("activity", "order-1"), ("key", "driver.name"), ("value", "Anne")], nil),
        ([("activity", "order-1"), ("key", "late"), ("value", "false"), ("card", "active")], nil),
        (
            [("activity", "order-1"), ("key", "minutes"), ("value", "11")],
            "“minutes” is 12.0, not 11. The last push: The card shows what it brought. The last event: Waits in the worker."
        ),
        ([("activity", "order-1"), ("key", "tip")], "“tip” is not in what the phone shows"),
        ([("activity", "order-1"), ("card", "ended")], "the card is active, not ended"),
        ([("activity", "order-2")], "no phone has the activity “order-2”. No event with content was published for it."),
    ])
    func aPhoneShowsItOrTheReasonIsTold(parameters: [(String, String)], reason: String?) throws {
        let condition = try WaitCondition(parameters.map { (name: $0.0, value: $0.1) })
        switch (condition.answer(Self.timeline()), reason) {
        case (.met(let phone), nil): #expect(phone == 1)
        case (.unmet(let text), let expected?): #expect(text.hasPrefix(expected), "\(text)")
        case (let answer, _): Issue.record("\(answer)")
        }
    }

    @Test(arguments: [
        ([], "“activity” is missing"), ([("activity", "a"), ("value", "1")], "stands without “key”"),
        ([("activity", "a"), ("card", "up")], "expected active, stale"),
        ([("activity", "a"), ("timeout", "601")], "at most 600"),
        ([("activity", "a"), ("timeout", "soon")], "expected seconds"),
        ([("activity", "a"), ("activity", "b")], "given twice"),
        ([("activity", "a"), ("until", "b")], "is no parameter"),
    ])
    func aQuestionThatMakesNoSenseIsTold(parameters: [(String, String)], text: String) {
        do {
            _ = try WaitCondition(parameters.map { (name: $0.0, value: $0.1) })
            Issue.record("taken: \(parameters)")
        } catch {
            #expect(error.description.contains(text), "\(error.description)")
        }
    }

    @Test(arguments: [(nil as String?, 30.0), ("5", 5), ("0.5s", 0.5), ("0", 0)])
    func theTimeoutIsInSeconds(text: String?, seconds: Double) throws {
        let condition = try WaitCondition([("activity", "a")] + (text.map { [("timeout", $0)] } ?? []))
        #expect(condition.timeoutSeconds == seconds)
    }
}

struct SnippetsTests {
    @Test func aShellTakesWhateverIsInIt() {
        let event = #"{"event":"update","content-state":{"name":"O'Neil"}}"#
        let curl = Snippets.curl(origin: "http://127.0.0.1:8484", activity: "order 1/ä", event: event)
        #expect(
            curl
                == #"curl -sS 'http://127.0.0.1:8484/events?activity=order%201%2F%C3%A4' --data-binary '{"event":"update","content-state":{"name":"O'\''Neil"}}'"#
        )
        #expect(Snippets.kcat(bootstrap: "b:1", topic: "t", key: "a|b", event: "{}")?.contains("'a|b;{}'") == true)
        #expect(Snippets.kcat(bootstrap: "b:1", topic: "t", key: "a\nb", event: "{}") == nil)
        #expect(Snippets.kcat(bootstrap: "b:1", topic: "t", key: "|;~^#", event: "{}") == nil)
    }
}

struct MetricNumberTests {
    @Test func seriesAreAddedUp() {
        let text = """
            # HELP mailboat_events_consumed_total Events.
            mailboat_events_consumed_total 12
            mailboat_pushes_answered_total{result="accepted",route="a"} 3
            mailboat_pushes_answered_total{result="accepted",route="b"} 4
            mailboat_pushes_answered_total{result="refused",route="b"} 1
            mailboat_events_consumed_totally 9
            broken
            """
        let numbers = MetricNumber.read(text)
        #expect(numbers.map(\.value) == ["12", "7", "1"])
        #expect(numbers.map(\.label) == ["Events taken from Kafka", "Pushes accepted", "Pushes refused"])
        #expect(MetricNumber.read("").isEmpty)
    }
}
