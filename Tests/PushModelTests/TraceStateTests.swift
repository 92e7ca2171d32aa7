import PushModel
import Testing

/// Tests of the `tracestate` header of W3C Trace Context.
struct TraceStateTests {
    private static func isValid(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return TraceState.isValid(bytes.span)
    }

    /// A `tracestate` with `count` short members, separated by commas.
    private static func members(_ count: Int) -> String {
        (0..<count).map { "a\($0)=1" }.joined(separator: ",")
    }

    @Test(arguments: [
        "vendor=1", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "tenant@system=v", "1a-_*/@=x", " a=1 ,\tb=2\t",
        "a=1,,b=2", ",a=1,", "a= with blanks inside and a ~", "a=\"quoted\"", Self.members(32),
        "a=\(String(repeating: "x", count: 256))",
        "\(String(repeating: "k", count: 256))=\(String(repeating: "x", count: 255))",
    ])
    func aGoodOneIsKnown(_ text: String) { #expect(Self.isValid(text)) }

    @Test(arguments: [
        "", " ", ",", "vendor", "=1", "a=", "a= ", "A=1", "_a=1", "a b=1", "\"a\"=1", "a=1=2", "é=1", "a=é",
        "a=\u{1}", "a=1;b=2=3",
        // A key occurs twice.
        "a=1,b=2,a=3",
        // There are too many members, or one is too long.
        Self.members(33), "a=\(String(repeating: "x", count: 257))", "\(String(repeating: "k", count: 257))=1",
        "a=\(String(repeating: "x", count: 255)),b=\(String(repeating: "x", count: 253))",
    ])
    func anythingElseIsNone(_ text: String) { #expect(!Self.isValid(text)) }

    @Test func theLongestIsCarried() {
        let text = "a=\(String(repeating: "x", count: 255)),b=\(String(repeating: "x", count: 252))"
        #expect(text.utf8.count == TraceState.byteCountMax && Self.isValid(text))
    }
}
