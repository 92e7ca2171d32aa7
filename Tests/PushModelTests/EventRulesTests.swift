import Testing

@testable import PushModel

@Suite struct EventRulesTests {
    private static func rejection(_ check: () throws(EventRejection) -> Void) -> EventRejection? {
        do {
            try check()
            return nil
        } catch { return error }
    }

    @Test func keys() {
        func check(_ key: [UInt8]) -> EventRejection? {
            Self.rejection { () throws(EventRejection) in try EventRules.checkKey(key.span) }
        }
        #expect(check(Array("a".utf8)) == nil)
        #expect(check([UInt8](repeating: 0x61, count: 256)) == nil)
        #expect(check(Array("🍕".utf8)) == nil)
        #expect(
            check([])
                == EventRejection(
                    field: "key", reason: "is empty: expected the activity, audience or channel id, or a member's token"
                )
        )
        #expect(
            check([UInt8](repeating: 0x61, count: 257))
                == EventRejection(field: "key", reason: "has 257 bytes: at most 256 are allowed"))
        #expect(check([0x61, 0xFF]) == EventRejection(field: "key", reason: "is not UTF-8: the fault is at byte 1"))
    }

    @Test func timestampsAheadOfTheClock() {
        func check(_ timestampSeconds: Int64) -> EventRejection? {
            Self.rejection { () throws(EventRejection) in
                try EventRules.checkTimestamp(timestampSeconds, nowSeconds: 1_700_000_000)
            }
        }
        #expect(check(0) == nil)
        #expect(check(.min) == nil)
        #expect(check(1_700_000_300) == nil)
        #expect(
            check(1_700_000_301)
                == EventRejection(
                    field: "timestamp",
                    reason: "1700000301 is 301 s ahead of this worker's clock (1700000000): at most 300 s are allowed, "
                        + "because the phone would ignore everything after it"))
        #expect(check(.max) != nil)
        #expect(throws: EventRejection.self) { try EventRules.checkTimestamp(.max, nowSeconds: .min) }
    }

    private static func targetRejection(_ json: String, key: String) throws -> EventRejection? {
        let event = try decode(json).event
        let bytes = Array(key.utf8)
        return Self.rejection { () throws(EventRejection) in try EventRules.checkTarget(event, key: bytes.span) }
    }

    @Test func whatToNamesIsTheKey() throws {
        func check(_ to: String, key: String) throws -> EventRejection? {
            try Self.targetRejection(#"{"event":"end","to":{\#(to)}}"#, key: key)
        }
        #expect(try check(#""channel":"AB+/""#, key: "AB+/") == nil)
        #expect(try check(#""channel":"AB+\/""#, key: "AB+/") == nil)
        #expect(
            try check(#""channel":"AB+/""#, key: "AB+/=")
                == EventRejection(
                    field: "to.channel",
                    reason: #""AB+/" differs from the record's key: expected the same channel id"#))
        #expect(try check(#""activity":"a""#, key: "a") == nil)
        #expect(
            try check(#""activity":"a""#, key: "b")
                == EventRejection(
                    field: "to.activity", reason: #""a" differs from the record's key: expected the same activity id"#))
        #expect(try check(#""audience":"a""#, key: "a") == nil)
        #expect(
            try check(#""audience":"a""#, key: "b")
                == EventRejection(
                    field: "to.audience", reason: #""a" differs from the record's key: expected the same audience id"#))
    }

    @Test func aStartGoesToAStartTokenOrAnAudience() throws {
        func check(_ to: String) throws -> EventRejection? {
            try Self.targetRejection(
                #"{"event":"start","to":{\#(to)},"attributes-type":"A","attributes":{},"content-state":{},"#
                    + #""alert":{"title":"","body":""}}"#, key: "a")
        }
        #expect(try check(#""audience":"a""#) == nil)
        #expect(try check(#""start-token":"ab""#) == nil)
        #expect(try check(#""audience":"b""#)?.field == "to.audience")
    }

    @Test func theKeyOfAMemberIsNoneOfItsAudience() throws {
        for kind in ["register", "unregister"] {
            #expect(try Self.targetRejection(#"{"event":"\#(kind)","audience":"a"}"#, key: "00ff") == nil)
        }
    }

    /// Byte count of the payload of an update whose content and alert have the given sizes, and the rejection if there
    /// is one.
    private static func sized(
        _ target: String, content: Int, alert: Int
    ) throws -> (payloadByteCount: Int, rejection: EventRejection?) {
        let state = #"{"a":"\#(String(repeating: "a", count: content - 8))"}"#
        let text = #"{"title":"","body":"\#(String(repeating: "b", count: alert - 22))"}"#
        let (event, value) = try decode(
            #"{"event":"update","to":{"\#(target)":"AAAA"},"content-state":\#(state),"alert":\#(text)}"#)
        let byteCount = PayloadWriter.byteCount(
            kind: .update, stampSeconds: 1_700_000_000, content: PayloadContent(of: event), source: value.span,
            alert: value.span.extracting(event.alertInValue.range))
        let found = Self.rejection { () throws(EventRejection) in
            try EventRules.checkContent(
                event, value: value.span, eventSeconds: 1_700_000_000, nowSeconds: 1_700_000_000)
        }
        #expect(found == nil || EventRules.mayBeTooLarge(valueByteCount: value.count))
        return (byteCount, found)
    }

    /// A payload for a channel may be larger than one for an activity, but its content alone must not be larger. Sizes
    /// around each limit are tried byte by byte.
    @Test(arguments: [
        ("activity", 3_000, 900..<1_100), ("activity", 22, 3_850..<4_100), ("channel", 3_000, 1_900..<2_200),
        ("channel", 22, 4_900..<5_200), ("channel", 4_096, 800..<1_100), ("audience", 3_000, 900..<1_100),
    ])
    func aPayloadHasTheLimitOfItsTarget(target: String, content: Int, alerts: Range<Int>) throws {
        let limit = PayloadWriter.payloadByteCountMax(for: target == "channel" ? .channel : .activity)
        #expect(limit == (target == "channel" ? 5_120 : 4_096))
        var (takenMax, refusedMin) = (0, Int.max)
        for alert in alerts {
            let (byteCount, rejection) = try Self.sized(target, content: content, alert: alert)
            if let rejection {
                refusedMin = min(refusedMin, byteCount)
                #expect(rejection.field == "payload" && rejection.reason.contains("at most \(limit) (of these"))
            } else {
                takenMax = max(takenMax, byteCount)
            }
        }
        #expect(takenMax == limit && refusedMin == limit + 1)
    }

    @Test func aContentThatAPhoneWouldNotTakeIsNotBroadcast() throws {
        for content in 4_050...4_200 {
            let rejection = try Self.sized("channel", content: content, alert: 22).rejection
            #expect((rejection == nil) == (content <= 4_096))
            guard content > 4_096 else { continue }
            #expect(
                rejection
                    == EventRejection(
                        field: "content-state",
                        reason: "has \(content) bytes: a Live Activity takes at most 4096, also by broadcast"))
        }
    }

    /// Escapes that could be plain characters are reported with the bytes that they cost. Python's `json.dumps` writes
    /// an emoji in 12 bytes by default.
    @Test(arguments: [
        (#"\ud83c\udf55"#, 12, 8), (#"\u00e9"#, 6, 4), (#"\u20ac"#, 6, 3), (#"\u0041"#, 6, 5),
        (#"\n\u000a\u0022\u005C"#, 20, 0),
    ])
    func escapesThatNeedNotBeAreTold(escapes: String, byteCount: Int, spared: Int) throws {
        let bytes = Array(escapes.utf8)
        let sparedByteCount = JSONEscape.sparedByteCount(in: bytes.span)
        #expect(bytes.count == byteCount && sparedByteCount == spared)
        let count = 4_200 / byteCount
        for target in [#""activity":"a""#, #""channel":"AAAA""#] {
            let (event, value) = try decode(
                #"{"event":"update","to":{\#(target)},"content-state":{"a":"\#(String(repeating: escapes, count: count))"}}"#
            )
            let found = Self.rejection { () throws(EventRejection) in
                try EventRules.checkContent(
                    event, value: value.span, eventSeconds: 1_700_000_000, nowSeconds: 1_700_000_000)
            }
            let reason = try #require(found).reason
            #expect(reason.contains("; \(count * spared) bytes fewer with UTF-8") == (spared > 0), "\(reason)")
            #expect(reason.contains("ensure_ascii=False") == (spared > 0), "\(reason)")
        }
    }

    @Test func aPayloadOverItsLimitNamesWhatIsBig() throws {
        var content = PayloadContent()
        content.contentState = ByteRange(start: 0, count: 900)
        content.attributes = ByteRange(start: 900, count: 3_000)
        #expect(
            EventRules.payloadTooLarge(byteCount: 4_412, limit: 4_096, content: content, alertByteCount: 300)
                == EventRejection(
                    field: "payload",
                    reason:
                        "would have 4412 bytes: APNs takes at most 4096 (of these: attributes 3000, content-state 900, alert 300)"
                ))
    }
}
