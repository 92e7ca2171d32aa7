import ArgumentParser
import CommandSupport
import Testing

@testable import mailboat

/// Tests of how `mailboat trigger` finds a server that can show the story, and of how the command uses the servers'
/// answers.
struct StoryWitnessTests {
    private static let page = "http://127.0.0.1:8484"
    private static let simulator = "http://127.0.0.1:2198"

    private static func find(_ brokers: String, _ answers: [String: String]) -> StoryWitness {
        StoryWitness.find(brokers: brokers, page: Self.page, simulator: Self.simulator) { url in
            answers[url].map { Array($0.utf8) }
        }
    }

    private static func about(_ kafka: String, makesPhones: Bool = true) -> [String: String] {
        ["\(Self.page)/api/about": #"{"bootstrap": "\#(kafka)", "makesPhones": \#(makesPhones)}"#]
    }

    @Test(arguments: ["127.0.0.1:9092", "localhost:9092", "10.0.0.1:9092,localhost:9092"])
    func thePageOfTheStorysKafkaIsTheWitness(brokers: String) {
        #expect(
            Self.find(brokers, Self.about("127.0.0.1:9092")) == .page(origin: Self.page, registers: true))
        #expect(
            Self.find(brokers, Self.about("127.0.0.1:9092", makesPhones: false))
                == .page(origin: Self.page, registers: false))
        #expect(Self.find(brokers, Self.about("127.0.0.1:9093")) == .nobody)
        #expect(Self.find(brokers, ["\(Self.page)/api/about": "<html>"]) == .nobody)
    }

    @Test func aSimulatedAPNsIsTheWitnessWhereThereIsNoPage() {
        let stats = ["\(Self.simulator)/stats": "{}"]
        #expect(Self.find("localhost:9092", stats) == .simulator(origin: Self.simulator))
        let both = stats.merging(Self.about("127.0.0.1:9092")) { one, _ in one }
        #expect(Self.find("localhost:9092", both) == .page(origin: Self.page, registers: true))
        // Servers on this machine cannot show events of another machine's Kafka.
        #expect(Self.find("kafka.example.com:9092", both) == .nobody)
    }

    @Test func onlyThePageHasALink() {
        let link = StoryWitness.page(origin: Self.page, registers: true).link("order 7/ä")
        #expect(link == "http://127.0.0.1:8484/#search=activity%3A%22order%207%2F%C3%A4%22")
        #expect(StoryWitness.simulator(origin: Self.simulator).link("a") == nil && StoryWitness.nobody.link("a") == nil)
    }

    @Test func theNewestCardsTokenIsWaitedFor() {
        var questions: [String] = []
        let answers = [
            nil, #"{"error": "no push yet"}"#, #"{"starts": [{"updateToken": "aa"}, {"card": "active"}]}"#,
            #"{"starts": [{"updateToken": "aa"}, {"updateToken": "bb"}]}"#,
        ]
        var pauseCount = 0
        let token = StoryWitness.simulator(origin: Self.simulator).updateToken(ofStartToken: "57") { url in
            questions.append(url)
            return answers[min(questions.count, answers.count) - 1].map { Array($0.utf8) }
        } pause: {
            pauseCount += 1
        }
        #expect(token == "bb" && pauseCount == 3 && Set(questions) == ["\(Self.simulator)/devices/57"])
    }

    @Test func aTokenThatDoesNotComeBackIsNotWaitedForForEver() {
        var questionCount = 0
        let token = StoryWitness.simulator(origin: Self.simulator).updateToken(ofStartToken: "57") { _ in
            questionCount += 1
            return nil
        } pause: {
        }
        #expect(token == nil && questionCount == StoryWitness.questionCount)
        #expect(StoryWitness.nobody.updateToken(ofStartToken: "57") { _ in nil } == nil)
    }

    /// If the server that shows the story learns the new card's token, that server registers it. Otherwise the story
    /// says that your service must register it.
    @Test(arguments: [
        (StoryWitness.page(origin: Self.page, registers: true), "the page does it"),
        (.page(origin: Self.page, registers: false), "up to your service"), (.nobody, "up to your service"),
    ])
    func theReturnedTokenIsRegisteredByWhoeverKnowsIt(witness: StoryWitness, words: String) throws {
        var random = SystemRandomNumberGenerator()
        let command = try Trigger.parse(["start", "--key", "order-12"])
        let cast = command.cast(nowSeconds: 1_800_000_000, random: &random)
        let steps = TriggerScenario.start.steps(cast)
        #expect(steps.map(\.isOfReturnedToken) == [false, true, false, false])
        #expect(command.taking(steps[0], of: cast, witness) == .publish(steps[0]))
        guard case .leave(let why) = command.taking(steps[1], of: cast, witness) else {
            Issue.record("it is published")
            return
        }
        #expect(why.contains(words), "\(why)")
        let lines = command.hints(cast, cluster: command.cluster.orLocal(Trigger.localBrokers), witness)
        #expect(lines.contains("  http://127.0.0.1:8484/#search=activity%3Aorder-12") == (witness.link("") != nil))
    }
}
