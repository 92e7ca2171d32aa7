import PushModel
import Testing

/// The id of a refused event is the one that an accepted event would have, and is given only if it is valid.
@Suite struct RefusedEventIDTests {
    private static let envelope = #""specversion":"1.0","type":"t","source":"/s""#

    @Test(arguments: [
        (#"{"event":"update","id":"e-7","contentState":{}}"#, "e-7"),
        (#"{"contentState":{"id":"inner"},"id":"e\u002d\"7"}"#, "e-\"7"),
        (#"{"\u0069d":"e-7","event":5}"#, "e-7"),
        (#"  {"id":"é"}  "#, "é"),
        (#"{"event":"update"}"#, ""), (#"{}"#, ""), (#"{"x":{"id":"inner"}}"#, ""),
        // The id itself is at fault.
        (#"{"id":""}"#, ""), (#"{"id":7}"#, ""), (#"{"id":null}"#, ""), (#"{"id":["e-7"]}"#, ""),
        (#"{"id":"e-7","id":"e-7"}"#, ""), (#"{"id":"e-7","id":"e-8"}"#, ""),
        // The value is not JSON, or not one object.
        ("", ""), ("no JSON", ""), (#"{"id":"e-7""#, ""), (#"{"id":"e-7"} x"#, ""), (#"[{"id":"e-7"}]"#, ""),
        (#"{"id":"e-7","n":01}"#, ""),
        // The event of a CloudEvent has an id of its own, or that of the CloudEvent.
        (#"{\#(envelope),"id":"ce","data":{"event":"stop","id":"own"}}"#, "own"),
        (#"{\#(envelope),"id":"ce","data":{"event":"stop"}}"#, "ce"),
        (#"{\#(envelope),"id":"ce","data":{"event":"stop","id":7}}"#, ""),
        (#"{\#(envelope),"id":"ce"}"#, "ce"),
        ("\u{FEFF}" + #"{"event":"stop","id":"marked"}"#, "marked"),
    ])
    func itIsReadWhereItIsValid(value: String, id: String) {
        let bytes = Array(value.utf8)
        #expect(String(decoding: RefusedEventID.text(in: bytes.span), as: UTF8.self) == id)
    }

    @Test func itsLengthIsThatOfAnAcceptedEvent() {
        for (count, isValid) in [(1, true), (256, true), (257, false)] {
            let value = Array(#"{"id":"\#(String(repeating: "i", count: count))"}"#.utf8)
            #expect(RefusedEventID.text(in: value.span).count == (isValid ? count : 0))
        }
    }

    /// A value that is too large or too deep for an event is refused. Its id is still read if its JSON is valid.
    @Test func aLargeValueHasItsID() {
        let large = Array(#"{"pad":"\#(String(repeating: "x", count: 100_000))","id":"e-7"}"#.utf8)
        #expect(RefusedEventID.text(in: large.span) == Array("e-7".utf8))
        let deep = Array((#"{"id":"e-7","a":"# + String(repeating: "[", count: 100_000)).utf8)
        #expect(RefusedEventID.text(in: deep.span).isEmpty)
    }

    /// A worker that opens no frames reads only plain JSON. It reads a CloudEvent like any other object.
    @Test func withoutFramingOnlyPlainJSONIsRead() {
        let marked = Array(("\u{FEFF}" + #"{"id":"e-7"}"#).utf8)
        #expect(RefusedEventID.text(in: marked.span, framing: .none).isEmpty)
        let plain = Array(#"{"id":"e-7","data":{"id":"inner"},"specversion":"1.0"}"#.utf8)
        #expect(RefusedEventID.text(in: plain.span, framing: .none) == Array("e-7".utf8))
    }
}
