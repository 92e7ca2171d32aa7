import PushInspection
import Testing

struct JSONTreeTests {
    @Test(arguments: [
        #"{"b":1.50,"a":[1e3,-0,"x\"y",true,false,null,{}],"b":{"é":"é"}}"#, "[]", #""""#, "12345678901234567890123",
        "null",
        #"{"a":[[1],[[2]]]}"#,
    ])
    func whatIsReadIsWrittenAsItWasSpelt(text: String) throws {
        let tree = try JSONTree.parse(Array(text.utf8))
        #expect(tree.text == text)
        #expect(try JSONTree.parse(Array(tree.prettyText.utf8)) == tree)
    }

    @Test(arguments: ["", "{", #"{"a":}"#, "[1,]", "01", #"{"a":1} x"#, String(repeating: "[", count: 65)])
    func whatIsNoJSONIsRefused(text: String) {
        #expect(throws: (any Error).self) { try JSONTree.parse(Array(text.utf8)) }
    }

    @Test func depthIsBounded() throws {
        let deepest = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(try JSONTree.parse(Array(deepest.utf8)).text == deepest)
    }

    @Test(arguments: [
        ("driver.name", "Anne"), ("legs.1.city", "Bonn"), ("legs[1].city", "Bonn"), ("legs[2].city", nil),
        ("a.b", "whole name"), ("legs.2.city", nil),
        ("driver", nil as String?),
        ("driver.name.x", nil),
    ])
    func aPathLeadsToAValue(path: String, expected: String?) throws {
        let text =
            #"{"driver":{"name":"Anne"},"legs":[{"city":"Ulm"},{"city":"Bonn"}],"a.b":"whole name","a":{"b":"two"}}"#
        let found = try JSONTree.parse(Array(text.utf8)).value(at: path)
        if let expected {
            #expect(found == .string(expected))
        } else {
            #expect(found == nil || found?.plainText.hasPrefix("{") == true)
        }
    }
}

/// Parses JSON that is written in a test.
func json(_ text: String) -> JSONTree {
    do { return try JSONTree.parse(Array(text.utf8)) } catch {
        Issue.record("no JSON: \(text)")
        return .null
    }
}
