import Foundation
import PushModel
import Testing

@Suite struct PayloadWriterTests {
    /// The payload of an event with the given stamp.
    private static func payload(_ json: String, stampSeconds: Int64 = 1_700_000_000) throws -> (
        text: String, object: [String: Any]
    ) {
        let (event, value) = try decode(json)
        let content = PayloadContent(of: event)
        let alert = value.span.extracting(event.alertInValue.range)
        var body: [UInt8] = [0x21]
        PayloadWriter.append(
            kind: event.kind, stampSeconds: stampSeconds, content: content, source: value.span, alert: alert, to: &body)
        let byteCount = PayloadWriter.byteCount(
            kind: event.kind, stampSeconds: stampSeconds, content: content, source: value.span, alert: alert)
        #expect(byteCount == body.count - 1)
        body.removeFirst()
        let object = try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
        return (String(decoding: body, as: UTF8.self), try #require(object["aps"] as? [String: Any]))
    }

    @Test func anUpdate() throws {
        let (text, aps) = try Self.payload(EventDecoderTests.contractExample)
        #expect(
            text == #"{"aps":{"event":"update","timestamp":1700000000,"#
                + #""content-state":{"driverName": "Anne", "estimatedDeliveryTime": 1659416400},"#
                + #""alert":{"title": {"loc-key": "%@ is knocked down!", "loc-args": ["Power Panda"]}, "body": "Use a potion!", "sound": "HeroDown.mp4"},"#
                + #""stale-date":1685959200,"relevance-score":100}}"#)
        #expect(Set(aps.keys) == ["event", "timestamp", "content-state", "alert", "stale-date", "relevance-score"])
    }

    @Test func aStartWithAToken() throws {
        let (text, aps) = try Self.payload(
            #"{"event":"start","to":{"start-token":"ab"},"content-state":{"a":1},"attributes-type":"T","attributes":{"b":2},"alert":{"title":"t","body":"b"},"input-push-token":1}"#
        )
        #expect(
            text
                == #"{"aps":{"event":"start","timestamp":1700000000,"content-state":{"a":1},"attributes-type":"T","attributes":{"b":2},"#
                + #""input-push-token":1,"alert":{"title":"t","body":"b"}}}"#)
        #expect(aps["input-push-token"] as? Int == 1)
    }

    @Test func aStartWithAChannel() throws {
        let (_, aps) = try Self.payload(
            #"{"event":"start","to":{"start-token":"ab"},"content-state":{},"attributes-type":"T","attributes":{},"alert":{"title":"t","body":"b"},"input-push-channel":"dHN0\/8=="}"#
        )
        #expect(aps["input-push-channel"] as? String == "dHN0/8==")
        #expect(aps["input-push-token"] == nil)
    }

    @Test func anEnd() throws {
        let (text, _) = try Self.payload(#"{"event":"end","dismissal-date":0}"#, stampSeconds: 9)
        #expect(text == #"{"aps":{"event":"end","timestamp":9,"dismissal-date":0}}"#)
    }

    /// Parts from the event have sizes around the limit for composing the payload at once. Numbers have their maximum
    /// length.
    @Test(arguments: [EventKind.start, .update, .end])
    func everySize(kind: EventKind) {
        for size in [0, 1, 200, 600, 639, 640, 641, 1_023, 1_024, 1_025, 4_000] {
            for other in [0, 3, 300, 700, 1_100] {
                func part(_ count: Int) -> String { String(repeating: "x", count: count) }
                let source = [size, 5, other, 7, 9].map { part($0) }.joined(separator: "")
                var content = PayloadContent()
                content.contentState = ByteRange(start: 0, count: size)
                content.attributesType = ByteRange(start: size, count: 5)
                content.attributes = ByteRange(start: size + 5, count: other)
                content.relevanceScore = ByteRange(start: size + 5 + other, count: 7)
                content.inputPushChannel = ByteRange(start: size + 5 + other + 7, count: 9)
                content.inputPushToken = true
                content.staleDateSeconds = .min
                content.dismissalDateSeconds = .min
                let alert = Array(part(other).utf8)
                var expected = "!{\"aps\":{\"event\":\"\(kind.name)\",\"timestamp\":\(Int64.min)"
                if size > 0 { expected += ",\"content-state\":" + part(size) }
                if kind == .start {
                    expected += ",\"attributes-type\":" + part(5)
                    if other > 0 { expected += ",\"attributes\":" + part(other) }
                    expected += ",\"input-push-token\":1,\"input-push-channel\":" + part(9)
                }
                if other > 0 { expected += ",\"alert\":" + part(other) }
                expected += ",\"stale-date\":\(Int64.min)"
                if kind == .end { expected += ",\"dismissal-date\":\(Int64.min)" }
                expected += ",\"relevance-score\":" + part(7) + "}}"
                var body: [UInt8] = [UInt8(ascii: "!")]
                let bytes = Array(source.utf8)
                PayloadWriter.append(
                    kind: kind, stampSeconds: .min, content: content, source: bytes.span, alert: alert.span, to: &body)
                let byteCount = PayloadWriter.byteCount(
                    kind: kind, stampSeconds: .min, content: content, source: bytes.span, alert: alert.span)
                #expect(String(decoding: body, as: UTF8.self) == expected)
                #expect(byteCount == body.count - 1)
                let parts = source.utf8.count + alert.count
                #expect(byteCount - parts <= PayloadWriter.framingByteCountMax, "what an event's own size is judged by")
            }
        }
    }

    /// Parts that only a start or an `end` has are not written into an update, although the pending update may still
    /// have them.
    @Test func whatDoesNotApplyIsNotWritten() {
        let source = Array(#"{}"T""#.utf8)
        var content = PayloadContent()
        content.contentState = ByteRange(start: 0, count: 2)
        content.attributes = ByteRange(start: 0, count: 2)
        content.attributesType = ByteRange(start: 2, count: 3)
        content.inputPushChannel = ByteRange(start: 2, count: 3)
        content.inputPushToken = true
        content.dismissalDateSeconds = 5
        var body: [UInt8] = []
        PayloadWriter.append(
            kind: .update, stampSeconds: 1, content: content, source: source.span, alert: ([UInt8]()).span, to: &body)
        #expect(
            String(decoding: body, as: UTF8.self) == #"{"aps":{"event":"update","timestamp":1,"content-state":{}}}"#)
    }

    /// Every part from the event is in the body byte for byte, and an independent parser reads it there.
    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func carriedPartsArriveByteForByte(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for _ in 0..<20 {
            let state = "{" + RandomJSON.object(&random, depth: 4).dropFirst()
            let attributes = RandomJSON.object(&random, depth: 3)
            let title = RandomJSON.string(&random)
            let alert = #"{"title":\#(title),"body":{"loc-key":"k","loc-args":[\#(RandomJSON.string(&random))]}}"#
            let score = RandomJSON.number(&random)
            let (text, aps) = try Self.payload(
                #"{"event":"start","to":{"start-token":"ab"},"content-state":\#(state),"attributes-type":"T","attributes":\#(attributes),"alert":\#(alert),"relevance-score":\#(score)}"#,
                stampSeconds: Int64.random(in: 1...9_999_999_999, using: &random))
            #expect(
                text.contains(
                    #""content-state":\#(state),"attributes-type":"T","attributes":\#(attributes),"alert":\#(alert),"relevance-score":\#(score)}}"#
                ))
            let expected = try JSONSerialization.jsonObject(with: Data(state.utf8)) as? NSObject
            #expect(aps["content-state"] as? NSObject == expected)
        }
    }
}
