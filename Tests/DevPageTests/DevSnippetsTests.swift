import KafkaLog
import PushInspection
import Testing

@testable import DevPage

struct DevSnippetsTests {
    private static let pages = DevSnippets(
        settings: DevPageSettings(
            app: "com.example.pizza", eventsTopic: "events", outcomesTopic: "outcomes", partitionCount: 1,
            kafka: KafkaSettings(), bootstrapShown: "localhost:9092"), origin: "http://127.0.0.1:8484")
    private static let snippets = Self.pages.all

    @Test func eachCommandIsForTheEventThatIsGiven() {
        let all = Self.pages.all(activity: "order/7", event: #"{"event":"update","content-state":{"minutes":12}}"#)
        #expect(all.map(\.name) == ["curl", "kcat", "Python", "Wait in a test"])
        #expect(all[3].text.contains("activity=order%2F7&key=minutes&value=12&"), "\(all[3].text)")
        for snippet in all {
            #expect(snippet.text.contains("order") && !snippet.text.contains("Anne"), "\(snippet.text)")
        }
    }

    /// A worker takes each.
    @Test func everySampleIsAnEvent() {
        for sample in Self.pages.samples {
            let reading = EventReading(
                key: Array("order-1".utf8), value: Array(sample.text.utf8), nowSeconds: 1_795_600_000)
            #expect(reading.rejection == nil, "\(sample.name): \(String(describing: reading.rejection))")
        }
    }

    /// A test that pastes one has to fail when the answer is no success: by itself curl ends with 0 then.
    @Test func curlFailsWhereTheAnswerIsNoSuccess() {
        let curls = Self.snippets.filter { $0.text.hasPrefix("curl ") }
        #expect(curls.map(\.name) == ["curl", "Wait in a test"])
        for snippet in curls { #expect(snippet.text.hasPrefix("curl --fail-with-body -sS '"), "\(snippet.text)") }
    }
}
