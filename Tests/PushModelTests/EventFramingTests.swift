import PushModel
import Testing

/// Tests of the prefixes and envelopes that serializers put around an event. The decoder skips or opens them, or
/// refuses them by name.
@Suite struct EventFramingTests {
    private static let event = #"{"event":"update","content-state":{"n":1},"id":"own"}"#
    private static let registry: [UInt8] = [0, 0, 1, 0x86, 0xA1]
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private static func decode(_ value: [UInt8], _ framing: EventFraming) throws(EventRejection) -> DecodedEvent {
        var event = DecodedEvent()
        try EventDecoder.decode(value.span, framing: framing, into: &event)
        return event
    }

    private static func rejection(_ value: [UInt8], _ framing: EventFraming) -> EventRejection? {
        do throws(EventRejection) {
            _ = try Self.decode(value, framing)
            return nil
        } catch { return error }
    }

    private static func cloudEvent(_ members: String...) -> [UInt8] {
        Array(#"{"specversion":"1.0","type":"t","source":"/s",\#(members.joined(separator: ","))}"#.utf8)
    }

    @Test(
        "A prefix is passed over, and content keeps its place in the value",
        arguments: [registry, mark, registry + mark])
    func prefixIsPassedOver(prefix: [UInt8]) throws {
        let value = prefix + Array(Self.event.utf8)
        let event = try Self.decode(value, .auto)
        #expect(value.text(event.contentStateInValue) == #"{"n":1}"#)
        #expect(event.text.text(event.eventIDInText) == "own")
    }

    @Test("Without framing a prefix is refused by its name")
    func prefixIsRefused() throws {
        let registry = try #require(Self.rejection(Self.registry + Array(Self.event.utf8), .none))
        #expect(
            registry
                == EventRejection(
                    field: "value",
                    reason:
                        "begins with the five bytes of a schema registry (schema 100001): expected one JSON object. "
                        + "Write it without, or set “events.framing” to “auto”"))
        let mark = try #require(Self.rejection(Self.mark + Array(Self.event.utf8), .none))
        #expect(mark.reason.hasPrefix("begins with a byte order mark: expected one JSON object"))
        #expect(Self.rejection(Array(Self.event.utf8), .none) == nil)
    }

    @Test("What stands behind a prefix is judged as ever")
    func restIsJudged() throws {
        let field = try #require(Self.rejection(Self.registry + Array(#"{"event":"stop"}"#.utf8), .auto))
        #expect(field.field == "event" && field.reason.hasPrefix(#"is "stop": expected"#))
        let binary = try #require(Self.rejection(Self.registry + [0, 2, 7], .auto))
        #expect(binary.field == "value" && binary.reason.hasSuffix("events are JSON, neither Avro nor Protobuf"))
        // This value is too short to have a prefix.
        #expect(Self.rejection([0, 0, 0, 0, 1], .auto)?.reason.hasPrefix("is not valid JSON: at byte 0") == true)
        let large = Self.registry + Array(repeating: UInt8(ascii: " "), count: EventDecoder.valueByteCountMax)
        #expect(Self.rejection(large, .auto)?.reason == "has 16389 bytes: at most 16384 are allowed")
    }

    @Test(
        "The data of a CloudEvent is the event, and its id the event's, wherever they stand",
        arguments: [
            (cloudEvent(#""id":"ce-\u0031","data":{"event":"update","content-state":{"n":1}}"#), "ce-1"),
            (cloudEvent(#""data":{"event":"update","content-state":{"n":1}},"id":"ce-2""#), "ce-2"),
            (cloudEvent(#""id":"ce","data":\#(event)"#), "own"),
            // Neither an extension with the name of an event's field nor the producer's time counts as a field of the
            // event.
            (
                cloudEvent(
                    #""priority":"urgent","time":"2038-01-19T03:14:08Z","id":"ce-3""#,
                    #""data":{"event":"update","content-state":{"n":1}}"#), "ce-3"
            ),
        ])
    func cloudEventIsOpened(value: [UInt8], id: String) throws {
        for value in [value, Self.registry + value] {
            let event = try Self.decode(value, .auto)
            #expect(value.text(event.contentStateInValue) == #"{"n":1}"#)
            #expect(event.text.text(event.eventIDInText) == id)
            #expect(event.timestampSeconds == nil && event.priority == .low)
        }
        #expect(Self.rejection(value, .none)?.reason.hasPrefix("is a CloudEvent in structured mode") == true)
    }

    @Test(
        "A CloudEvent without an event is refused by what it lacks",
        arguments: [
            (cloudEvent(#""id":"a""#), "data", "is missing or no object"),
            (cloudEvent(#""id":"a","data":"{}""#), "data", "is missing or no object"),
            (cloudEvent(#""id":"a","data_base64":"e30=""#), "data", "is given as “data_base64”"),
            (cloudEvent(#""data":\#(event)"#), "id", "is missing: expected the id of this CloudEvent"),
            (cloudEvent(#""id":"","data":\#(event)"#), "id", "is missing: expected the id of this CloudEvent"),
            (cloudEvent(#""id":"a","data":{"event":"stop"}"#), "event", #"is "stop""#),
            // A CloudEvent inside another is not opened.
            (cloudEvent(#""id":"a","data":{"specversion":"1.0"}"#), "specversion", "is not a field"),
        ])
    func cloudEventIsRefused(value: [UInt8], field: String, reason: String) throws {
        let found = try #require(Self.rejection(value, .auto))
        #expect(found.field == field && found.reason.hasPrefix(reason))
    }

    @Test("An object without specversion is no CloudEvent, whatever else it has")
    func otherEnvelopesAreForeign() {
        let value = Array(#"{"id":"a","data":\#(Self.event)}"#.utf8)
        #expect(Self.rejection(value, .auto)?.field == "data")
        // The JSON is broken after the first foreign field, and the rejection names that field.
        let broken = Array(#"{"specversion":"1.0","id":"a""#.utf8)
        #expect(Self.rejection(broken, .auto)?.field == "specversion")
    }

    @Test("A key keeps its bytes: quotes and a registry's prefix are refused by name")
    func keysAreNotRewritten() throws {
        func rejection(_ key: [UInt8]) -> EventRejection? {
            do throws(EventRejection) {
                try EventRules.checkKey(key.span)
                return nil
            } catch { return error }
        }
        let quoted = try #require(rejection(Array("\"o-1\"".utf8)))
        #expect(
            quoted.field == "key" && quoted.reason.hasPrefix("is in quotes, as a JSON serializer writes a string"))
        let framed = try #require(rejection(Self.registry + Array("o-1".utf8)))
        #expect(
            framed.field == "key"
                && framed.reason.hasPrefix("begins with the five bytes of a schema registry (schema 100001)"))
        for key in ["o-1", "\"", "\"o", "o\"", "o\"1"] { #expect(rejection(Array(key.utf8)) == nil) }
    }
}
