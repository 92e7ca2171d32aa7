import APNSPool
import APNSProtocol
public import Logging
public import NIOCore
import NIOPosix
import PushModel
import Redaction
import Synchronization
import TLSSession

/// The current provider token of each credential, and the choice of the key that signs it. Tokens are signed on a
/// thread pool, and shared by all shards of the process.
///
/// It may be used from any thread. When it notifies a shard of a new token, the shard takes the token between two
/// pushes.
public final class ProviderTokenStore: Sendable {
    /// Number of credentials. It never shrinks. `RouteConfiguration.providerKey` is an index below it.
    public var keyCount: Int { self.state.withLock { $0.credentials.count } }

    /// Identifies one subscriber.
    struct Subscription: Hashable, Sendable {
        fileprivate var number: UInt64
    }

    private struct State: Sendable {
        var credentials: [ProviderCredential]
        var subscribers: [Subscription: @Sendable () -> Void] = [:]
        var onComplaints: (@Sendable ([String]) -> Void)?
        /// The complaints that were last reported.
        var complaints: [String] = []
        var subscriptionCount: UInt64 = 0
        var tick: RepeatedTask?
        var isTicking = false
    }

    // The lock is never held while a file is read. It is held longest for a signature: about 20 µs, once in 45 minutes
    // per key.
    private let state: Mutex<State>
    private let logger: Logger

    /// Reads each key's file and signs its first token. Throws if a file cannot be read or is not a P-256 key, or if an
    /// id does not have 10 characters.
    public convenience init(keys: [ProviderKey], logger: Logger) throws(TransportError) {
        try self.init(keys: keys, now: MachineClock.read().now, logger: logger)
    }

    init(keys: [ProviderKey], now: EngineTime, logger: Logger) throws(TransportError) {
        var credentials: [ProviderCredential] = []
        for configuration in keys { credentials.append(try Self.load(configuration, now: now)) }
        self.logger = logger
        var said: [String] = []
        for complaint in credentials.flatMap(\.complaints) where !said.contains(complaint) {
            logger.warning("\(complaint)")
            said.append(complaint)
        }
        self.state = Mutex(State(credentials: credentials))
    }

    private static func load(_ configuration: ProviderKey, now: EngineTime) throws(TransportError) -> ProviderCredential
    {
        try Self.read(configuration, now: now).credential
    }

    /// What was read for one configured key, and a credential made from that alone.
    fileprivate struct Reading: Sendable {
        var isDirectory: Bool
        var found: [(path: String, finding: ProviderCredential.Finding)]
        var credential: ProviderCredential
    }

    private static func read(_ configuration: ProviderKey, now: EngineTime) throws(TransportError) -> Reading {
        let name = "provider key \(configuration.name)"
        for (part, value) in [("key id", configuration.keyID), ("team id", configuration.teamID)] {
            guard let value, value.utf8.count != ProviderTokenClaims.identifierByteCount else { continue }
            throw TransportError(
                setting: "\(name): \(part)",
                detail:
                    "has \(value.utf8.count) characters; Apple's have \(ProviderTokenClaims.identifierByteCount)"
            )
        }
        let list = configuration.content.isEmpty ? KeyFileName.list(directory: configuration.path) : nil
        guard list != nil || configuration.keyID != nil || KeyFileName.keyID(path: configuration.path) != nil else {
            throw TransportError(
                setting: "\(name): file\(configuration.shownPath.map { " \($0)" } ?? "")",
                detail:
                    configuration.shownPath == nil
                    ? ShownText.notPath(configuration.path)
                    : "is no directory, and its name does not say the key's id as AuthKey_ABC123DEFG.p8 would: give apns.key-id"
            )
        }
        let found = (list ?? [configuration.path]).map {
            (path: $0, finding: Self.examine($0, of: configuration, known: nil))
        }
        do {
            return Reading(
                isDirectory: list != nil, found: found,
                credential: try ProviderCredential(configuration, isDirectory: list != nil, found: found, now: now))
        } catch {
            throw TransportError(
                setting: "\(name): file\(configuration.shownPath.map { " \($0)" } ?? "")",
                detail: configuration.shownPath == nil ? ShownText.notPath(configuration.path) : error.detail)
        }
    }

    /// Reads one key file. Blocks on the disk.
    private static func examine(
        _ path: String, of configuration: ProviderKey, known: KeyFile.Mark?
    ) -> ProviderCredential.Finding {
        guard configuration.content.isEmpty else {
            return known == .unchanging ? .same : .read(KeyFile(mark: .unchanging, bytes: configuration.content))
        }
        let mark = KeyFile.mark(path: path)
        if let mark, mark == known { return .same }
        do {
            return .read(try KeyFile.read(path: path))
        } catch {
            return .unusable(mark: mark, detail: error.detail)
        }
    }

    /// The current token of a key. Shards read it once per notification, and keep it for their pushes.
    public func current(key: Int) -> ProviderToken { self.state.withLock { $0.credentials[key].token } }

    /// The id of the key in use.
    public func currentKeyID(key: Int) -> String { self.state.withLock { $0.credentials[key].currentKeyID } }

    /// What an operator should repair, in plain words, each text once. Pushes continue meanwhile.
    public var complaints: [String] { self.state.withLock { Self.complaints($0) } }

    private static func complaints(_ state: State) -> [String] {
        var complaints: [String] = []
        for complaint in state.credentials.flatMap(\.complaints) where !complaints.contains(complaint) {
            complaints.append(complaint)
        }
        return complaints
    }

    /// Calls `onChange` with the complaints now, and again when they change. Later calls may be on any thread.
    public func watchComplaints(_ onChange: @escaping @Sendable ([String]) -> Void) {
        self.state.withLock { $0.onComplaints = onChange }
        onChange(self.complaints)
    }

    private func reportComplaints() {
        let (complaints, onChange) = self.state.withLock { state -> ([String], (@Sendable ([String]) -> Void)?) in
            let complaints = Self.complaints(state)
            guard complaints != state.complaints else { return ([], nil) }
            state.complaints = complaints
            return (complaints, state.onComplaints)
        }
        onChange?(complaints)
    }

    // MARK: Other keys

    /// Keys that were read and can sign, but are not used yet.
    public struct KeyChange: Sendable {
        fileprivate var readings: [(index: Int, configuration: ProviderKey, reading: Reading)] = []

        /// Whether the change has no keys.
        public var isEmpty: Bool { self.readings.isEmpty }
    }

    /// Reads the files of keys that are new, or whose configuration differs from the present one. Blocks on the disk;
    /// never call it on a loop.
    /// - Parameter keys: the configured keys, at least as many as before. Each key that exists keeps its index.
    /// - Throws: what is wrong with one of the keys. Nothing has changed then.
    public func read(_ keys: [ProviderKey]) throws(TransportError) -> KeyChange {
        try self.read(keys, now: MachineClock.read().now)
    }

    func read(_ keys: [ProviderKey], now: EngineTime) throws(TransportError) -> KeyChange {
        let known = self.state.withLock { $0.credentials.map(\.configuration) }
        precondition(keys.count >= known.count, "\(keys.count) keys given, \(known.count) are in use")
        var change = KeyChange()
        for (index, key) in keys.enumerated() where index >= known.count || key != known[index] {
            change.readings.append((index, key, try Self.read(key, now: now)))
        }
        return change
    }

    /// Uses these keys from now on. After a change of key, connections that began with the former key only finish their
    /// requests. APNs refuses a key that a connection did not begin with. If APNs refuses the new key and has never
    /// accepted it, the store returns to the former key.
    public func use(_ change: KeyChange) { self.use(change, now: MachineClock.read().now) }

    func use(_ change: KeyChange, now: EngineTime) {
        for (index, configuration, reading) in change.readings {
            let isNew = self.state.withLock { state in
                guard index == state.credentials.count else { return false }
                state.credentials.append(reading.credential)
                return true
            }
            guard !isNew else { continue }
            self.change(index) { credential throws(TLSError) in
                try credential.follow(
                    configuration, isDirectory: reading.isDirectory, found: reading.found, now: now)
            }
        }
        self.reportComplaints()
    }

    // MARK: Renewing

    /// Begins to renew tokens and to watch the key files. `eventLoop` starts the work once a second; the thread pool
    /// reads the files and signs.
    public func start(on eventLoop: any EventLoop) {
        let task = eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { [weak self] task in
            guard let self else { return task.cancel() }
            NIOThreadPool.singleton.submit { _ in self.tick(now: MachineClock.read().now) }
        }
        let earlier = self.state.withLock { state in
            let earlier = state.tick
            state.tick = task
            return earlier
        }
        earlier?.cancel()
    }

    /// Stops renewing tokens and watching files. The current tokens can still be read.
    public func stop() {
        let task = self.state.withLock { state in
            let task = state.tick
            state.tick = nil
            return task
        }
        task?.cancel()
    }

    /// Reads the key files, and signs the tokens that are due. Blocks on the disk; never call it on a loop.
    func tick(now: EngineTime) {
        let isFirst = self.state.withLock { state in
            guard !state.isTicking else { return false }
            state.isTicking = true
            return true
        }
        // While a disk hangs, further ticks do nothing, so that they do not pile up.
        guard isFirst else { return }
        defer { self.state.withLock { $0.isTicking = false } }
        for key in 0..<self.keyCount {
            self.lookAtFiles(key, now: now)
            self.carryOut(key, now: now) { schedule in schedule.due(now: now) }
        }
        self.reportComplaints()
    }

    /// - Parameter whenLooked: called after the files were read, and before what was read is used. Tests use it.
    func lookAtFiles(_ key: Int, now: EngineTime, whenLooked: () -> Void = {}) {
        let (configuration, isDirectory, files) = self.state.withLock { state in
            let credential = state.credentials[key]
            return (credential.configuration, credential.isDirectory, credential.files)
        }
        let paths = isDirectory ? KeyFileName.list(directory: configuration.path) ?? [] : [configuration.path]
        let found = paths.map { ($0, Self.examine($0, of: configuration, known: files[$0]?.mark)) }
        whenLooked()
        self.change(key) { credential throws(TLSError) in
            // If another key was configured meanwhile, the wrong files were read.
            guard credential.configuration == configuration else { return [] }
            return try credential.look(found, now: now)
        }
    }

    // MARK: APNs' answers

    /// Takes the report that APNs called the token of this generation expired. It may be called on any thread; the
    /// thread pool signs a new token.
    func reportExpired(key: Int, generation: UInt32) {
        NIOThreadPool.singleton.submit { _ in
            let now = MachineClock.read().now
            self.carryOut(key, now: now, generation: generation) { schedule in schedule.expiredReported(now: now) }
        }
    }

    /// Takes APNs' report that the token of this generation came too soon after the previous token.
    func reportTooManyUpdates(key: Int, generation: UInt32) {
        NIOThreadPool.singleton.submit { _ in
            let now = MachineClock.read().now
            self.carryOut(key, now: now, generation: generation) { schedule in schedule.tooManyUpdatesReported(now: now)
            }
        }
    }

    /// Takes the report that APNs accepted a push with the token of this generation.
    func reportAccepted(key: Int, generation: UInt32) {
        NIOThreadPool.singleton.submit { _ in
            self.accept(key: key, generation: generation)
        }
    }

    func accept(key: Int, generation: UInt32) {
        self.change(key) { credential in
            guard generation >= credential.token.keyGeneration else { return [] }
            return credential.accepted().map { [$0] } ?? []
        }
        self.reportComplaints()
    }

    /// Takes the report that APNs refused our credentials, for this reason, while the token of this generation was in
    /// use. The store signs a new token if the issue time may be wrong. It may also change to another key.
    func reportInvalid(key: Int, generation: UInt32, reason: String) {
        NIOThreadPool.singleton.submit { _ in
            let now = MachineClock.read().now
            self.reportInvalid(key: key, generation: generation, reason: reason, now: now)
        }
    }

    func reportInvalid(key: Int, generation: UInt32, reason: String, now: EngineTime) {
        self.carryOut(key, now: now, generation: generation) { schedule in schedule.invalidReported(now: now) }
        self.change(key) { credential throws(TLSError) in
            guard generation == credential.token.generation else { return [] }
            return try credential.refused(reason: reason, now: now).map { [$0] } ?? []
        }
        self.reportComplaints()
    }

    /// Asks the schedule of the key in use, and carries out its decision. With `generation`, does nothing if the
    /// current token is another one.
    private func carryOut(
        _ index: Int, now: EngineTime, generation: UInt32? = nil,
        _ decide: (inout ProviderTokenSchedule) -> ProviderTokenSchedule.Decision
    ) {
        self.change(index) { credential throws(TLSError) in
            if let generation, generation != credential.token.generation { return [] }
            _ = try credential.carryOut(now: now, decide)
            return []
        }
    }

    /// Changes a credential, and writes the news to the log. Notifies the subscribers if the current token has changed.
    private func change(
        _ index: Int, _ body: (inout ProviderCredential) throws(TLSError) -> [ProviderCredential.News]
    ) {
        let (result, keyID, subscribers) = self.state.withLock { state in
            let before = state.credentials[index].token.generation
            let result: Result<[ProviderCredential.News], TLSError>
            do throws(TLSError) {
                result = .success(try body(&state.credentials[index]))
            } catch {
                result = .failure(error)
            }
            let hasChanged = state.credentials[index].token.generation != before
            return (result, state.credentials[index].currentKeyID, hasChanged ? Array(state.subscribers.values) : nil)
        }
        switch result {
        case .success(let news):
            for line in news { self.log(line) }
        case .failure(let error):
            self.logger.error("cannot sign a provider token", metadata: ["key": "\(keyID)", "cause": "\(error)"])
        }
        guard let subscribers else { return }
        self.logger.info("provider token replaced", metadata: ["key": "\(keyID)"])
        for subscriber in subscribers { subscriber() }
    }

    private func log(_ news: ProviderCredential.News) {
        switch news {
        case .tried(let keyID, let path):
            self.logger.notice(
                "a new provider key is tried", metadata: ["key": "\(keyID)", "file": "\(ShownText.path(path) ?? "")"])
        case .unusable(let path, let detail):
            self.logger.error(
                "a provider key file cannot be used; the previous key stays in use",
                metadata: ["file": "\(ShownText.path(path) ?? "")", "cause": "\(detail)"])
        case .exchanged(let from, let to, let reason):
            self.logger.error(
                "APNs refuses a provider key; another is used",
                metadata: ["refused": "\(from)", "used": "\(to)", "reason": "\(reason)"])
        case .accepted(let keyID):
            self.logger.notice("APNs accepts the provider key", metadata: ["key": "\(keyID)"])
        }
    }

    // MARK: Subscribers

    /// Calls `onChange` whenever a key gets another current token. The calls may be on any thread.
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
