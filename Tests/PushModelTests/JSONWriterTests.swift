import PushModel
import Testing

@Suite struct JSONWriterTests {
    private func text(_ write: (inout JSONWriter) -> Void) -> String {
        String(decoding: JSONWriter.bytes(write), as: UTF8.self)
    }

    @Test func commasLieBetweenMembersAndElements() {
        let json = self.text { json in
            json.object { json in
                json.member("text", "a\"b")
                json.member("utf8", utf8: Array("ü".utf8).span)
                json.member("literal", literal: "plain")
                json.array("numbers", [1, -2] as [Int64]) { $1.value($0) }
                json.array("none", [] as [Int64]) { $1.value($0) }
                json.object("nested") { $0.member("flag", true) }
                json.object("empty") { _ in }
                json.member("number", 0.5)
                json.name(escaping: "c\\d")
                json.value(json: "null".utf8)
            }
        }
        #expect(
            json == #"{"text":"a\"b","utf8":"ü","literal":"plain","numbers":[1,-2],"none":[],"nested":{"flag":true},"#
                + #""empty":{},"number":0.5,"c\\d":null}"#)
    }

    @Test func membersWithoutAValueAreLeftOut() {
        let json = self.text { json in
            json.object { json in
                json.member("text", nil as String?)
                json.member("integer", nil as Int?)
                json.member("number", nil as Double?)
                json.member("flag", nil as Bool?)
                json.member("json", json: [UInt8]())
                json.member("lent", json: Span<UInt8>())
                json.member("last", 1)
            }
        }
        #expect(json == #"{"last":1}"#)
    }

    @Test func aNumberThatDoesNotFitIsClamped() {
        #expect(self.text { $0.object { $0.member("max", UInt64.max) } } == #"{"max":9223372036854775807}"#)
    }

    @Test func elementsBeginLinesOnlyInTheArrayThatSaysSo() {
        let json = self.text { json in
            json.object { json in
                json.array("rows", [1, 2], isOneALine: true) { row, json in
                    json.object { $0.array("cells", [row, row]) { $1.value(Int64($0)) } }
                }
                json.array("none", [] as [Int], isOneALine: true) { $1.value(Int64($0)) }
                json.member("after", true)
            }
        }
        #expect(json == "{\"rows\":[\n{\"cells\":[1,1]},\n{\"cells\":[2,2]}\n],\"none\":[\n],\"after\":true}")
    }

    @Test func whatTheBufferHasStaysBeforeIt() {
        var bytes = Array("{}".utf8)
        JSONWriter.append(to: &bytes) { $0.object { $0.member("a", 1) } }
        #expect(String(decoding: bytes, as: UTF8.self) == #"{}{"a":1}"#)
    }
}
