import DeviceModel
import Testing

@testable import PushInspection

/// Tests of an end that APNs accepted and the phone did not show. The worker then counts the activity as ended, and the
/// card is still up.
struct UnshownEndTests {
    private static let advice =
        "The card is still up, and the worker counts the activity as ended: register its token under a new key, and publish the corrected end there."

    /// A timeline with a phone of `order-1` whose card is up.
    private static func shown() throws -> (timeline: Timeline, phone: Int) {
        var timeline = TimelineTests.timeline()
        Self.publish(#"{"event":"register","token":"\#(TimelineTests.token)"}"#, at: 0, &timeline)
        timeline.listPush(TimelineTests.push())
        let id = try #require(timeline.phone(activity: "order-1")?.id)
        Self.show(.active, id, &timeline)
        return (timeline, id)
    }

    private static func show(_ card: Shown.Card, _ id: Int, _ timeline: inout Timeline) {
        var shown = Device().shown(atSeconds: 0)
        shown.card = card
        shown.contentState = Array(#"{"minutes":12}"#.utf8)
        timeline.setShown(shown, isOnline: true, of: id)
    }

    private static func publish(_ value: String, at offset: Int64, _ timeline: inout Timeline) {
        _ = timeline.takeEvent(
            at: EventPosition(partition: 0, offset: offset), key: Array("order-1".utf8), value: Array(value.utf8),
            nowMillis: TimelineTests.now)
    }

    private static func end(_ phone: ObservedPush.Phone) -> ObservedPush {
        var push = TimelineTests.push(id: "id-2", phone: phone)
        push.body = Array(#"{"aps":{"event":"end","timestamp":1795600000,"content-state":{"status":"done"}}}"#.utf8)
        return push
    }

    /// Publishes another end, for which the worker's outcome is `late`.
    private static func lateText(_ timeline: inout Timeline) throws -> String {
        Self.publish(#"{"event":"end","content-state":{"minutes":0}}"#, at: 3, &timeline)
        let late = try #require(timeline.entries.last?.id)
        try timeline.takeOutcome(
            #require(
                EventOutcome.read(
                    TimelineTests.outcome("late", at: 3, more: #","reason":"the activity has ended""#), topic: "events")?
                    .outcome),
            of: EventPosition(partition: 0, offset: 3))
        return timeline.summary(of: try #require(timeline.entry(late)))
    }

    /// Both the push and the phone say what to do about an end that the app cannot decode, and the late event does.
    @Test func anEndThatCannotBeDecodedSaysWhatToDo() throws {
        var (timeline, id) = try Self.shown()
        timeline.listPush(Self.end(.couldNotDecode("“minutes” is missing")))
        let push = try #require(timeline.entries.last)
        #expect(
            timeline.summary(of: push)
                == "The app cannot decode the push, and nothing of it is shown: “minutes” is missing. \(Self.advice)")
        let status = timeline.phones[id].flatMap(timeline.status)
        #expect(status?.word == .verdict(.undecodable) && status?.text.hasSuffix(Self.advice) == true)
        #expect(try Self.lateText(&timeline) == "Late (the activity has ended). \(Self.advice)")
    }

    /// A card that has ended, or whose user swiped it away, is not called up.
    @Test func aCardThatIsNotUpGetsNoSuchAdvice() throws {
        var (ended, id) = try Self.shown()
        ended.listPush(Self.end(.took(.shown)))
        Self.show(.ended, id, &ended)
        #expect(
            try Self.lateText(&ended) == "Late (the activity has ended): start it again, or use a new key.")
        var (swiped, other) = try Self.shown()
        swiped.setSwiped(other)
        swiped.listPush(Self.end(.couldNotDecode("“minutes” is missing")))
        #expect(swiped.phones[other]?.lastVerdict?.text.hasSuffix("“minutes” is missing.") == true)
        #expect(!(try Self.lateText(&swiped)).contains("still up"))
    }

    /// An update that cannot be decoded does not end the activity.
    @Test func anUpdateThatCannotBeDecodedEndsNothing() throws {
        var (timeline, _) = try Self.shown()
        timeline.listPush(TimelineTests.push(id: "id-2", phone: .couldNotDecode("“minutes” is missing")))
        #expect(timeline.entries.last.map(timeline.summary)?.contains("ended") == false)
    }

    /// A date in a start's attributes that the app misreads marks the push and its phone.
    @Test func aDateInTheAttributesOfAStartIsDoubtful() throws {
        var timeline = TimelineTests.timeline()
        var push = TimelineTests.push()
        push.body = Array(
            #"{"aps":{"event":"start","timestamp":1795600000,"attributes-type":"P","attributes":{"orderedAt":1795894000},"content-state":{"minutes":12}}}"#
                .utf8)
        let id = timeline.listPush(push)
        Self.show(.active, id, &timeline)
        let entry = timeline.json(try #require(timeline.entries.last))
        #expect(entry["word"] == "date?" && entry["dates"]?.text.contains("attributes.orderedAt") == true)
        let status = try #require(timeline.phones[id].flatMap(timeline.status))
        #expect(status.word == .doubtfulDate && status.text.contains("“attributes.orderedAt”"), "\(status.text)")
        let phone = timeline.json(try #require(timeline.phones[id]))
        #expect(phone["dates"]?.text.contains("attributes.orderedAt") == true)
    }
}
