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
        #expect(Snippets.kcat(bootstrap: "b:1", topic: "t", key: "a|b", event: "{}")?.contains("'a|b;{}'") == true)
        #expect(Snippets.kcat(bootstrap: "b:1", topic: "t", key: "a\nb", event: "{}") == nil)
        #expect(Snippets.kcat(bootstrap: "b:1", topic: "t", key: "|;~^#", event: "{}") == nil)
    }
}
