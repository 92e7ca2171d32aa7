package import KafkaLog
import PushModel
import PushTransport
import Redaction
import Synchronization

/// Keeps the token with which the clients of this process log in to Kafka. While there is a client, the keeper asks the
/// source on a thread of its own, and gives new tokens to all clients. A process has one keeper for each source, for
/// all its workers and commands.
package final class TokenKeeper: Sendable {
    private struct State {
        var renewal = TokenRenewal()
        var token: ReadToken?
        /// Whether the keeper's thread runs.
        var isRunning = false
        /// When a client last needed tokens, on the steady clock.
        var neededAtMillis: Int64 = 0
        /// Number of answers of the source, good or bad.
        var answers: UInt64 = 0
        var obtained: UInt64 = 0
        var failures: [TokenFault.Cause: UInt64] = [:]
    }

    /// A function that asks a source. Tests replace it.
    typealias Ask = @Sendable (TokenSource, _ wallMillis: () -> Int64) throws(TokenFault) -> ReadToken

    /// How long the thread waits without a client before it ends.
    private static let idleMillisMax: Int64 = 30_000
    /// Longest time between two checks whether the token has expired.
    private static let turnMillisMax: Int64 = 1_000
    /// How long a caller waits for the source's answer, in milliseconds. It is longer than a source may take.
    private static let answerMillisMax: Int64 = 20_000

    /// The tokens that clients read.
    package let tokens = KafkaTokens()
    let source: TokenSource
    private let extensions: [KafkaToken.Extension]
    private let askSource: Ask
    private let clock: @Sendable () -> EngineTime
    private let state = Mutex(State())
    private let bell = Doorbell()

    private static let all = Mutex<[WorkerConfiguration.Kafka.OAuth: TokenKeeper]>([:])

    init(
        _ source: TokenSource, extensions: [KafkaToken.Extension],
        clock: @escaping @Sendable () -> EngineTime = { MachineClock.now() },
        ask: @escaping Ask = { source, wallMillis throws(TokenFault) in try source.ask(wallMillis: wallMillis) }
    ) {
        self.source = source
        self.extensions = extensions
        self.clock = clock
        self.askSource = ask
    }

    /// The keeper for these settings, made when it is first asked for. `nil` when they name no source, or more than
    /// one. No source is asked for a token before there is a client.
    static func of(_ settings: WorkerConfiguration.Kafka.OAuth) -> TokenKeeper? {
        guard let source = settings.source else { return nil }
        return self.all.withLock { all in
            if let known = all[settings] { return known }
            let keeper = TokenKeeper(source, extensions: settings.readExtensions ?? [])
            keeper.tokens.listen { [weak keeper] in keeper?.begin() }
            all[settings] = keeper
            return keeper
        }
    }

    /// The keeper that gives a client with these settings its tokens; `nil` when the client logs in without tokens.
    package static func of(_ settings: KafkaSettings) -> TokenKeeper? {
        guard let tokens = settings.tokens else { return nil }
        return self.all.withLock { all in all.values.first { $0.tokens == tokens } }
    }

    /// The settings of the keeper in this process that gives these tokens.
    static func settings(of tokens: KafkaTokens) -> WorkerConfiguration.Kafka.OAuth? {
        self.all.withLock { all in all.first { $0.value.tokens == tokens }?.key }
    }

    // MARK: Clients that need tokens

    /// Starts the thread that asks the source, unless it runs already.
    private func begin() {
        let now = self.clock().steadyMillis
        let starts = self.state.withLock { state in
            state.neededAtMillis = now
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts { NamedThread.start("kafka-token") { self.run() } }
    }

    /// Waits until there is a token, or the source has failed to give one. Blocks.
    package func obtain() throws(TokenFault) {
        self.begin()
        let before = self.state.withLock(\.answers)
        self.bell.wait(millis: Self.answerMillisMax) {
            if case .unknown = self.validity { return false }
            if case .missing = self.validity { return self.state.withLock(\.answers) > before }
            return true
        }
        switch self.validity {
        case .good, .worn: return
        case .missing(let fault): throw fault
        case .unknown:
            throw TokenFault(
                cause: .timeout, setting: self.source.setting,
                text: "\(self.source.shown) gave nothing within \(Self.answerMillisMax / 1_000) s")
        }
    }

    // MARK: State

    var validity: TokenRenewal.Validity {
        let now = self.clock().steadyMillis
        return self.state.withLock { $0.renewal.validity(nowMillis: now, late: self.overdue) }
    }

    /// The state of the login, for readiness, doctor and metrics.
    package var report: LoginReport {
        let now = self.clock().steadyMillis
        return self.state.withLock { state in
            LoginReport(
                source: self.source.setting, shownSource: self.source.shown,
                validity: state.renewal.validity(nowMillis: now, late: self.overdue),
                leftMillis: state.renewal.leftMillis(nowMillis: now), principal: state.token?.principal,
                obtained: state.obtained, failures: state.failures)
        }
    }

    /// The fault of a source that has given no new token in time, such as a file that nobody has rewritten.
    private var overdue: TokenFault {
        TokenFault(
            cause: .expired, setting: self.source.setting,
            text: self.source.isWatched
                ? "\(self.source.shown) still holds a token that expires soon, or has expired: its writer has stopped"
                : "\(self.source.shown) has given no other token in time")
    }

    // MARK: The thread

    private func run() {
        while true {
            let wait = self.turn()
            let answers = self.state.withLock(\.answers)
            self.bell.wait(millis: min(wait, Self.turnMillisMax)) { self.state.withLock(\.answers) != answers }
            let now = self.clock().steadyMillis
            let isNeeded = self.tokens.hasClients
            let ends = self.state.withLock { state in
                if isNeeded { state.neededAtMillis = now }
                guard now - state.neededAtMillis > Self.idleMillisMax else { return false }
                state.isRunning = false
                return true
            }
            if ends { return }
        }
    }

    /// Asks the source if it is time, and gives clients a new token.
    /// - Returns: milliseconds until the source is asked again.
    @discardableResult func turn() -> Int64 {
        self.failIfEnded()
        let due = self.state.withLock { $0.renewal.millisUntilDue(nowMillis: self.clock().steadyMillis) }
        guard due == 0 else { return due }
        var random = SystemRandomNumberGenerator()
        do throws(TokenFault) {
            let token = try self.askSource(self.source) { self.clock().wallMillis }
            // The token's remaining life is measured by this machine's clock right after the answer.
            let now = self.clock()
            let isNew = self.state.withLock { state in
                let isNew = state.token?.value != token.value
                state.token = token
                state.answers += 1
                if isNew { state.obtained += 1 }
                state.renewal.got(
                    leftMillis: token.expiresAtMillis - now.wallMillis, isNew: isNew, isWatched: self.source.isWatched,
                    nowMillis: now.steadyMillis, using: &random)
                return isNew
            }
            if isNew || self.tokens.isFailing { self.give(token) }
        } catch {
            let now = self.clock()
            self.state.withLock { state in
                state.answers += 1
                state.failures[error.cause, default: 0] += 1
                state.renewal.failed(error, nowMillis: now.steadyMillis, using: &random)
            }
            self.failIfEnded()
        }
        self.bell.ring()
        return self.state.withLock { $0.renewal.millisUntilDue(nowMillis: self.clock().steadyMillis) }
    }

    private func give(_ read: ReadToken) {
        let token = KafkaToken(
            read.value, expiresAtMillis: read.expiresAtMillis, principal: read.principal ?? "unknown",
            extensions: self.extensions)
        // This does not fail, because the token was checked when it was read.
        if let token { self.tokens.give(token) }
    }

    private func failIfEnded() {
        if case .missing(let fault) = self.validity { self.tokens.fail("\(fault)") }
    }
}

/// The state of a process's login to Kafka.
package struct LoginReport: Equatable, Sendable {
    /// The setting that names the source of tokens.
    package var source: String
    /// The source, as it may be shown.
    package var shownSource: String
    var validity: TokenRenewal.Validity
    /// Remaining life of the token; negative: time since it expired; `nil`: there was none yet.
    package var leftMillis: Int64?
    /// The user that the token names; `nil` when it names none.
    package var principal: String?
    /// Number of tokens that differed from the previous one.
    var obtained: UInt64
    /// Number of times that the source gave no token, by cause.
    var failures: [TokenFault.Cause: UInt64]
}
