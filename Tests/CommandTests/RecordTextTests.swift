import Testing

@testable import mailboat

@Suite struct RecordTextTests {
    private static func fault(_ text: String) -> String? {
        do throws(RecordText.Fault) {
            _ = try RecordText(Array(text.utf8))
            return nil
        } catch { return error.reason }
    }

    @Test func anEventAlone() throws {
        for text in [#"{"event":"end","x-key":1}"#, "[]", "7", "{}", #"{"event":"end","key":"a","value":{}}"#] {
            let record = try RecordText(Array(text.utf8))
            #expect(record.isBare)
            #expect(record.key == nil)
            #expect(record.value == Array(text.utf8))
        }
    }

    @Test func aWholeRecord() throws {
        let text = #"""
            {"headers": {"traceparent": "00-ab", "a\u0062": ""}, "value":  { "event" : "end" } , "key": "order\u002d7é",
             "partition": 3, "timestamp": 1700000000123}
            """#
        let record = try RecordText(Array(text.utf8))
        #expect(!record.isBare)
        #expect(record.key == Array("order-7é".utf8))
        #expect(record.value == Array(#"{ "event" : "end" }"#.utf8))
        #expect(record.partition == 3)
        #expect(record.timestampMillis == 1_700_000_000_123)
        #expect(
            record.headers == [
                RecordText.Header(name: "traceparent", value: Array("00-ab".utf8)),
                RecordText.Header(name: "ab", value: []),
            ])
    }

    @Test func valuesThatAreNoObject() throws {
        #expect(try RecordText(Array(#"{"key":"a","value":null}"#.utf8)).value == nil)
        #expect(try RecordText(Array(#"{"key":null,"value":"not\njson"}"#.utf8)).value == Array("not\njson".utf8))
        #expect(try RecordText(Array(#"{"value":[1, 2]}"#.utf8)).value == Array("[1, 2]".utf8))
    }

    @Test(arguments: [
        (#"{"key":"a"}"#, "“value” is missing: expected the event, or null"),
        (#"{"key":7,"value":{}}"#, "“key” is no string"),
        (#"{"key":"a","key":"a","value":{}}"#, "“key” is given twice"),
        (#"{"value":{},"partition":-1}"#, "“partition” is no whole number from 0 to 2147483647"),
        (#"{"value":{},"partition":"1"}"#, "“partition” is no whole number from 0 to 2147483647"),
        (#"{"value":{},"timestamp":1.5}"#, "“timestamp” is no whole number from 0 to 253402300799999"),
        (#"{"value":{},"headers":[]}"#, "“headers” is no object of strings"),
        (#"{"value":{},"headers":{"a":null}}"#, "“headers” is no object of strings"),
        (#"{"value":{},"headers":{"a":1}}"#, "“headers.a” is no string"),
        (
            #"{"value":{},"offset":1}"#,
            "“offset” is not a field of a record: expected “key”, “value”, “partition”, “headers” or “timestamp”"
        ),
    ])
    func faults(text: String, reason: String) {
        #expect(Self.fault(text) == reason)
    }
}
