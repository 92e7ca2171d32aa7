import ArgumentParser
import CommandSupport
import KafkaLog
import PushModel
import Testing
import Upstream

@testable import mailboat

/// Tests that a worker accepts what `mailboat trigger` publishes.
@Suite(.timeLimit(.minutes(5)))
struct TriggerTests {
    private static let now: Int64 = 1_800_000_000

    @Test(
        arguments: TriggerScenario.allCases,
        [[], ["--app", "com.example.pizza", "--environment", "development", "--no-end"], ["--key", "it's \"7\""]])
    func aWorkerWouldTakeEveryEvent(scenario: TriggerScenario, words: [String]) throws {
        var random = SystemRandomNumberGenerator()
        let command = try Trigger.parse([scenario.rawValue] + words)
        let steps = scenario.steps(command.cast(nowSeconds: Self.now, random: &random))
        var check = EventCheck(app: "com.example.pizza", nowSeconds: Self.now)
        for step in steps {
            let answer = check.check(step.record)
            guard case .taken = answer else {
                Issue.record("\(step.words): \(answer)")
                continue
            }
        }
        #expect(steps.contains { $0.words.hasPrefix("end:") } == command.end)
        #expect(steps.count <= TriggerScenario.burstCount + 2)
    }

    @Test func twoRunsHaveNothingInCommon() throws {
        var random = SystemRandomNumberGenerator()
        let command = try Trigger.parse(["goal"])
        let (one, other) = (
            command.cast(nowSeconds: Self.now, random: &random), command.cast(nowSeconds: Self.now, random: &random)
        )
        #expect(one.key != other.key)
        #expect(Set(one.tokens + other.tokens).count == 2 * TriggerScenario.madeUpMemberCount)
    }

    @Test func anotherCommandIsTaughtTheKeyAndTheClusterButNoSecret() throws {
        var random = SystemRandomNumberGenerator()
        let token = String(repeating: "AB", count: 32)
        let command = try Trigger.parse([
            "order", "--key", "it's", "--token", token, "--bootstrap", "b:1", "-X", "sasl.password=secret",
        ])
        let cast = command.cast(nowSeconds: Self.now, random: &random)
        #expect(cast.tokens == [token.lowercased()])
        let lines = command.hints(cast, cluster: command.cluster.orLocal(Trigger.localBrokers))
        #expect(lines.contains(#"  mailboat explain 'it'\''s' --bootstrap b:1"#), "\(lines)")
        #expect(!lines.joined().contains("secret") && !lines.joined().lowercased().contains(token.lowercased()))
        #expect(!TriggerScenario.order.steps(cast).map(\.words).joined().contains(token.lowercased()))
        #expect(
            ShellWord.quoted("a b") == "'a b'" && ShellWord.quoted("") == "''" && ShellWord.quoted("~/x") == "'~/x'")
        #expect(try Trigger.parse(["order"]).cluster.orLocal(Trigger.localBrokers).hint == "--bootstrap 127.0.0.1:9092")
    }

    /// If no server can show the story, the first line names the addresses that were tried, and the options for other
    /// addresses.
    @Test func whereNobodyShowsTheStoryTheOptionsAreNamed() throws {
        var random = SystemRandomNumberGenerator()
        let command = try Trigger.parse(["start", "--page", "http://127.0.0.1:9000/"])
        let cast = command.cast(nowSeconds: Self.now, random: &random)
        let cluster = command.cluster.orLocal(Trigger.localBrokers)
        #expect(
            command.opening(cast, .nobody).first
                == "No page of 'mailboat dev' with this Kafka answers at 127.0.0.1:9000/; if yours is elsewhere: --page URL. No 'mailboat apns-simulator' answers at 127.0.0.1:2198; if yours is elsewhere: --simulator URL."
        )
        #expect(!command.hints(cast, cluster: cluster, .nobody).joined().contains("curl"))
        #expect(command.opening(cast, .simulator(origin: "http://127.0.0.1:2198")).isEmpty)
        #expect(
            command.opening(cast, .page(origin: "http://127.0.0.1:9000", registers: true)).dropFirst().first?
                .hasPrefix("  http://127.0.0.1:9000/#search=") == true)
        let seen = command.hints(cast, cluster: cluster, .simulator(origin: "http://127.0.0.1:2198"))
        #expect(seen.last == "  curl -s http://127.0.0.1:2198/devices/\(cast.tokens[0])")
    }

    @Test(arguments: [
        (["order", "--token", "xyz"], "hexadecimal digits"), (["order", "--pause", "61"], "0 to 60 seconds"),
        (["goal", "--audience", ""], "--audience"),
        (["order", "--environment", "sandbox"], "production or development"),
        (["offside"], "order"), (["start", "--page", "http://example.com"], "of this machine"),
        (["start", "--simulator", "localhost"], "--simulator"),
    ])
    func aWrongCommandLineSaysWhatWasExpected(arguments: [String], expected: String) {
        #expect {
            _ = try Trigger.parse(arguments)
        } throws: {
            Trigger.message(for: $0).contains(expected)
        }
    }

    @Test func theStoryLiesInTheTopicInItsOrder() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("liveactivity.events", partitionCount: 4)])
        defer { kafka.stop() }
        let words = ["--key", "order-7", "--pause", "0", "--bootstrap", kafka.bootstrap]
        try await Trigger.parse(["order"] + words).run()
        let records = try await TopicReading.readAll(
            "liveactivity.events", partitionCount: 4, settings: kafka.settings, within: .seconds(20))
        #expect(records.count == 5 && Set(records.map(\.partition)).count == 1)
        #expect(records.allSatisfy { $0.keyText == "order-7" })
        let events = records.map { String(decoding: $0.value ?? [], as: UTF8.self).prefix(17) }
        #expect(events.first == #"{"event":"registe"# && events.last?.hasPrefix(#"{"event":"end""#) == true)
        #expect(records.first?.partition == Murmur2.partition(key: Array("order-7".utf8).span, count: 4))
        await #expect {
            try await Trigger.parse(["order", "--topic", "none"] + words).run()
        } throws: {
            "\($0)".contains("the topic none does not exist")
        }
    }
}
