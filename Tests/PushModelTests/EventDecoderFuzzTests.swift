import Foundation
import PushModel
import Testing

/// Tests that no bytes trap the decoder. An accepted event has the parts that an independent parser reads.
@Suite struct EventDecoderFuzzTests {
    private static let seeds: [String] = [
        EventDecoderTests.contractExample,
        #"{"event":"start","to":{"start-token":"00ffab","environment":"development"},"attributes-type":"A","attributes":{"a":[1,2.5e3]},"content-state":{"é":"\ud83c\udf55"},"alert":{"title":{"loc-key":"k","loc-args":["a","b"]},"body":"b"},"input-push-token":1}"#,
        #"{"event":"end","content-state":{"a":null},"dismissal-date":1685959200,"expires":1685959200,"id":"e1","x-a":{"b":[true,false]}}"#,
        #"{"event":"register","token":"80e0ff","app":"com.example.pizza","environment":"production","frequent-updates":true}"#,
        #"{"event":"unregister","audience":"match-7"}"#,
        #"{"event":"register","audience":"match-7","token-type":"start","channel-capable":true,"environment":"development"}"#,
        #"{"event":"register","channel":"dHN0+/8=","audience":"match-7","token-type":"update","frequent-updates":true}"#,
        #"{"event":"update","to":{"audience":"match-7"},"content-state":{"goals":1},"timestamp":1685952000}"#,
        #"{"event":"update","to":{"channel":"dHN0+/8="},"priority":"low","timestamp":1685952000,"content-state":{},"relevance-score":-0.5}"#,
        #"{"event":"end","to":{"channel":"AAAA","environment":"development"},"priority":1,"alert":null}"#,
    ]
    /// Words and signs with a meaning for the decoder. Mutations insert them.
    private static let pieces: [String] = [
        "\"", "\\", "{", "}", "[", "]", ",", ":", "0", "-", ".", "e", "1e9", "null", "true", "\\u", "\\ud800",
        "\\udc00", "é", "\u{0}", " ",
        "\"event\":\"end\"", "\"to\":{}", "\"alert\":{}", "\"x-a\":1", "\"token\":\"ab\"", "\"priority\":5", "{\"a\":",
        "\"audience\":\"a\",", "\"token-type\":\"start\",", "\"channel\":\"AAAA\",", "\"channel-capable\":true,",
        "[[[[[[[[", "\u{FEFF}",
    ]

    static func mutated(_ random: inout SplitMix64) -> [UInt8] {
        var bytes = Array(Self.seeds.randomElement(using: &random)!.utf8)
        // Most events get one mutation. With more, few would be accepted, and only accepted events are compared.
        for _ in 0..<[1, 1, 1, 2, 4].randomElement(using: &random)! {
            let place = Int.random(in: 0...bytes.count, using: &random)
            switch Int.random(in: 0..<9, using: &random) {
            case 5...7 where place < bytes.count: bytes[place] = Array("abz019 ".utf8).randomElement(using: &random)!
            case 0 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1 where place < bytes.count: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 2: bytes.insert(contentsOf: Self.pieces.randomElement(using: &random)!.utf8, at: place)
            case 3:
                let end = min(bytes.count, place + Int.random(in: 0..<12, using: &random))
                bytes.removeSubrange(place..<end)
            case 4:
                let end = min(bytes.count, place + Int.random(in: 0..<40, using: &random))
                let run = Array(bytes[place..<end])
                bytes.insert(contentsOf: run, at: Int.random(in: 0...bytes.count, using: &random))
            default: bytes.removeSubrange(place...)
            }
        }
        return bytes
    }

    /// Every mutated event is either refused with a text, or accepted with the parts that JSONSerialization reads.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func mutations(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var event = DecodedEvent()
        var takenCount = 0
        for _ in 0..<500 {
            let bytes = Self.mutated(&random)
            do {
                try EventDecoder.decode(bytes.span, into: &event)
            } catch {
                #expect(!error.reason.isEmpty && error.reason.utf8.count < 400 && error.field.utf8.count < 100)
                continue
            }
            takenCount += 1
            try Self.compare(event, with: bytes)
        }
        #expect(takenCount > 10, "the mutations are too wild to test what is taken")
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func noise(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<500 {
            var bytes = (0..<Int.random(in: 0..<60, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            if Bool.random(using: &random) { bytes.insert(UInt8(ascii: "{"), at: 0) }
            #expect(throws: EventRejection.self) { try decode(bytes: bytes) }
        }
    }

    /// Every prefix of a good event is refused.
    @Test(arguments: seeds)
    func prefixes(_ json: String) {
        let bytes = Array(json.utf8)
        for count in 0..<bytes.count {
            #expect(throws: EventRejection.self) { try decode(bytes: Array(bytes.prefix(count))) }
        }
    }

    /// Random JSON in all spellings is accepted and kept byte for byte. JSONSerialization reads the same values.
    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func randomContent(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for _ in 0..<50 {
            let state = RandomJSON.object(&random, depth: 5)
            let fields = [
                #""event":"update""#, #""content-state"\#(RandomJSON.space(&random)):\#(state)"#,
                #""x-b":\#(RandomJSON.value(&random, depth: 3))"#,
            ]
            let json = "{" + fields.shuffled(using: &random).joined(separator: RandomJSON.space(&random) + ",") + "}"
            let (event, value) = try decode(json)
            #expect(value.text(event.contentStateInValue) == state.trimmingCharacters(in: .whitespacesAndNewlines))
            try Self.compare(event, with: value)
        }
    }

    private static func compare(_ event: DecodedEvent, with bytes: [UInt8]) throws {
        let parsed: Any
        do {
            parsed = try JSONSerialization.jsonObject(with: Data(bytes))
        } catch let error as NSError
            where (error.userInfo[NSDebugDescriptionErrorKey] as? String)?.contains("not representable") == true
        {
            return  // Legal JSON (RFC 8259 §6 sets no range), but no Double.
        }
        let object = try #require(parsed as? [String: Any])
        #expect(object["event"] as? String == "\(event.kind.name)")
        func expect(_ field: String, _ range: ByteRange) throws {
            guard let expected = object[field] else {
                #expect(range.isEmpty)
                return
            }
            let part = try JSONSerialization.jsonObject(with: Data(bytes[range.range]), options: .fragmentsAllowed)
            #expect((part as? NSObject) == (expected as? NSObject))
        }
        try expect("content-state", event.contentStateInValue)
        if object["alert"] is NSNull {
            #expect(event.withdrawsAlert && event.alertInValue.isEmpty)
        } else {
            #expect(!event.withdrawsAlert)
            try expect("alert", event.alertInValue)
        }
        if let priority = object["priority"] as? NSNumber {
            #expect(priority.intValue == Int(event.priority.rawValue))
            #expect(event.priority != .lowest || event.target == .channel)
        }
        try expect("attributes", event.attributesInValue)
        try expect("attributes-type", event.attributesTypeInValue)
        try expect("relevance-score", event.relevanceScoreInValue)
        try expect("input-push-channel", event.inputPushChannelInValue)
        #expect((object["timestamp"] as? NSNumber)?.int64Value == event.timestampSeconds)
        #expect((object["stale-date"] as? NSNumber)?.int64Value == event.staleDateSeconds)
        #expect(
            (object["dismissal-date"] as? NSNumber).map { max(0, $0.int64Value) } == event.dismissalDateSeconds)
        #expect((object["expires"] as? NSNumber)?.int64Value == event.expiresSeconds)
        #expect((object["app"] as? String ?? "") == Self.text(event, event.appInText))
        #expect((object["id"] as? String ?? "") == Self.text(event, event.eventIDInText))
        let to = object["to"] as? [String: Any] ?? [:]
        let environment = (object["environment"] ?? to["environment"]) as? String
        #expect(event.isEnvironmentGiven == (environment != nil))
        #expect((environment ?? "production") == "\(event.environment)")
        let token = (object["token"] ?? to["token"] ?? to["start-token"]) as? String ?? ""
        var digits: [UInt8] = []
        Hex.append(event.text.span.extracting(event.tokenInText.range), to: &digits)
        #expect(String(decoding: digits, as: UTF8.self) == token.lowercased())
        #expect(event.isStartMember == (object["token-type"] as? String == "start"))
        #expect(event.channelCapable == (object["channel-capable"] as? Bool ?? false))
        #expect(object["channel"] as? String ?? "" == Self.text(event, event.channelInText))
        if object["audience"] != nil { #expect(event.target == .audience && event.tokenInText.isEmpty) }
        #expect(
            (object["audience"] ?? to["audience"] ?? to["channel"]) as? String ?? ""
                == Self.text(event, event.audienceInText))
    }

    /// A text as Foundation reads it. Foundation drops a byte order mark at the beginning of a string.
    private static func text(_ event: DecodedEvent, _ range: ByteRange) -> String {
        let text = event.text.text(range).unicodeScalars
        return String(text.first == "\u{FEFF}" ? text.dropFirst() : text[...])
    }
}

/// Writes random JSON in all its spellings.
enum RandomJSON {
    static func space(_ random: inout SplitMix64) -> String {
        ["", "", "", " ", "\t", "\r\n", "  "].randomElement(using: &random)!
    }

    static func value(_ random: inout SplitMix64, depth: Int) -> String {
        let value =
            switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
            case 0: "null"
            case 1: ["true", "false"].randomElement(using: &random)!
            case 2, 3: Self.number(&random)
            case 4, 5: Self.string(&random)
            case 6:
                "["
                    + (0..<Int.random(in: 0..<4, using: &random)).map { _ in Self.value(&random, depth: depth - 1) }
                    .joined(separator: ",")
                    + Self.space(&random) + "]"
            default: Self.object(&random, depth: depth - 1)
            }
        return Self.space(&random) + value + Self.space(&random)
    }

    static func object(_ random: inout SplitMix64, depth: Int) -> String {
        let members = (0..<Int.random(in: 0..<5, using: &random)).map { number in
            // Each name contains a number and is unique, because parsers treat repeated names differently.
            Self.space(&random) + "\"\(number)" + Self.string(&random).dropFirst() + Self.space(&random) + ":"
                + Self.value(&random, depth: depth - 1)
        }
        return "{" + members.joined(separator: ",") + Self.space(&random) + "}"
    }

    static func number(_ random: inout SplitMix64) -> String {
        let sign = Bool.random(using: &random) ? "-" : ""
        let whole = Bool.random(using: &random) ? "0" : "\(Int.random(in: 1..<1_000_000_000_000, using: &random))"
        let fraction = Bool.random(using: &random) ? "" : ".\(Int.random(in: 0..<100_000, using: &random))"
        let exponent =
            Bool.random(using: &random)
            ? ""
            : ["e", "E"].randomElement(using: &random)! + ["", "+", "-"].randomElement(using: &random)!
                + "\(Int.random(in: 0..<20, using: &random))"
        return sign + whole + fraction + exponent
    }

    static func string(_ random: inout SplitMix64) -> String {
        let pieces = [
            "a", "Z", "0", " ", "driver", "é", "€", "🍕", "\u{7F}", "\\\"", "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r",
            "\\t", "\\u0041", "\\u00e9",
            "\\ud83c\\udf55", "'", "{", "]", ":", ",",
        ]
        return "\""
            + (0..<Int.random(in: 0..<12, using: &random)).map { _ in pieces.randomElement(using: &random)! }.joined()
            + "\""
    }
}
