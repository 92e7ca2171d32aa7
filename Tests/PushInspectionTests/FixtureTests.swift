import DeviceModel
import Testing

@testable import PushInspection

/// Tests of the fixtures that users copy into their own tests.
struct FixtureTests {
    private func story(_ value: String) throws -> (timeline: Timeline, event: TimelineEntry, push: TimelineEntry) {
        var timeline = TimelineTests.timeline()
        _ = timeline.takeEvent(
            at: EventPosition(partition: 0, offset: 7), key: Array("order-1".utf8), value: Array(value.utf8),
            nowMillis: TimelineTests.now)
        var push = TimelineTests.push(content: #"{"minutes":12,"secret":"\#(TimelineTests.token)"}"#)
        push.expirationSeconds = 1_795_700_000
        timeline.takePush(push)
        let record = TimelineTests.outcome("delivered", at: 7, more: #","apns-id":"id-1","status":200"#)
        let read = try #require(EventOutcome.read(record, topic: "events"))
        timeline.takeOutcome(read.outcome, of: read.position)
        return (timeline, try #require(timeline.entry(1)), try #require(timeline.entry(2)))
    }

    @Test func itHasTheEventThePushAndWhatBecameOfBoth() throws {
        let (timeline, event, push) = try self.story(
            #"{"event":"update","to":{"token":"\#(TimelineTests.token)"},"content-state":{"minutes":12}}"#)
        let fixture = try #require(timeline.fixture(of: event))
        #expect(fixture == timeline.fixture(of: push), "of a push, the story of its event")
        #expect(fixture["event"]?["key"] == "order-1")
        #expect(fixture["outcome"]?["name"] == "delivered")
        guard case .array(let pushes)? = fixture["pushes"] else {
            Issue.record("no pushes: \(fixture.text)")
            return
        }
        #expect(pushes.count == 1)
        #expect(pushes[0]["headers"]?["apns-topic"] == "com.example.app.push-type.liveactivity")
        #expect(pushes[0]["headers"]?["apns-expiration"] == "1795700000")
        #expect(pushes[0]["payload"]?["aps"]?["content-state"]?["minutes"] == .integer(12))
        #expect(pushes[0]["answer"]?["status"] == .integer(200))
        #expect(pushes[0]["verdict"]?["word"] == "shown")
        #expect(fixture["event"]?["value"]?["to"]?["token"] == .string(TimelineTests.token))
        #expect(!(fixture["pushes"]?.text.contains(TimelineTests.token) ?? true), "a whole device token is told")
    }

    @Test func aRegistrationCanBePublishedAgain() throws {
        let (timeline, event, _) = try self.story(#"{"event":"register","token":"\#(TimelineTests.token)"}"#)
        let value = timeline.fixture(of: event)?["event"]?["value"]
        #expect(value == ["event": "register", "token": .string(TimelineTests.token)])
    }

    @Test func aPayloadThatIsNoJSONHidesATokenToo() throws {
        var timeline = TimelineTests.timeline()
        var push = TimelineTests.push()
        push.body = Array("to \(TimelineTests.token)".utf8)
        timeline.takePush(push)
        let fixture = try #require(timeline.entry(1).flatMap { timeline.fixture(of: $0) })
        #expect(fixture.text.contains(#""payload":"to "#), "\(fixture.text)")
        #expect(!fixture.text.contains(TimelineTests.token), "a whole device token is told")
    }

    @Test func aRejectedEventHasItsReasonAndNoPush() throws {
        var timeline = TimelineTests.timeline()
        _ = timeline.takeEvent(
            at: EventPosition(partition: 0, offset: 7), key: Array("order-1".utf8),
            value: Array(#"{"event":"update","contentState":{}}"#.utf8), nowMillis: TimelineTests.now)
        let fixture = try #require(timeline.entry(1).flatMap { timeline.fixture(of: $0) })
        #expect(fixture["rejection"]?["field"] == "contentState")
        #expect(fixture["pushes"] == .array([]))
        timeline.addNote("Something happened.", phone: 0, nowMillis: TimelineTests.now)
        #expect(timeline.entry(2).map { timeline.fixture(of: $0) == nil } == true)
    }

    @Test func theSwiftTestExpectsWhatTheContentHas() throws {
        let content = try JSONTree.parse(
            Array(
                ##"{"status":"say \"hi\" \\#(x)","eta":800000000,"stops":2,"share":0.5,"isLate":false,"driver-name":"Anne","note":null,"lines":["a\nb"],"two\nlines":"a\nb"}"##
                    .utf8))
        let code = SwiftCode.test(of: content, activity: "order 7")
        #expect(code.contains("@Test func order7DecodesItsContentState() throws {"))
        #expect(code.contains("    #expect(state.status == ##\"say \"hi\" \\#(x)\"##)"))
        #expect(code.contains("    #expect(state.eta == Date(timeIntervalSinceReferenceDate: 800000000))"))
        #expect(
            code.contains(
                "    #expect(state.stops == 2)\n    #expect(state.share == 0.5)\n    #expect(state.isLate == false)"))
        #expect(code.contains(#"    #expect(state.driverName == "Anne")"#))
        #expect(code.contains("    #expect(state.note == nil)"))
        #expect(!code.contains("state.lines"))
        #expect(SwiftCode.test(of: .object([]), activity: "7").contains("    _ = state\n}\n"))
    }
}
