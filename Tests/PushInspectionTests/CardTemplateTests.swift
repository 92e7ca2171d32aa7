@testable import DeviceModel
import Testing

@testable import PushInspection

struct CardTemplateTests {
    private func read(_ text: String) throws -> [CardTemplate] {
        try CardTemplate.read(JSONTree.parse(Array(text.utf8)))
    }

    private func face(
        _ templates: [CardTemplate], _ content: String, activity: String = "order-1", type: String = ""
    ) throws -> CardFace {
        CardFace(
            try JSONTree.parse(Array(content.utf8)), templates: templates, activity: activity, attributesType: type)
    }

    @Test func aTemplateSaysWhatStandsWhere() throws {
        let templates = try self.read(
            #"{"title":"driver.name","lines":["minutes",{"label":"Price","key":"price"}],"progress":"done","timer":"eta","leading":"code"}"#
        )
        let face = try self.face(
            templates, #"{"driver":{"name":"Anne"},"minutes":12,"done":40,"eta":817292800,"code":"A7"}"#)
        #expect(face.template == .own)
        #expect(face.headline == "Anne")
        #expect(
            face.rows == [
                .init(name: "minutes", value: "12", key: "minutes"), .init(name: "Price", value: "—", key: "price"),
            ])
        #expect(face.missing == ["price"])
        #expect(face.progress == 0.4)
        #expect(face.timerSeconds == 1_795_600_000)
        #expect(face.leading == "A7")
        #expect(face.trailing == "40 %")
    }

    /// The API gives the texts that the page draws for dates, beside the numbers that arrived.
    @Test func theAPIHasTheTextsOfTheCard() throws {
        var timeline = TimelineTests.timeline()
        let id = timeline.meet(token: TimelineTests.token, activity: "order-1", app: "")
        timeline.setTemplates(try self.read(#"{"lines":["eta","wrong","minutes"],"timer":"eta","trailing":"wrong"}"#))
        var shown = Device().shown(atSeconds: 0)
        shown.card = .active
        shown.contentState = Array(#"{"eta":817292800,"wrong":1795600000,"minutes":12}"#.utf8)
        timeline.setShown(shown, isOnline: true, of: id)
        let face = try #require(timeline.phones[id].map(timeline.json)?["face"])
        let rows = if case .array(let rows)? = face["rows"] { rows } else { [JSONTree]() }
        #expect(rows.map { $0["value"]?.plainText } == ["817292800", "1795600000", "12"])
        #expect(rows.map { $0["text"]?.plainText } == ["2026-11-25 09:46 UTC", "2057-11-25 09:46 UTC", "12"])
        #expect(face["timer"] == .integer(1_795_600_000) && face["timerText"] == "2026-11-25 09:46:40 UTC")
        #expect(face["trailing"] == "1795600000" && face["trailingText"] == "2057", "an island has no room for more")
        #expect(face["minimal"] == "1795…" && face["minimalText"] == "2057")
        timeline.setTemplates([])
        let own = try #require(timeline.phones[id].map(timeline.json)?["face"])
        #expect(own["leading"] == "817292800" && own["leadingText"] == "09:46 UTC")
    }

    @Test func theFirstThatFitsDrawsTheCard() throws {
        let templates = try self.read(
            #"""
            {"templates":[
              {"when":{"activity":"match-*","keys":["home"]},"title":"home"},
              {"when":{"attributes-type":"Pizza"},"title":"slice"},
              {"when":{"activity":"order-1"},"title":"status"}
            ]}
            """#)
        #expect(try self.face(templates, #"{"home":1}"#, activity: "match-7").headline == "1")
        #expect(try self.face(templates, #"{"slice":3,"home":1}"#, type: "Pizza").headline == "3")
        #expect(try self.face(templates, #"{"status":"x"}"#).headline == "x")
        // No template matches this activity, so the keys of the content choose the card.
        #expect(try self.face(templates, #"{"home":1,"away":0}"#, activity: "order-2").template == .match)
    }

    @Test func whatIsReadCanBeWrittenAndReadAgain() throws {
        let templates = try self.read(
            #"{"when":{"activity":"a*","attributes-type":"B","keys":["c"]},"title":"d","lines":["e",{"label":"F","key":"g"}],"progress":"h","timer":"i","leading":"j","trailing":"k","minimal":"l"}"#
        )
        #expect(try CardTemplate.read(["templates": .array(templates.map(\.json))]) == templates)
    }

    @Test(arguments: [
        (#"[]"#, "expected an object"), (#"{}"#, "draws nothing"),
        (#"{"titel":"a"}"#, "“titel” is not a field: expected when, title"),
        (#"{"title":7}"#, "“title” is 7: expected a text"), (#"{"title":""}"#, "“title” is \"\""),
        (#"{"title":"a","when":[]}"#, "“when” is []: expected an object"),
        (#"{"title":"a","when":{"key":"b"}}"#, "“when.key” is not a field: expected activity"),
        (#"{"lines":["a","b","c","d","e","f","g"]}"#, "expected at most 6"),
        (#"{"lines":[{"label":"a"}]}"#, "“lines.0.key” is missing"),
        (#"{"lines":[3]}"#, "“lines.0” is 3: expected a key"),
        (#"{"templates":[{"title":"a"},{"timer":5}]}"#, "“templates.1.timer” is 5"),
        (#"{"templates":[{"title":"a"}],"title":"b"}"#, "the only member"), (#"{"templates":{}}"#, "must be an array"),
        (
            "{\"templates\":[" + Array(repeating: #"{"title":"a"}"#, count: 17).joined(separator: ",") + "]}",
            "at most 16"
        ),
    ])
    func whatIsNoTemplateIsToldWhy(text: String, reason: String) {
        let error = #expect(throws: CardTemplate.Fault.self) { try self.read(text) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }

    @Test func aTemplateHoldsForCardsThatAreUp() throws {
        var timeline = TimelineTests.timeline()
        let id = timeline.meet(token: TimelineTests.token, activity: "order-1", app: "")
        timeline.setShown(
            .init(
                card: .active, contentState: Array(#"{"a":"x","b":"y"}"#.utf8), relevanceScore: nil,
                staleDateSeconds: nil, dismissedAtSeconds: nil, newestAlert: [], alertCount: 0),
            isOnline: true, of: id)
        #expect(timeline.phones[id]?.face?.template == .generic)
        let revision = timeline.revision
        timeline.setTemplates(try self.read(#"{"title":"b"}"#))
        #expect(timeline.phones[id]?.face?.headline == "y")
        #expect(timeline.revision > revision, "browsers are told")
        timeline.setTemplates([])
        #expect(timeline.phones[id]?.face?.template == .generic)
    }
}
