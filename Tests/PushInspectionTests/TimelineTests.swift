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

    /// The worker refuses an event of an unknown app. So the page makes no phone for it, because that phone would never
    /// get a push.
    @Test func anEventOfNoAppOfTheWorkerAsksForNoPhone() {
        var timeline = Timeline(app: "", apps: ["com.example.app", "com.example.other"])
        #expect(self.take(&timeline, #"{"event":"update","content-state":{"minutes":12}}"#, at: 0) == nil)
        #expect(
            self.take(&timeline, #"{"app":"com.x","event":"update","content-state":{"minutes":12}}"#, at: 1) == nil)
        #expect(
            self.take(&timeline, #"{"app":"com.x","event":"register","token":"\#(Self.token)"}"#, at: 2) == nil)
        #expect(timeline.phones.isEmpty && timeline.entries.count == 3)
        // The refused event does not affect the next one.
        let good = #"{"app":"com.example.other","event":"update","content-state":{"minutes":12}}"#
        #expect(
            self.take(&timeline, good, at: 3) == .phone(activity: "order-1", app: "com.example.other"))

        var single = Timeline(app: "com.example.app", apps: ["com.example.app"])
        #expect(self.take(&single, #"{"event":"update","content-state":{"minutes":12}}"#, at: 0) != nil)
        #expect(single.isTaken(app: "com.example.app") && !single.isTaken(app: "com.x"))
        #expect(Self.timeline().isTaken(app: "com.x"), "of a worker whose apps are not known")
    }

    /// A kept push that arrives when a phone comes back online is not shown if the phone's card was swiped away.
    @Test func aCardThatWasSwipedAwayShowsNothingMore() throws {
        var timeline = Self.timeline()
        let id = timeline.meet(token: Self.token, activity: "order-1", app: "")
        var shown = Device().shown(atSeconds: 0)
        shown.contentState = Array(#"{"minutes":12}"#.utf8)
        timeline.setShown(shown, isOnline: false, of: id)
        timeline.setSwiped(id)
        shown.contentState = Array(#"{"minutes":11}"#.utf8)
        timeline.setShown(shown, isOnline: true, of: id)
        let phone = try #require(timeline.phones[id])
        let content = try JSONTree.parse(Array(#"{"minutes":12}"#.utf8))
        #expect(phone.isOnline && phone.content == content)
        timeline.listPush(Self.push())
        let pushes = timeline.entries.compactMap { entry -> TimelineEntry.Push? in
            if case .push(let push) = entry.body { push } else { nil }
        }
        #expect(pushes.last?.verdict.word == .ignored && pushes.last?.verdict.text.contains("swiped") == true)
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

    /// An update right after a start must not make another phone. That phone's token would replace the token that the
    /// started card reports a moment later.
    @Test func anActivityThatAPushStartsAsksForNoPhone() {
        var timeline = Self.timeline()
        let start =
            #"{"event":"start","to":{"start-token":"\#(Self.token)"},"attributes-type":"A","attributes":{},"content-state":{},"alert":{"title":"","body":""}}"#
        #expect(self.take(&timeline, start, at: 0) == nil)
        #expect(timeline.phone(activity: "order-1")?.token == Self.token)
        #expect(self.take(&timeline, #"{"event":"update","content-state":{}}"#, at: 1) == nil)
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
                == "Delivered: APNs accepted the push that 2 events were merged into, at priority 5 instead of 10: the hourly budget is spent."
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
        #expect(timeline.entry(3)?.related == [5, 6], "what failed stands there before there is an outcome")
        #expect(timeline.entry(2)?.related == [] && timeline.entry(4)?.related == [])
        #expect(try timeline.search(EntryQuery("is:event")).map(\.id) == [3, 1])
        #expect(try timeline.search(EntryQuery("is:push is:delivered")).map(\.id) == [6, 5])
        #expect(try timeline.search(EntryQuery("is:event status:410")).map(\.id) == [3])
    }

    @Test func attemptsThatFailedBeforeTheirEventWasReadBelongToIt() throws {
        var timeline = Self.timeline()
        _ = self.take(&timeline, #"{"event":"register","token":"\(Self.token)"}"#, at: 0)
        timeline.takePush(Self.push(id: "before"))
        timeline.takePush(Self.push(id: "id-0", status: 503, reason: "ServiceUnavailable", phone: .notReached))
        _ = self.take(&timeline, #"{"event":"update","priority":10,"content-state":{"minutes":12}}"#, at: 1)
        timeline.takePush(Self.push())
        try self.outcome(
            &timeline, "delivered", at: 1, more: #","apns-id":"id-1","status":200,"priority":10,"merged":1"#)
        #expect(timeline.entry(4)?.related == [5, 3])
        #expect(timeline.entry(3)?.related == [4])
        #expect(timeline.entry(2)?.related == [], "what APNs took for another event")
    }

    @Test func aSupersededEventNamesTheOneThatTookItsPlace() throws {
        var timeline = Self.timeline()
        _ = self.take(&timeline, #"{"event":"update","content-state":{"minutes":12}}"#, at: 0)
        _ = self.take(&timeline, #"{"event":"update","content-state":{"minutes":11}}"#, at: 1)
        try self.outcome(
            &timeline, "superseded", at: 0,
            more: #","into":{"topic":"events","partition":0,"offset":1},"kept":["alert"]"#)
        let first = try #require(timeline.entry(1))
        #expect(timeline.summary(of: first) == "Superseded by event 2 before it was sent. Its alert is kept there.")
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
        // A push that the phone does not show changes nothing on the phone.
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
        #expect(change["phones"]?.value(at: "0.verdict.word") == "unseen")
        #expect(change["phones"]?.value(at: "1") == nil)
    }

    @Test func onlySoMuchIsKept() throws {
        var timeline = Self.timeline {
            $0.entriesMax = 20
            $0.phonesMax = 3
            $0.earlyOutcomesMax = 5
            $0.slotsMax = 10
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
        // An event does not bring back a forgotten phone. The phone comes back with its next push.
        #expect(timeline.phone(activity: "order-195") == nil)
        #expect(self.take(&timeline, #"{"event":"update","content-state":{}}"#, key: "order-195", at: 500) == nil)
        timeline.takePush(Self.push(id: "again", token: String(repeating: "0", count: 62) + "c3"))
        #expect(timeline.phone(activity: "order-195") != nil)
        // An outcome of a forgotten event changes nothing.
        try self.outcome(&timeline, "applied", at: 0)
    }

    @Test func aTokenIsUntoldUntilItIsRegistered() throws {
        var timeline = Self.timeline()
        let new = String(repeating: "cd", count: 32)
        _ = self.take(&timeline, #"{"event":"register","token":"\#(Self.token)"}"#, at: 0)
        let phone = try #require(timeline.phone(activity: "order-1"))
        timeline.addToken(new, to: phone.id, isReported: false)
        #expect(timeline.phones[phone.id]?.unreportedToken == new)
        #expect(timeline.phone(token: new)?.id == phone.id)
        _ = self.take(&timeline, #"{"event":"register","token":"\#(new)"}"#, at: 1)
        #expect(timeline.phones[phone.id]?.unreportedToken == nil)
        #expect(timeline.phones.count == 1)
    }

    struct Missing: Error {}
}
