import Testing

@testable import PushInspection

struct SnippetsTests {
    @Test func aShellTakesWhateverIsInIt() {
        let event = #"{"event":"update","content-state":{"name":"O'Neil"}}"#
        let curl = Snippets.curl(origin: "http://127.0.0.1:8484", activity: "order 1/ä", event: event)
        #expect(
            curl
                == #"curl --fail-with-body -sS 'http://127.0.0.1:8484/events?activity=order%201%2F%C3%A4' --data-binary '{"event":"update","content-state":{"name":"O'\''Neil"}}'"#
        )
        #expect(
            Snippets.mailboat(bootstrap: "b:1", topic: "t", key: "o'1", event: "{}")
                == #"printf '%s\n' '{}' | mailboat publish --bootstrap b:1 --topic t --key='o'\''1'"#)
        let python = Snippets.python(bootstrap: "b:1", topic: "t", key: "é", event: event)
        #expect(python.contains(#"key=b'\xc3\xa9', value=b'{"event":"update","content-state":{"name":"O\'Neil"}}'"#))
        #expect(python.contains(#""partitioner": "murmur2_random""#))
        #expect(Snippets.kcat(bootstrap: "b:1", topic: "t", key: "a|b", event: "{}")?.contains("'a|b;{}'") == true)
        #expect(Snippets.kcat(bootstrap: "b:1", topic: "t", key: "a\nb", event: "{}") == nil)
        #expect(Snippets.kcat(bootstrap: "b:1", topic: "t", key: "|;~^#", event: "{}") == nil)
    }
}
