import Testing

@testable import mailboat

@Suite struct JSONValueSplitterTests {
    private static func items(
        _ text: String, pieceByteCount: Int = .max, valueByteCountMax: Int = JSONValueSplitter.valueByteCountMax
    ) -> [JSONValueSplitter.Item] {
        var splitter = JSONValueSplitter(valueByteCountMax: valueByteCountMax)
        var items: [JSONValueSplitter.Item] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            splitter.feed(Array(rest.prefix(pieceByteCount)), into: &items)
            rest = rest.dropFirst(pieceByteCount)
        }
        splitter.finish(into: &items)
        return items
    }

    private static func value(_ line: Int, _ text: String) -> JSONValueSplitter.Item {
        .value(line: line, bytes: Array(text.utf8))
    }

    static let examples: [(String, [JSONValueSplitter.Item])] = [
        ("", []), ("\n \r\n\t\n", []),
        ("{\"a\":1}", [Self.value(1, "{\"a\":1}")]),
        ("{\"a\":1}\n{\"b\":2}\n", [Self.value(1, "{\"a\":1}"), Self.value(2, "{\"b\":2}")]),
        ("\r\n {\"a\":1} \r\n\n{\"b\":2}\r\n", [Self.value(2, "{\"a\":1}"), Self.value(4, "{\"b\":2}")]),
        ("{\"a\":1} {\"b\":2}3", [Self.value(1, "{\"a\":1}"), Self.value(1, "{\"b\":2}"), Self.value(1, "3")]),
        ("{\n  \"a\": 1\n}\n{\"b\":\n2}", [Self.value(1, "{\n  \"a\": 1\n}"), Self.value(4, "{\"b\":\n2}")]),
        ("{\"a\":1}{\n}\n[]", [Self.value(1, "{\"a\":1}"), Self.value(1, "{\n}"), Self.value(3, "[]")]),
        // A syntax fault drops only the value that contains the fault.
        (
            "{\"a\":}\n{\"b\":2}",
            [
                .fault(line: 1, reason: "is not valid JSON: at column 6, a JSON value was expected"),
                Self.value(2, "{\"b\":2}"),
            ]
        ),
        (
            "{\n  \"a\": 1,\n  b: 2\n}\n{\"c\":3}",
            [
                .fault(line: 1, reason: "is not valid JSON: at line 3, column 3, a field name in quotes was expected"),
                Self.value(5, "{\"c\":3}"),
            ]
        ),
        // A value that does not end is noticed when the next value begins. The next value is kept.
        (
            "{\"a\":1\n{\"b\":2}\n{\"c\":3}",
            [
                .fault(
                    line: 1, reason: "is not valid JSON: at line 2, column 1, “,” or the closing bracket was expected"),
                Self.value(2, "{\"b\":2}"), Self.value(3, "{\"c\":3}"),
            ]
        ),
        (
            "no\nnow\n",
            [
                .fault(line: 1, reason: "is not valid JSON: at column 1, a JSON value was expected"),
                .fault(line: 2, reason: "is not valid JSON: at column 1, a JSON value was expected"),
            ]
        ),
        (
            "{\"a\":1}\n{\"b\":",
            [Self.value(1, "{\"a\":1}"), .fault(line: 2, reason: "is not valid JSON: it ends too early")]
        ),
    ]

    @Test(arguments: examples)
    func cuts(text: String, expected: [JSONValueSplitter.Item]) {
        #expect(Self.items(text) == expected)
    }

    /// The result is the same if the input arrives in pieces of a few bytes.
    @Test(arguments: examples)
    func piecesMakeNoDifference(text: String, expected: [JSONValueSplitter.Item]) {
        for pieceByteCount in 1...7 { #expect(Self.items(text, pieceByteCount: pieceByteCount) == expected) }
    }

    @Test func lengthIsBounded() {
        func items(_ text: String, pieceByteCount: Int) -> [JSONValueSplitter.Item] {
            Self.items(text, pieceByteCount: pieceByteCount, valueByteCountMax: 64)
        }
        let longest = "{\"a\":\"" + String(repeating: "a", count: 64 - 8) + "\"}"
        let longer = "{\"a\":\"" + String(repeating: "a", count: 64 - 7) + "\"}"
        let severalLines = "{" + String(repeating: "\n \"a\":1,", count: 20) + "\n\"b\":2}"
        let fault = JSONValueSplitter.Item.fault(line: 1, reason: "is longer than 64 bytes")
        for pieceByteCount in [1, 7, 64, 1_000] {
            #expect(
                items("\(longest)\n{\"b\":2}", pieceByteCount: pieceByteCount)
                    == [Self.value(1, longest), Self.value(2, "{\"b\":2}")])
            #expect(
                items("\(longer)\n{\"b\":2}", pieceByteCount: pieceByteCount) == [fault, Self.value(2, "{\"b\":2}")])
            #expect(
                items("\(severalLines)\n{\"b\":2}", pieceByteCount: pieceByteCount) == [
                    fault, Self.value(23, "{\"b\":2}"),
                ])
        }
    }
}
