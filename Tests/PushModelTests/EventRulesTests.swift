import PushModel
import Testing

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
            check([]) == EventRejection(field: "key", reason: "is empty: expected the activity, audience or channel id")
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
