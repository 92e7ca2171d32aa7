import DeviceModel
import Testing

@testable import PushInspection

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
            "“minutes” is 12.0, not 11. The last push: The card shows what the push brought. The last event: Waits in the worker."
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

    /// If a wait for an activity gives the id of an audience, the answer says so.
    @Test func aWaitForAnAudienceByTheWrongNameIsTold() throws {
        var timeline = Self.timeline()
        _ = timeline.takeEvent(
            at: EventPosition(partition: 0, offset: 2), key: Array("match-7".utf8),
            value: Array(#"{"event":"update","to":{"audience":"match-7"},"content-state":{}}"#.utf8),
            nowMillis: TimelineTests.now)
        let answer = try WaitCondition([(name: "activity", value: "match-7")]).answer(timeline)
        guard case .unmet(let text) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(text.hasSuffix("It is for an audience: expected “audience” here."), "\(text)")
    }

    @Test(arguments: [
        ([], "“activity” is missing"), ([("activity", "a"), ("value", "1")], "is given without “key”"),
        ([("activity", "a"), ("card", "up")], "expected active, stale"),
        ([("activity", "a"), ("timeout", "601")], "at most 600"),
        ([("activity", "a"), ("timeout", "soon")], "expected seconds"),
        ([("activity", "a"), ("activity", "b")], "given twice"),
        ([("activity", "a"), ("until", "b")], "is not a parameter"),
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
