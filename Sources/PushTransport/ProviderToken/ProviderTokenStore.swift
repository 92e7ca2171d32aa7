import APNSProtocol
public import Logging
public import NIOCore
import NIOPosix
import PushEngine
import Synchronization
import TLSSession

/// The provider tokens of all keys, one current token each, signed off the hot path and shared by every shard of the
/// process.
///
/// May be used from any thread. Shards take a new token when the store tells them, between two pushes.
public final class ProviderTokenStore: Sendable {
    /// How many keys there are; `RouteConfiguration.providerKey` is an index below it.
    public let keyCount: Int

    /// Names one subscriber.
    struct Subscription: Hashable, Sendable {
        fileprivate var number: UInt64
    }

    private struct Key: Sendable {
        var configuration: ProviderKey
        var mark: KeyFile.Mark
        /// The mark of a changed file that was no key: complained about once.
        var badMark: KeyFile.Mark?
        /// Of the file's bytes: a file that was only touched is no new key.
        var contentHash: Int
        var privateKey: ES256PrivateKey
        var schedule = ProviderTokenSchedule()
        var generation: UInt32 = 0
        var connectionEpoch: UInt32 = 0
        var current: ProviderToken
        var previous: ProviderToken?
    }
    private struct State: Sendable {
        var keys: [Key]
        var subscribers: [Subscription: @Sendable () -> Void] = [:]
        var subscriptionCount: UInt64 = 0
        var tick: RepeatedTask?
        var isTicking = false
    }

    // Held for the time of a signature at most (about 20 µs, once in 45 minutes per key); never while a file is read.
    private let state: Mutex<State>
    private let logger: Logger

    /// Reads each key's file and signs its first token. Throws when a file cannot be read, is not a P-256 key, or an id
    /// is not 10 characters.
    public convenience init(keys: [ProviderKey], logger: Logger) throws(TransportError) {
        try self.init(keys: keys, now: SteadyClock.read().now, logger: logger)
    }

    init(keys: [ProviderKey], now: EngineTime, logger: Logger) throws(TransportError) {
        var loaded: [Key] = []
        for configuration in keys { loaded.append(try Self.load(configuration, now: now)) }
        self.keyCount = loaded.count
        self.state = Mutex(State(keys: loaded))
        self.logger = logger
    }

    private static func load(_ configuration: ProviderKey, now: EngineTime) throws(TransportError) -> Key {
        for (name, value) in [("key id", configuration.keyID), ("team id", configuration.teamID)]
        where value.utf8.count != ProviderTokenClaims.identifierByteCount {
            throw TransportError(
                setting: "provider key \(configuration.keyID): \(name)",
                detail:
                    "\"\(value)\" has \(value.utf8.count) characters; Apple's have \(ProviderTokenClaims.identifierByteCount)"
            )
        }
        let setting = "provider key \(configuration.keyID): file \(configuration.path)"
        do {
            let file = try KeyFile.read(path: configuration.path)
            let privateKey = try ES256PrivateKey(pem: file.bytes)
            var schedule = ProviderTokenSchedule()
            guard case .sign(let issuedAtSeconds, _) = schedule.due(now: now) else {
                preconditionFailure("a schedule begins with signing")
            }
            let token = try Self.sign(
                configuration, privateKey, issuedAtSeconds: issuedAtSeconds, generation: 1, connectionEpoch: 1)
            schedule.signed(issuedAtSeconds: issuedAtSeconds, now: now)
            return Key(
                configuration: configuration, mark: file.mark, contentHash: file.bytes.hashValue,
                privateKey: privateKey, schedule: schedule,
                generation: 1, connectionEpoch: 1,
                current: token)
        } catch let error as KeyFileError {
            throw TransportError(setting: setting, detail: error.detail)
        } catch {
            throw TransportError(setting: setting, detail: "holds no usable private key: \(error)")
        }
    }

    /// The token of a key. Take it when told of a change, not per push.
    public func current(key: Int) -> ProviderToken { self.state.withLock { $0.keys[key].current } }

    // MARK: Renewing

    /// Begins to renew tokens and to watch the key files, once a second on `eventLoop`; files are read and tokens
    /// signed on the thread pool.
    public func start(on eventLoop: any EventLoop) {
        let task = eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { [weak self] task in
            guard let self else { return task.cancel() }
            NIOThreadPool.singleton.submit { _ in self.tick(now: SteadyClock.read().now) }
        }
        let earlier = self.state.withLock { state in
            let earlier = state.tick
            state.tick = task
            return earlier
        }
        earlier?.cancel()
    }

    /// Stops renewing. The current tokens stay readable.
    public func stop() {
        let task = self.state.withLock { state in
            let task = state.tick
            state.tick = nil
            return task
        }
        task?.cancel()
    }

    /// Does what is due: looks at the key files, signs. Blocks on the disk; never called on a loop.
    func tick(now: EngineTime) {
        let isFirst = self.state.withLock { state in
            guard !state.isTicking else { return false }
            state.isTicking = true
            return true
        }
        // A disk that hangs must not gather ticks.
        guard isFirst else { return }
        defer { self.state.withLock { $0.isTicking = false } }
        for key in 0..<self.keyCount {
            self.reloadIfChanged(key)
            self.carryOut(key, now: now) { schedule in schedule.due(now: now) }
        }
    }

    private func reloadIfChanged(_ key: Int) {
        let (configuration, mark, badMark) = self.state.withLock { state in
            (state.keys[key].configuration, state.keys[key].mark, state.keys[key].badMark)
        }
        // Gone is not changed: an operator may be replacing it just now.
        guard let seen = KeyFile.mark(path: configuration.path), seen != mark, seen != badMark else { return }
        do {
            let file = try KeyFile.read(path: configuration.path)
            let privateKey = try ES256PrivateKey(pem: file.bytes)
            let isAnother = self.state.withLock { state in
                state.keys[key].mark = file.mark
                state.keys[key].badMark = nil
                guard state.keys[key].contentHash != file.bytes.hashValue else { return false }
                state.keys[key].contentHash = file.bytes.hashValue
                state.keys[key].privateKey = privateKey
                state.keys[key].connectionEpoch += 1
                state.keys[key].previous = nil
                state.keys[key].schedule.keyReplaced()
                return true
            }
            guard isAnother else { return }
            self.logger.notice("provider key file reloaded", metadata: ["key": "\(configuration.keyID)"])
        } catch {
            self.state.withLock { $0.keys[key].badMark = seen }
            self.logger.error(
                "the provider key file changed but holds no usable key; the one before stays",
                metadata: ["key": "\(configuration.keyID)", "file": "\(configuration.path)", "cause": "\(error)"])
        }
    }

    // MARK: What APNs said

    /// APNs called the token of this generation expired. Any thread; signing follows on the thread pool.
    func reportExpired(key: Int, generation: UInt32) {
        NIOThreadPool.singleton.submit { _ in
            let now = SteadyClock.read().now
            self.carryOut(key, now: now, generation: generation) { schedule in schedule.expiredReported(now: now) }
        }
    }

    /// APNs called the token of this generation one too many.
    func reportTooManyUpdates(key: Int, generation: UInt32) {
        NIOThreadPool.singleton.submit { _ in
            let now = SteadyClock.read().now
            self.carryOut(key, now: now, generation: generation) { schedule in schedule.tooManyUpdatesReported(now: now)
            }
        }
    }

    /// APNs refused our credentials while this token was in use.
    func reportInvalid(key: Int, generation: UInt32) {
        NIOThreadPool.singleton.submit { _ in
            let now = SteadyClock.read().now
            self.carryOut(key, now: now, generation: generation) { schedule in schedule.invalidReported(now: now) }
        }
    }

    /// Asks the schedule and does as it says. `generation`: only if that token is still the current one.
    private func carryOut(
        _ index: Int, now: EngineTime, generation: UInt32? = nil,
        _ decide: (inout ProviderTokenSchedule) -> ProviderTokenSchedule.Decision
    ) {
        let (result, keyID) = self.state.withLock { state -> (Result<Bool, TLSError>, String) in
            let keyID = state.keys[index].configuration.keyID
            if let generation, generation != state.keys[index].generation { return (.success(false), keyID) }
            return (Self.carryOut(&state.keys[index], decision: decide(&state.keys[index].schedule), now: now), keyID)
        }
        switch result {
        case .success(false):
            break
        case .success(true):
            self.logger.info("provider token replaced", metadata: ["key": "\(keyID)"])
            let subscribers = self.state.withLock { $0.subscribers }
            for subscriber in subscribers.values { subscriber() }
        case .failure(let error):
            self.logger.error("cannot sign a provider token", metadata: ["key": "\(keyID)", "cause": "\(error)"])
        }
    }

    /// `true`: the key has another current token.
    private static func carryOut(
        _ key: inout Key, decision: ProviderTokenSchedule.Decision, now: EngineTime
    ) -> Result<Bool, TLSError> {
        switch decision {
        case .keep:
            return .success(false)
        case .sign(let issuedAtSeconds, let isOutOfTurn):
            let epoch = key.connectionEpoch + (isOutOfTurn ? 1 : 0)
            do {
                let token = try Self.sign(
                    key.configuration, key.privateKey, issuedAtSeconds: issuedAtSeconds, generation: key.generation + 1,
                    connectionEpoch: epoch)
                key.schedule.signed(issuedAtSeconds: issuedAtSeconds, now: now)
                key.generation += 1
                key.connectionEpoch = epoch
                key.previous = key.current
                key.current = token
                return .success(true)
            } catch {
                return .failure(error)
            }
        case .usePrevious:
            guard var token = key.previous else { return .success(false) }
            key.schedule.exchanged(now: now)
            key.generation += 1
            token.generation = key.generation
            token.isReturn = true
            token.connectionEpoch = key.connectionEpoch
            key.previous = key.current
            key.current = token
            return .success(true)
        }
    }

    private static func sign(
        _ configuration: ProviderKey, _ privateKey: ES256PrivateKey, issuedAtSeconds: Int64, generation: UInt32,
        connectionEpoch: UInt32
    ) throws(TLSError) -> ProviderToken {
        let input = ProviderTokenClaims.signingInput(
            keyID: configuration.keyID, teamID: configuration.teamID, issuedAtSeconds: issuedAtSeconds)
        let signature = try privateKey.sign(input)
        return ProviderToken(
            generation: generation, connectionEpoch: connectionEpoch, issuedAtSeconds: issuedAtSeconds,
            authorization: ProviderTokenClaims.authorizationValue(signingInput: input, signature: signature))
    }

    // MARK: Subscribers

    /// `onChange` is called on any thread after a key got another current token.
    func subscribe(_ onChange: @escaping @Sendable () -> Void) -> Subscription {
        self.state.withLock { state in
            state.subscriptionCount += 1
            let subscription = Subscription(number: state.subscriptionCount)
            state.subscribers[subscription] = onChange
            return subscription
        }
    }

    func cancel(_ subscription: Subscription) {
        _ = self.state.withLock { $0.subscribers.removeValue(forKey: subscription) }
    }
}
