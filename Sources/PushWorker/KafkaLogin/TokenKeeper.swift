package import KafkaLog
import PushModel
import PushTransport
import Redaction
import Synchronization

/// Keeps the token by which the clients of this process log in to Kafka: asks its source, on a thread of its own, for as long as there is a client, and
/// gives what came to all of them. One for each source in a process, however many workers and commands use it.
package final class TokenKeeper: Sendable {
    private struct State {
        var renewal = TokenRenewal()
        var token: ReadToken?
        /// Its thread lives.
        var isRunning = false
        /// When somebody last said that tokens are needed, steady.
        var neededAtMillis: Int64 = 0
        /// How often the source has answered, one way or the other.
        var answers: UInt64 = 0
        var obtained: UInt64 = 0
        var failures: [TokenFault.Cause: UInt64] = [:]
    }

    /// Who asks a source. Tests ask something else.
    typealias Ask = @Sendable (TokenSource, _ wallMillis: () -> Int64) throws(TokenFault) -> ReadToken

    /// So long without a client the thread waits for the next one.
    private static let idleMillisMax: Int64 = 30_000
    /// A look at what has ended meanwhile, at least so often.
    private static let turnMillisMax: Int64 = 1_000
    /// A source has answered by then, or never will.
    private static let answerMillisMax: Int64 = 20_000

    /// The way to clients.
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

    /// That of these settings, made when it is first asked for; `nil`: they name no source, or more than one. Nobody is asked for a token before
    /// there is a client.
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

    /// That of a client's settings; `nil`: they log in otherwise.
    package static func of(_ settings: KafkaSettings) -> TokenKeeper? {
        guard let tokens = settings.tokens else { return nil }
        return self.all.withLock { all in all.values.first { $0.tokens == tokens } }
    }

    /// The settings that a keeper of this process was made of.
    static func settings(of tokens: KafkaTokens) -> WorkerConfiguration.Kafka.OAuth? {
        self.all.withLock { all in all.first { $0.value.tokens == tokens }?.key }
    }

    // MARK: For clients that need tokens

    /// Has the source asked, if nobody does yet.
    private func begin() {
        let now = self.clock().steadyMillis
        let starts = self.state.withLock { state in
            state.neededAtMillis = now
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts { NamedThread.start("kafka-token") { self.run() } }
    }

    /// Waits until there is a token, or the source has given none. Blocks.
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

    // MARK: How it stands

    var validity: TokenRenewal.Validity {
        let now = self.clock().steadyMillis
        return self.state.withLock { $0.renewal.validity(nowMillis: now, late: self.late) }
    }

    /// For readiness, doctor and metrics.
    package var report: LoginReport {
        let now = self.clock().steadyMillis
        return self.state.withLock { state in
            LoginReport(
                source: self.source.setting, shownSource: self.source.shown,
                validity: state.renewal.validity(nowMillis: now, late: self.late),
                leftMillis: state.renewal.leftMillis(nowMillis: now), principal: state.token?.principal,
                obtained: state.obtained, failures: state.failures)
        }
    }

    /// The fault of a file that nobody writes anew in time.
    private var late: TokenFault {
        TokenFault(
            cause: .expired, setting: self.source.setting,
            text: self.source.isWatched
                ? "\(self.source.shown) still holds a token that ends, or has ended: whoever writes it does so no more"
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

    /// Asks the source if it is time, and tells clients what has changed.
    /// - Returns: milliseconds until the source is to be asked again.
    @discardableResult func turn() -> Int64 {
        self.tellWhatEnded()
        let due = self.state.withLock { $0.renewal.millisUntilDue(nowMillis: self.clock().steadyMillis) }
        guard due == 0 else { return due }
        var random = SystemRandomNumberGenerator()
        do throws(TokenFault) {
            let token = try self.askSource(self.source) { self.clock().wallMillis }
            // Its time goes by this machine's clock as it was right behind.
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
            self.tellWhatEnded()
        }
        self.bell.ring()
        return self.state.withLock { $0.renewal.millisUntilDue(nowMillis: self.clock().steadyMillis) }
    }

    private func give(_ read: ReadToken) {
        let token = KafkaToken(
            read.value, expiresAtMillis: read.expiresAtMillis, principal: read.principal ?? "unknown",
            extensions: self.extensions)
        // What was read is one.
        if let token { self.tokens.give(token) }
    }

    private func tellWhatEnded() {
        if case .missing(let fault) = self.validity { self.tokens.fail("\(fault)") }
    }
}

/// How the login of a process stands.
package struct LoginReport: Equatable, Sendable {
    /// The setting that names the source.
    package var source: String
    /// The source, as it may be shown.
    package var shownSource: String
    var validity: TokenRenewal.Validity
    /// How long the token is good for; negative: since when it is not; `nil`: there has been none.
    package var leftMillis: Int64?
    /// Whom the token is of; `nil`: it does not say so.
    package var principal: String?
    /// Tokens that differed from the one before.
    var obtained: UInt64
    /// Times that the source gave none.
    var failures: [TokenFault.Cause: UInt64]
}
