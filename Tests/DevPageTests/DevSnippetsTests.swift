import KafkaLog
import Testing

@testable import DevPage

struct DevSnippetsTests {
    private static let snippets = DevSnippets(
        settings: DevPageSettings(
            app: "com.example.pizza", eventsTopic: "events", outcomesTopic: "outcomes", partitionCount: 1,
            kafka: KafkaSettings(), bootstrapShown: "localhost:9092"), origin: "http://127.0.0.1:8484"
    ).all

    /// A test that pastes one has to fail when the answer is no success: by itself curl ends with 0 then.
    @Test func curlFailsWhereTheAnswerIsNoSuccess() {
        let curls = Self.snippets.filter { $0.text.hasPrefix("curl ") }
        #expect(curls.map(\.name) == ["curl", "Wait in a test"])
        for snippet in curls { #expect(snippet.text.hasPrefix("curl --fail-with-body -sS '"), "\(snippet.text)") }
    }
}
