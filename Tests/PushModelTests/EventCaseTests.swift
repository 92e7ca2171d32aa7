import Foundation
import PushModel
import Testing

/// Tests that the decoder judges the cases of `Tests/SchemaCases/events.json` as expected. `.ci/check-schemas.py`
/// checks the JSON Schema with the same cases.
@Suite struct EventCaseTests {
    private struct Table: Decodable {
        /// The worker's clock in seconds since 1970, which is also the record's time.
        var now: Int64
        var cases: [Case]
    }
    private struct Case: Decodable {
        var name: String
        var key: String
        /// The field that the rejection names, or `nil` if the event is accepted.
        var refused: String?
        var fill: Fill?
        /// The record's value as text, for cases that depend on its spelling.
        var text: String?
    }
    /// The text that replaces `FILL`. The table has the characters and how often they are repeated.
    private struct Fill: Decodable {
        var text: String
        init(from decoder: any Decoder) throws {
            var parts = try decoder.unkeyedContainer()
            let characters = try parts.decode(String.self)
            self.text = String(repeating: characters, count: try parts.decode(Int.self))
        }
    }

    /// The rejection of one record by a worker that accepts any app.
    private static func rejection(key: [UInt8], value: [UInt8], nowSeconds: Int64) -> EventRejection? {
        do throws(EventRejection) {
            try EventRules.checkKey(key.span)
            var event = DecodedEvent()
            try EventDecoder.decode(value.span, into: &event)
            try EventRules.checkTarget(event, key: key.span)
            let isRegistration = event.kind == .register || event.kind == .unregister
            if isRegistration, event.target == .audience {
                var token: [UInt8] = []
                try EventRules.memberToken(key: key.span, into: &token)
            }
            try EventRules.checkContent(
                event, value: value.span, eventSeconds: event.timestampSeconds ?? nowSeconds, nowSeconds: nowSeconds)
            return nil
        } catch { return error }
    }

    @Test func everyCaseIsJudgedAsTheTableSays() throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let data = try Data(contentsOf: tests.appending(path: "SchemaCases/events.json"))
        let table = try JSONDecoder().decode(Table.self, from: data)
        // The values have any shape, so `Decodable` cannot read them.
        let parsed = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let objects = try #require(parsed["cases"] as? [[String: Any]])
        #expect(table.cases.count > 250, "the test finds what it looks for")
        for (example, object) in zip(table.cases, objects) {
            var (key, text) = (example.key, example.text ?? "")
            if example.text == nil {
                let value = try #require(object["value"])
                text = String(
                    decoding: try JSONSerialization.data(withJSONObject: value, options: .sortedKeys), as: UTF8.self)
            }
            if let fill = example.fill?.text {
                key = key.replacing("FILL", with: fill)
                text = text.replacing("FILL", with: fill)
            }
            let found = Self.rejection(key: Array(key.utf8), value: Array(text.utf8), nowSeconds: table.now)
            #expect(found?.field == example.refused, "\(example.name): \(found?.reason ?? "was taken")")
        }
    }
}
