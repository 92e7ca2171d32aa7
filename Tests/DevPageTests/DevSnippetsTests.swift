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
        #expect(
            all.map(\.name)
                == ["curl", "mailboat", "kcat", "Python, over Kafka", "Python, over HTTP", "Wait in a test"])
        #expect(all[5].text.contains("activity=order%2F7&key=minutes&value=12&"), "\(all[5].text)")
        for snippet in all {
            #expect(snippet.text.contains("order") && !snippet.text.contains("Anne"), "\(snippet.text)")
        }
    }

    /// For an event of an audience, the command that waits names the audience's id.
    @Test func aTestWaitsForWhatTheEventIsFor() throws {
        let event = #"{"event":"update","to":{"audience":"match-7"},"content-state":{"homeScore":1}}"#
        let wait = try #require(Self.pages.all(activity: "match-7", event: event).last?.text)
        #expect(wait.contains("/wait-for?audience=match-7&key=homeScore&value=1&"), "\(wait)")
    }

    /// All dates in samples are in the future. A past date would end a card at once.
    @Test func theMomentsOfSamplesLieAhead() {
        let nowSeconds: Int64 = 1_795_600_000
        let moments = Self.pages.samples(nowSeconds: nowSeconds).flatMap { $0.text.matches(of: /\b\d{10}\b/) }
        #expect(moments.count == 2)
        let known = DevSnippets.moments(nowSeconds: nowSeconds)
        for moment in moments {
            #expect(Int64(moment.output).map { $0 > nowSeconds && known.contains($0) } == true, "\(moment.output)")
        }
    }

    /// A worker accepts every sample.
    @Test func everySampleIsAnEvent() {
        for sample in Self.pages.samples(nowSeconds: 1_795_600_000) {
            let reading = EventReading(
                key: Array("order-1".utf8), value: Array(sample.text.utf8), nowSeconds: 1_795_600_000)
            #expect(reading.rejection == nil, "\(sample.name): \(String(describing: reading.rejection))")
        }
    }

    /// If the app's type, a schema or a sample is known, the page offers an event whose content fits it.
    @Test(arguments: [
        (
            "struct ContentState: Codable { var at: Date; var stops: [Int] }", "From your Swift type",
            #"{"at":817294300,"stops":[1]}"#
        ),
        (
            #"{"type":"object","required":["a"],"properties":{"b":{"type":"integer"}}}"#, "From your JSON Schema",
            #"{"b":1,"a":"text"}"#
        ),
        (#"{"minutes":25}"#, "From your sample", #"{"minutes":25}"#),
    ])
    func theLastSamplesAreMadeFromWhatTheAppDecodes(document: String, name: String, content: String) throws {
        let given = try GivenSchema(Array(document.utf8), origin: "page")
        let samples = Self.pages.samples(nowSeconds: 1_795_600_000, given: given).suffix(2)
        let sample = try #require(samples.first)
        #expect(samples.map(\.name) == [name, "\(name): end"])
        let end = try JSONTree.parse(Array(try #require(samples.last).text.utf8))
        #expect(end["event"] == "end" && end["content-state"]?.text == content)
        let made = try #require(try JSONTree.parse(Array(sample.text.utf8))["content-state"])
        #expect(made.text == content)
        if let moment = made["at"]?.double {
            #expect(DevSnippets.moments(nowSeconds: 1_795_600_000).contains(Int64(moment)))
        }
    }

    /// If the attributes' type is known, the page also offers a start with such attributes.
    @Test func aStartIsMadeFromTheAttributesOfTheApp() throws {
        let type = "struct Pizza: ActivityAttributes { struct ContentState { var minutes: Int }; var orderID: String }"
        let given = try GivenSchema(Array(type.utf8), origin: "page")
        let start = try #require(Self.pages.samples(nowSeconds: 1_795_600_000, given: given).last)
        #expect(start.name == "From your Swift type: start by push")
        let reading = EventReading(
            key: Array("order-1".utf8), value: Array(start.text.utf8), nowSeconds: 1_795_600_000)
        #expect(reading.rejection == nil)
        let event = try JSONTree.parse(Array(start.text.utf8))
        #expect(event["attributes-type"]?.plainText == "Pizza" && event["attributes"]?.text == #"{"orderID":"text"}"#)
        #expect(event["content-state"]?.text == #"{"minutes":1}"#)
    }

    /// The sample of a start follows the documentation: the attributes contain the activity's id, and the system gives
    /// the app an update token.
    @Test func theSampleOfAStartIsAsTheDocumentationAdvises() throws {
        let start = try #require(Self.pages.samples(nowSeconds: 1_795_600_000).first { $0.name == "Start by push" })
        let event = try JSONTree.parse(Array(start.text.utf8))
        #expect(event["input-push-token"]?.plainText == "1")
        #expect(event["attributes"]?["order"]?.plainText == "order-1")
    }

    /// Every curl command fails if the answer is an error, so that a test with a pasted command fails. Without a flag,
    /// curl would exit with status 0.
    @Test func curlFailsWhereTheAnswerIsNoSuccess() {
        let curls = Self.snippets.filter { $0.text.hasPrefix("curl ") }
        #expect(curls.map(\.name) == ["curl", "Wait in a test"])
        for snippet in curls { #expect(snippet.text.hasPrefix("curl --fail-with-body -sS '"), "\(snippet.text)") }
    }
}
