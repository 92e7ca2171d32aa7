import KafkaLog
import PushModel
import SecretHunting
import Synchronization
import Testing

@testable import PushWorker

/// Tests of the keeper of Kafka login tokens, with the test's own clock and token source.
struct TokenKeeperTests {
    private final class World: Sendable {
        let now = Mutex(EngineTime(steadyMillis: 1_000, wallMillis: TokenDocumentTests.now))
        let answer = Mutex<Result<ReadToken, TokenFault>>(
            .failure(TokenFault(cause: .command, setting: "kafka.oauth.token-command", text: "is gone")))
        let asked = Mutex(0)

        func pass(_ millis: Int64) {
            self.now.withLock {
                $0.steadyMillis += millis
                $0.wallMillis += millis
            }
        }

        func give(_ value: String, lifeMillis: Int64 = 60_000) {
            let end = self.now.withLock(\.wallMillis) + lifeMillis
            self.answer.withLock {
                $0 = .success(ReadToken(value: value, expiresAtMillis: end, principal: "worker-1"))
            }
        }

        func keeper(_ source: TokenSource = .command(["/usr/bin/sign"])) -> TokenKeeper {
            TokenKeeper(source, extensions: [], clock: { self.now.withLock { $0 } }) {
                _, _ throws(TokenFault) in
                self.asked.withLock { $0 += 1 }
                return try self.answer.withLock { $0 }.get()
            }
        }
    }

    @Test func aTokenGoesToClientsAndIsRenewed() {
        let world = World()
        let keeper = world.keeper()
        world.give("one")
        let due = keeper.turn()
        #expect((42_000...48_000).contains(due))
        #expect(keeper.validity == .good)
        #expect(!keeper.tokens.isFailing)
        world.pass(due - 1)
        #expect(keeper.turn() == 1)
        world.pass(1)
        world.give("two")
        keeper.turn()
        #expect(world.asked.withLock { $0 } == 2)
        let report = keeper.report
        #expect(report.obtained == 2)
        #expect(report.leftMillis == 60_000)
        #expect(report.principal == "worker-1")
        #expect(report.failures.isEmpty)
    }

    /// The source fails until the token has ended. Clients get no error before the end, and an error after it.
    @Test func clientsAreToldWhenNoTokenIsGood() {
        let world = World()
        let keeper = world.keeper()
        world.give("one")
        world.pass(keeper.turn())
        let fault = TokenFault(cause: .refused, setting: "kafka.oauth.token-endpoint", text: "answers 401")
        world.answer.withLock { $0 = .failure(fault) }
        world.pass(max(0, keeper.turn()))
        #expect(keeper.validity == .worn(fault))
        #expect(!keeper.tokens.isFailing)
        world.pass(60_000)
        keeper.turn()
        #expect(keeper.validity == .missing(fault))
        #expect(keeper.tokens.isFailing)
        #expect((keeper.report.leftMillis ?? 0) < 0)
        #expect(keeper.report.failures[.refused] ?? 0 >= 2)
        // The source works again from here on.
        world.give("two")
        world.pass(keeper.turn())
        keeper.turn()
        #expect(keeper.validity == .good)
        #expect(!keeper.tokens.isFailing)
    }

    /// The token ended before the keeper's next turn. The next client gets an error instead of the ended token.
    @Test func aTokenThatEndedMeanwhileIsNotGiven() {
        let world = World()
        let keeper = world.keeper(.file(path: "/var/run/kafka.token"))
        world.give("one")
        keeper.turn()
        world.pass(61_000)
        world.answer.withLock {
            $0 = .failure(TokenFault(cause: .file, setting: "kafka.oauth.token-file", text: "cannot be read"))
        }
        keeper.turn()
        #expect(keeper.tokens.isFailing)
        guard case .missing(let fault) = keeper.validity else {
            Issue.record("\(keeper.validity)")
            return
        }
        #expect(fault.cause == .file)
    }

    /// Reading the same token from its file again does not count as another token.
    @Test func theSameTokenIsCountedOnce() {
        let world = World()
        let keeper = world.keeper(.file(path: "/var/run/kafka.token"))
        world.give("one")
        for _ in 0..<5 { world.pass(keeper.turn()) }
        #expect(world.asked.withLock { $0 } == 5)
        #expect(keeper.report.obtained == 1)
    }

    @Test func readinessNamesWhatIsWrong() {
        let fault = TokenFault(cause: .timeout, setting: "kafka.oauth.token-command", text: "sign did not end")
        #expect(LoginWatch.complaint(.good) == nil)
        #expect(LoginWatch.complaint(.unknown) == nil)
        let worn = LoginWatch.complaint(.worn(fault))
        #expect(worn?.isError == false)
        #expect(worn?.text.hasSuffix("kafka.oauth.token-command: sign did not end") == true)
        let missing = LoginWatch.complaint(.missing(fault))
        #expect(missing?.isError == true)
        #expect(missing?.text.contains("kafka.oauth.token-command: sign did not end") == true)
    }

    /// A process has one keeper for equal settings, even if many callers ask for it.
    @Test func theSameSettingsHaveOneKeeper() {
        var oauth = WorkerConfiguration.Kafka.OAuth()
        #expect(TokenKeeper.of(oauth) == nil)
        oauth.tokenFile = "/nowhere/of/this/test"
        let keeper = TokenKeeper.of(oauth)
        #expect(keeper != nil)
        #expect(TokenKeeper.of(oauth) === keeper)
        var configuration = WorkerConfiguration()
        configuration.kafka.oauth = oauth
        #expect(configuration.kafka.consumerSettings.tokens == keeper?.tokens)
        #expect(configuration.kafka.producerSettings.tokens == keeper?.tokens)
        #expect(TokenKeeper.of(configuration.kafka.consumerSettings.appending("client.id", "a")) === keeper)
        oauth.tokenCommand = ["a"]
        #expect(TokenKeeper.of(oauth) == nil, "which of them is meant?")
    }

    /// A client that asks for a token gets the source's fault at once.
    @Test func aSourceThatGivesNothingIsNamedAtOnce() {
        var oauth = WorkerConfiguration.Kafka.OAuth()
        oauth.tokenFile = "/nowhere/kafka.token"
        let fault = #expect(throws: TokenFault.self) { try TokenKeeper.of(oauth)?.obtain() }
        #expect(
            fault?.description
                == "kafka.oauth.token-file: /nowhere/kafka.token cannot be read: No such file or directory")
    }
}
