import PushModel
import Testing

/// Tests of the `traceparent` header of W3C Trace Context.
struct TraceContextTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let span = "b7ad6b7169203331"

    @Test(arguments: [
        ("00-\(Self.trace)-\(Self.span)-01", true),
        ("00-\(Self.trace)-\(Self.span)-00", false),
        // Only the flag "sampled" matters here.
        ("00-\(Self.trace)-\(Self.span)-03", true),
        ("00-\(Self.trace)-\(Self.span)-fe", false),
        // A later version is accepted, alone and with more fields after it.
        ("01-\(Self.trace)-\(Self.span)-01", true),
        ("cc-\(Self.trace)-\(Self.span)-01-what-the-future-brings", true),
    ])
    func aGoodOneIsRead(_ header: String, _ isSampled: Bool) throws {
        let bytes = Array(header.utf8)
        let read = TraceContext(traceparent: bytes.span)
        let context = try #require(read, "\(header)")
        #expect(context.traceIDText == Self.trace)
        #expect(context.spanIDText == Self.span)
        #expect(context.isSampled == isSampled)
        let written = String(decoding: context.traceparent, as: UTF8.self)
        #expect(written == "00-\(Self.trace)-\(Self.span)-\(isSampled ? "01" : "00")")
    }

    @Test(arguments: [
        "", "00", "garbage",
        // Ids of zeros are invalid.
        "00-00000000000000000000000000000000-\(Self.span)-01", "00-\(Self.trace)-0000000000000000-01",
        // Capitals and other characters are invalid.
        "00-\(Self.trace.uppercased())-\(Self.span)-01", "00-\(Self.trace)-\(Self.span.uppercased())-01",
        "00-\(Self.trace)-\(Self.span)-0A", "0x-\(Self.trace)-\(Self.span)-01", "00-\(Self.trace)-\(Self.span)-0g",
        "00-g\(Self.trace.dropFirst())-\(Self.span)-01",
        // The header is cut, too long, or has an invalid version.
        "00-\(Self.trace)-\(Self.span)-1", "00-\(Self.trace)-\(Self.span)-01-", "00-\(Self.trace)-\(Self.span)-011",
        "ff-\(Self.trace)-\(Self.span)-01", "01-\(Self.trace)-\(Self.span)-011", "00-\(Self.trace)-\(Self.span)",
        // Other separators, or spaces around the parts, are invalid.
        "00_\(Self.trace)-\(Self.span)-01", "00-\(Self.trace)_\(Self.span)-01", "00-\(Self.trace)-\(Self.span)_01",
        " 00-\(Self.trace)-\(Self.span)-0", "00-\(Self.trace)-\(Self.span)-0 ",
        // A letter outside ASCII takes two bytes, as many as two digits.
        "00-é\(Self.trace.dropFirst(2))-\(Self.span)-01",
    ])
    func anythingElseIsNone(_ header: String) {
        let bytes = Array(header.utf8)
        let context = TraceContext(traceparent: bytes.span)
        #expect(context == nil, "\(header)")
    }
}
