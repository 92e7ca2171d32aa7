import PushInspection
import PushModel
import Testing

struct EventReadingTests {
    struct Row {
        var key: String? = "order-1"
        var value: String?
        /// Field that the expected refusal names, or `nil` if the event is accepted.
        var field: String?
    }

    @Test(arguments: [
        Row(value: #"{"event":"update","content-state":{"n":1}}"#),
        Row(value: #"{"event":"register","token":"0a1b2c3d"}"#),
        Row(key: nil, value: #"{"event":"update","content-state":{}}"#, field: "key"),
        Row(key: "", value: #"{"event":"update","content-state":{}}"#, field: "key"), Row(value: nil, field: "value"),
        Row(value: "no JSON", field: "value"), Row(value: #"{"event":"update"}"#, field: "content-state"),
        Row(value: #"{"event":"update","contentState":{}}"#, field: "contentState"),
        Row(value: #"{"event":"update","content-state":{},"timestamp":99999}"#, field: "timestamp"),
        Row(value: #"{"event":"update","content-state":{},"to":{"activity":"order-2"}}"#, field: "to.activity"),
        Row(
            value: #"{"event":"update","content-state":{"x":"\#(String(repeating: "x", count: 4_100))"}}"#,
            field: "payload"),
    ])
    func aRecordIsJudgedAsAWorkerDoes(row: Row) {
        let reading = EventReading(
            key: row.key.map { Array($0.utf8) }, value: row.value.map { Array($0.utf8) }, nowSeconds: 1_000)
        #expect(reading.rejection?.field == row.field, "\(reading.rejection?.reason ?? "taken")")
        #expect((reading.event == nil) == (row.field != nil))
    }

    /// A refused record still has a kind, which its line on the page begins with.
    @Test(arguments: [
        (#"{"event":"update","contentState":{}}"#, EventKind.update), (#"{"content-state":1,"event":"end"}"#, .end),
        (#"{"event":"refresh"}"#, nil), (#"{"event":1}"#, nil), ("no JSON", nil),
        (#"{"specversion":"1.0","id":"1","source":"s","type":"t","data":{"event":"end"}}"#, .end),
    ])
    func aRefusedRecordHasAKind(value: String, kind: EventKind?) {
        #expect(EventReading(key: Array("a".utf8), value: Array(value.utf8), nowSeconds: 1_000).kind == kind)
    }

    @Test(arguments: [("0a1b2c3d", "0a1b…"), (String(repeating: "ab", count: 32), "abababab…"), ("a", "…")])
    func aTokenIsNeverWhole(token: String, shown: String) {
        #expect(TokenHiding.shortened(token) == shown)
        let whole = json(#"{"token":"\#(token)"}"#)
        #expect(TokenHiding.publishable(whole) == whole, "half of one pushes to nobody")
        let event = json(#"{"token":"\#(token)","to":{"start-token":"\#(token)"},"x":["kept",1]}"#)
        #expect(
            TokenHiding.hidden(event).text == #"{"token":"\#(shown)","to":{"start-token":"\#(shown)"},"x":["kept",1]}"#)
    }

    /// The page computes the hash of a token as outcomes do. `TailTests` checks the outcomes' side.
    @Test(arguments: [
        ("666f6f626172", "85944171f73967e8"), ("666F6F626172", "85944171f73967e8"), ("abc", ""), ("", ""),
    ])
    func aTokensHashIsThatOfOutcomes(token: String, hash: String) { #expect(TokenHiding.hash(token) == hash) }

    /// A token that is in an event by mistake is hidden, wherever it is.
    @Test(arguments: [
        (#"{"drivers":{"\#(Self.token)":1}}"#, #"{"drivers":{"0a0a0a0a…(64 digits)":1}}"#),
        (#"{"a":[{"of \#(Self.token)!":{}}]}"#, #"{"a":[{"of 0a0a0a0a…(64 digits)!":{}}]}"#),
        (#"{"a":\#(Self.decimalToken)}"#, #"{"a":"12121212…(64 digits)"}"#),
        (#"{"token":[\#(Self.decimalToken)]}"#, #"{"token":["12121212…(64 digits)"]}"#),
        (#"{"a":{"x":"\#(Self.token)"}}"#, #"{"a":{"x":"0a0a0a0a…(64 digits)"}}"#),
        // None of these values is a token.
        (#"{"name":3.14159,"9f86d081884c7d659a2feaa0c55ad015":[true,null]}"#, nil as String?),
    ])
    func aTokenIsFoundWhereverItStands(event: String, shown: String?) {
        #expect(TokenHiding.hidden(json(event)).text == shown ?? event)
        #expect(TokenHiding.withoutStrayTokens(json(event)).text == shown ?? event)
    }

    private static let token = String(repeating: "0a", count: 32)
    private static let decimalToken = String(repeating: "12", count: 32)
}
