import APNSProtocol
import Testing

@Suite struct ErrorBodyTests {
    private static func parse(_ text: String) -> (reason: String, timestampMillis: Int64?) {
        ErrorBody.parse(Array(text.utf8).span)
    }

    @Test(
        arguments: [
            (#"{"reason":"BadDeviceToken"}"#, "BadDeviceToken", nil),
            (#"{"reason":"Unregistered","timestamp":1700000000123}"#, "Unregistered", 1_700_000_000_123),
            (#" { "timestamp" : 1 , "more" : {"reason":"x"} , "reason" : "ExpiredToken" } "#, "ExpiredToken", 1),
            (#"{"re\u0061son":"Bad\u0054opic"}"#, "BadTopic", nil),
            ("", "", nil), ("{}", "", nil), ("null", "", nil), ("[\"reason\"]", "", nil),
            ("<html>502 Bad Gateway</html>", "", nil),
            (#"{"reason":"Shutdown","timestamp":17000"#, "Shutdown", 17_000),
            (#"{"reason":"Shutdown","timest"#, "Shutdown", nil), (#"{"reason":"Shut"#, "", nil),
            (#"{"reason":"Shutdown"} trailing"#, "Shutdown", nil),
            (#"{"reason":7,"timestamp":"1700000000123"}"#, "", nil), (#"{"reason":"A","timestamp":1.5}"#, "A", nil),
            (#"{"reason":"A","timestamp":99999999999999999999}"#, "A", nil),
            (#"{"reason":"a\nb\u0000c"}"#, "a?b?c", nil),
        ] as [(String, String, Int64?)])
    func bodies(text: String, reason: String, timestampMillis: Int64?) {
        let answer = Self.parse(text)
        #expect(answer.reason == reason)
        #expect(answer.timestampMillis == timestampMillis)
    }

    @Test func lengthIsBounded() {
        #expect(
            Self.parse(#"{"reason":"\#(String(repeating: "a", count: 500))"}"#).reason
                == String(repeating: "a", count: 64))
        #expect(Self.parse(#"{"x":"\#(String(repeating: "a", count: 2_000))","reason":"late"}"#).reason == "")
    }

    /// An answer may be cut at any byte. The reader never traps, and gives a reason only if it was complete.
    @Test func everyCutIsRead() {
        let body = Array(#"{"reason":"Unregistered","timestamp":1700000000123}"#.utf8)
        for count in 0...body.count {
            let answer = ErrorBody.parse(body.span.extracting(first: count))
            #expect(answer.reason == "" || answer.reason == "Unregistered")
        }
    }

    @Test func noiseIsNoError() {
        var state: UInt64 = 42
        for _ in 0..<5_000 {
            var bytes = Array(#"{"reason":"#.utf8)
            for _ in 0..<20 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                bytes.append(UInt8(truncatingIfNeeded: state >> 56))
            }
            _ = ErrorBody.parse(bytes.span)
        }
    }
}
