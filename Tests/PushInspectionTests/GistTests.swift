import Testing

@testable import PushInspection

/// Tests of the few words that show how one line of the timeline differs from the others.
struct GistTests {
    private static func gists(_ events: [(key: String, value: String)]) -> [String] {
        var timeline = TimelineTests.timeline()
        for (offset, event) in events.enumerated() {
            _ = timeline.takeEvent(
                at: EventPosition(partition: 0, offset: Int64(offset)), key: Array(event.key.utf8),
                value: Array(event.value.utf8), nowMillis: TimelineTests.now)
        }
        return timeline.entries.map { timeline.json($0)["gist"]?.plainText ?? "" }
    }

    @Test func anEventIsToldByItsAlertOrByWhatItChanges() {
        let long = String(repeating: "x", count: 200)
        let token = String(repeating: "ab", count: 32)
        let gists = Self.gists([
            ("order-1", #"{"event":"update","content-state":{"status":"Baking","minutes":12}}"#),
            ("order-2", #"{"event":"update","content-state":{"status":"Baking","minutes":9}}"#),
            ("order-1", #"{"event":"update","content-state":{"status":"Baking","minutes":11}}"#),
            ("order-1", #"{"event":"update","content-state":{"status":"Baking"}}"#),
            (
                "order-1",
                #"{"event":"update","content-state":{"status":"Here"},"alert":{"title":"At the door","body":"Anne"}}"#
            ),
            ("order-1", #"{"event":"end"}"#), ("order-1", #"{"event":"update","content-state":{"status":"\#(long)"}}"#),
            ("order-1", #"{"event":"register","token":"\#(token)"}"#),
            (token, #"{"event":"register","audience":"match-7"}"#), ("order-1", #"{"event":"nonsense"}"#),
        ])
        #expect(
            gists == [
                #"status: "Baking", 1 more"#, #"status: "Baking", 1 more"#, "minutes: 11", "minutes removed",
                "alert “At the door”", "", String(#"status: ""# + long.prefix(70)) + "…", "token abababab…",
                "audience match-7", "",
            ])
    }

    /// A removed field is counted separately from the fields that the event brings.
    @Test func whatIsGoneIsCountedApart() {
        let gists = Self.gists([
            ("order-1", #"{"event":"update","content-state":{"status":"Baking","minutes":12,"driver":"Anne"}}"#),
            ("order-1", #"{"event":"end","content-state":{"status":"Delivered","progress":1}}"#),
            ("order-1", #"{"event":"end","content-state":{}}"#),
        ])
        #expect(
            gists == [
                #"status: "Baking", 2 more"#, #"status: "Delivered", 1 more, 2 gone"#, "status removed, 1 gone",
            ])
    }

    @Test(arguments: [
        ("%@ scores!", ["Power Panda"], "Power Panda scores!"), ("%2$@ before %1$@", ["a", "b"], "b before a"),
        ("%@, %@ and %@", ["a", "b"], "a, b and %@"), ("%0$@ %9$@ 50 %", ["a"], "%0$@ %9$@ 50 %"), ("%@", [], "%@"),
    ])
    func aLocalizedTextHasItsArguments(text: String, arguments: [String], filled: String) {
        let list = JSONTree.array(arguments.map { .string($0) })
        let alert: JSONTree = ["title": ["loc-key": .string(text), "loc-args": list], "body": "1:0"]
        #expect(Gist.text(alert: alert, changes: []) == "alert “\(filled)”")
        #expect(AlertText(["title": "1:0", "body": ["loc-key": .string(text), "loc-args": list]]).body == filled)
    }

    @Test func aPushIsToldBySoMuch() throws {
        var timeline = TimelineTests.timeline()
        timeline.takePush(TimelineTests.push())
        timeline.takePush(TimelineTests.push(id: "id-2", content: #"{"minutes":11,"late":true}"#))
        #expect(
            timeline.entries.map { timeline.json($0)["gist"]?.plainText } == ["minutes: 12", "minutes: 11, 1 more"])
    }
}
