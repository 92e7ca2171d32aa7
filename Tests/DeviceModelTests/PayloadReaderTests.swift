import DeviceModel
import Testing

/// Tests of what counts as a Live Activity payload.
@Suite struct PayloadReaderTests {
    private static func fault(_ body: String) -> String {
        do {
            _ = try PayloadReader.read(Array(body.utf8).span)
            return "none"
        } catch {
            return "\(error.kind) \(error)"
        }
    }

    private static func aps(_ rest: String) -> String {
        #"{"aps":{"timestamp":1,"event":"update","content-state":{}\#(rest)}}"#
    }

    static let faults: [(body: String, fault: String)] = [
        ("", "unreadable byte 0: expected '{'"),
        ("[]", "unreadable byte 0: expected '{'"),
        ("{}", "unreadable aps: missing"),
        (#"{"aps":1}"#, "unreadable byte 7: expected an object"),
        (#"{"aps":{}} x"#, "unreadable byte 11: expected the end of the body"),
        (#"{"aps":{}"#, "unreadable byte 9: expected ','"),
        (#"{"aps":{"timestamp":01}}"#, "unreadable byte 21: expected ','"),
        (#"{"aps":{},"aps":{}}"#, "unreadable byte 11: expected one 'aps', this is a second"),
        (#"{"x":[1,2,,3],"aps":{}}"#, "unreadable byte 10: expected a value"),
        (#"{"x":tru,"aps":{}}"#, "unreadable byte 5: expected a value"),
        (#"{"x":1.,"aps":{}}"#, "unreadable byte 7: expected a digit"),
        (#"{"x":1e+,"aps":{}}"#, "unreadable byte 8: expected a digit"),
        (#"{"x":"\q","aps":{}}"#, "unreadable byte 7: expected an escape of JSON"),
        (#"{"x":"\u12g4","aps":{}}"#, #"unreadable byte 10: expected four hexadecimal digits after \u"#),
        ("{\"x\":\"\u{1}\",\"aps\":{}}", "unreadable byte 6: expected an escaped control character"),
        (#"{"x":"abc"#, "unreadable byte 9: expected the end of a string"),
        (#"{"x":{"a":1,},"aps":{}}"#, #"unreadable byte 12: expected '"'"#),
        (#"{"x":{"a" 1},"aps":{}}"#, "unreadable byte 10: expected ':'"),
        (#"{"x":[1 2],"aps":{}}"#, "unreadable byte 8: expected ',' or ']'"),
        (#"{"x":[1},"aps":{}}"#, "unreadable byte 7: expected ',' or ']'"),
        (#"{"x":\#(String(repeating: "[", count: 65))"#, "unreadable byte 69: expected at most 64 levels"),
        (#"{"aps":{}}"#, "meaning aps.event: missing, an event 'update' requires it"),
        (
            #"{"aps":{"event":"update","content-state":{}}}"#,
            "meaning aps.timestamp: missing, an event 'update' requires it"
        ),
        (#"{"aps":{"event":"change"}}"#, #"meaning aps.event: expected "start", "update" or "end""#),
        (
            #"{"aps":{"event":"update","timestamp":1}}"#,
            "meaning aps.content-state: missing, an event 'update' requires it"
        ),
        (aps(#","timestamp":2"#), "meaning aps.timestamp: given twice"),
        (aps(#","colour":2"#), "meaning aps: unknown key 'colour'"),
        (aps(#","stale-date":"7""#), "meaning aps.stale-date: expected a number of seconds since 1970"),
        (aps(#","stale-date":7.5"#), "meaning aps.stale-date: expected whole seconds since 1970"),
        (aps(#","stale-date":-7"#), "meaning aps.stale-date: expected whole seconds since 1970"),
        (aps(#","stale-date":1760000000000"#), "meaning aps.stale-date: expected seconds since 1970, not milliseconds"),
        (aps(#","relevance-score":"high""#), "meaning aps.relevance-score: expected a number"),
        (aps(#","relevance-score":1e999"#), "meaning aps.relevance-score: expected a number"),
        (aps(#","dismissal-date":7"#), "meaning aps.dismissal-date: does not belong to an event 'update'"),
        (aps(#","attributes":{}"#), "meaning aps.attributes: does not belong to an event 'update'"),
        (aps(#","input-push-token":1"#), "meaning aps.input-push-token: does not belong to an event 'update'"),
        (aps(#","alert":"hello""#), "meaning aps.alert: expected an object"),
        (aps(#","alert":{"title":1}"#), #"meaning aps.alert: title and body are a string or {"loc-key", "loc-args"}"#),
        (
            aps(#","alert":{"body":{"loc-args":[]}}"#),
            #"meaning aps.alert: title and body are a string or {"loc-key", "loc-args"}"#
        ),
        (aps(#","alert":{"sound":true}"#), "meaning aps.alert.sound: expected a string"),
        (
            String(decoding: Pushes.start(1, "{}", #","input-push-token":0"#), as: UTF8.self),
            "meaning aps.input-push-token: expected 1"
        ),
        (
            String(
                decoding: Pushes.start(1, "{}", #","input-push-token":1,"input-push-channel":"abc""#), as: UTF8.self),
            "meaning aps.input-push-channel: given together with input-push-token"
        ),
        (
            #"{"aps":{"timestamp":1,"event":"start","content-state":{},"attributes-type":"P","attributes":{}}}"#,
            "meaning aps.alert: missing, an event 'start' requires it"
        ),
    ]

    @Test(arguments: Self.faults)
    func whatIsWrongIsNamed(body: String, fault: String) { #expect(Self.fault(body) == fault) }

    @Test func invalidUTF8IsUnreadable() {
        for bytes in [
            [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82], [0x80], [0xF0, 0x80, 0x80, 0x80],
        ] as [[UInt8]] {
            let body = Array(#"{"aps":{},"x":""#.utf8) + bytes + Array(#""}"#.utf8)
            #expect(throws: PayloadFault(kind: .unreadable, key: "", problem: "byte 15: expected UTF-8")) {
                try PayloadReader.read(body.span)
            }
        }
    }

    @Test func everythingAtOnceIsRead() throws {
        let text = #"""
             { "x-mine": [1, {"a": null}, "\u00e9é😀", -0.5e-3, true, [], {}] ,
             "aps" : { "content-available": 0, "timestamp": 1685952000, "event": "end", "content-state": { "a" : 1.0e2 },
               "alert": {"title": {"loc-key": "%@ fell!", "loc-args": ["Panda"]}, "body": "Now", "sound": "x.mp4", "mine": 1},
               "stale-date": 1685959200, "dismissal-date": 1685960000, "relevance-score": 100 } }
            """#
        let body = Array(text.utf8)
        let content = try PayloadReader.read(body.span)
        #expect(content.event == .end)
        #expect(content.stampSeconds == 1_685_952_000)
        #expect(String(decoding: body[content.contentState], as: UTF8.self) == #"{ "a" : 1.0e2 }"#)
        #expect(String(decoding: body[content.alert].prefix(10), as: UTF8.self) == #"{"title": "#)
        #expect(content.staleDateSeconds == 1_685_959_200)
        #expect(content.dismissalDateSeconds == 1_685_960_000)
        #expect(content.relevanceScore == 100)
    }

    @Test func aStartIsReadWhole() throws {
        let body = Pushes.start(3, "{}", #","input-push-channel":"dGVzdA==""#)
        let content = try PayloadReader.read(body.span)
        #expect(content.event == .start)
        #expect(String(decoding: body[content.attributesType], as: UTF8.self) == #""Pizza""#)
        #expect(String(decoding: body[content.attributes], as: UTF8.self) == #"{"id":7}"#)
        #expect(String(decoding: body[content.inputPushChannel], as: UTF8.self) == #""dGVzdA==""#)
        #expect(!content.inputPushToken)
    }

    /// Valid payloads with changed, missing or doubled bytes never trap the reader.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func damagedBodiesAreAnsweredNotTrapped(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var device = Device()
        let good = [
            Pushes.start(1), Pushes.update(2, #"{"é":[1,{"b":"\u00e9"}]}"#, Pushes.alert("A")),
            Pushes.end(3, #","dismissal-date":4"#),
        ]
        for round in 0..<500 {
            var body = good[round % 3]
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: 0..<body.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: body[index] = UInt8.random(in: 0...255, using: &random)
                case 1: body.removeSubrange(index..<min(body.count, index + 3))
                default: body.insert(contentsOf: body[index..<min(body.count, index + 5)], at: index)
                }
                if body.isEmpty { break }
            }
            _ = try? device.push(body: body, priority: 10, nowMillis: Int64(round))
        }
    }
}
