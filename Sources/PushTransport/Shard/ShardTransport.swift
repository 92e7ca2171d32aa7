import APNSPool
public import APNSProtocol
public import Logging
public import NIOCore
import PushModel
import TLSSession

/// The way out of one shard: its connections to APNs, all routes. Confined to `eventLoop`: made, called and closed
/// there. Close it (or drain it) before letting it go: its connections hold it.
///
/// A turn of the shard is: `submit` as long as `credit` lasts and something is ready, then `flushAll` once. Answers
/// come back in batches.
public final class ShardTransport {
    /// The shard's event loop: everything here happens on it.
    public let eventLoop: any EventLoop

    /// Called on the loop with the answers of one read (or of one timeout, or one lost connection), each push exactly
    /// once. Pushes may be submitted from within; what was submitted is flushed afterwards. The array is lent: keep
    /// nothing of it.
    public var onAnswers: ([PushAnswer]) -> Void = { _ in }
    /// Called on the loop when a route that was last seen without credit (by `credit`, `submit` or `wantsCredit`) has
    /// some again and no answer says so: a connection became ready, a pause ended. At most once per turn; what was
    /// submitted from within is flushed afterwards.
    public var onCredit: () -> Void = {}

    /// Called on the loop after a turn in which something happened that no answer tells of: connections came, went or
    /// failed, something timed out, APNs gave or took credit. The counters have changed then.
    public var onNews: () -> Void = {}

    let providerTokens: ProviderTokenStore
    /// The time of this turn.
    private(set) var now: EngineTime
    /// The same, steady microseconds.
    private(set) var nowMicros: Int64
    /// Answers of this turn.
    var answers: [PushAnswer] = []

    private(set) var routes: [RouteRunner] = []
    /// Something happened that `onNews` tells of.
    var hasNews = false
    private var lent = LentRequest()
    private var dirty: [APNSConnection] = []
    private var delivering: [PushAnswer] = []
    /// The clock was read since the last flush.
    private var isClockFresh = false
    private var isInTurn = false
    private var isTurnScheduled = false
    private var timer: Scheduled<Void>?
    private var timerMillis = Int64.max
    private var isClosing = false
    private var isClosed = false
    private var whenDrained: (() -> Void)?
    private var subscription: ProviderTokenStore.Subscription?

    /// Nothing is opened yet. Throws when trust roots cannot be read or a route names a provider key that does not
    /// exist.
    ///
    /// - Parameters:
    ///   - bundleIDs: of the apps in the order of `EngineConfiguration.apps`; `PushRequest.app` is an index into it.
    ///   - randomSeed: for jitter and for the spread over addresses.
    public init(
        eventLoop: any EventLoop, routes: [RouteConfiguration], bundleIDs: [String], providerTokens: ProviderTokenStore,
        randomSeed: UInt64, logger: Logger
    ) throws(TransportError) {
        self.eventLoop = eventLoop
        self.providerTokens = providerTokens
        (self.now, self.nowMicros) = SteadyClock.read()
        for (index, route) in routes.enumerated() {
            guard (0..<providerTokens.keyCount).contains(route.providerKey) else {
                throw TransportError(
                    setting: "route \(route.name): provider key",
                    detail: "\(route.providerKey) given, but \(providerTokens.keyCount) keys are configured")
            }
            let tlsContext: TLSContext
            do {
                tlsContext = try TLSContext.client(roots: route.trustRoots)
            } catch {
                throw TransportError(setting: "route \(route.name): trust roots", detail: "\(error)")
            }
            self.routes.append(
                RouteRunner(
                    configuration: route, shard: self, bundleIDs: bundleIDs,
                    token: providerTokens.current(key: route.providerKey),
                    tlsContext: tlsContext, randomSeed: randomSeed &+ UInt64(index) &* 0x9E37_79B9_7F4A_7C15,
                    logger: logger))
        }
    }

    /// Opens the warm connections, and begins to follow new provider tokens.
    public func start() {
        let transport = NIOLoopBound(self, eventLoop: self.eventLoop)
        let eventLoop = self.eventLoop
        self.subscription = self.providerTokens.subscribe {
            eventLoop.execute { transport.value.providerTokenChanged() }
        }
        self.readClock()
        for route in self.routes { route.pool.start(now: self.now) }
        self.finishTurn()
    }

    // MARK: Pushes

    /// Requests that may be submitted on `route` now. 0 also means: no connection yet. Call `wantsCredit` when
    /// something is ready then.
    public func credit(route: UInt16) -> Int {
        let runner = self.routes[Int(route)]
        let credit = runner.pool.credit
        runner.sawNoCredit = credit == 0
        return credit
    }

    /// Says that pushes wait for credit on `route`: a connection is opened if that may help. Cheap; call it once per
    /// turn and waiting route.
    public func wantsCredit(route: UInt16) {
        guard !self.isClosed else { return }
        if !self.isClockFresh { self.readClock() }
        let runner = self.routes[Int(route)]
        // With credit left it is not credit that the pushes wait for.
        guard runner.pool.credit == 0 else { return }
        runner.sawNoCredit = true
        runner.pool.wanted(now: self.now)
        if !runner.pool.actions.isEmpty, !self.isInTurn { self.scheduleTurn() }
    }

    /// Lends a request to `fill`, which fills it whole and returns `true`, and queues it on a connection of `route`;
    /// nothing is written before `flushAll`. Returns `false` when there is no credit or `fill` returned `false`.
    public func submit(route: UInt16, fill: (inout PushRequest) -> Bool) -> Bool {
        if !self.isClockFresh { self.readClock() }
        let runner = self.routes[Int(route)]
        guard let lease = runner.pool.lease(now: self.now) else {
            runner.sawNoCredit = true
            return false
        }
        guard fill(&self.lent.request) else {
            runner.pool.takeBack(lease)
            return false
        }
        if !runner.send(self.lent, lease) {
            // The engine has let go of the push, so it gets an answer like any other.
            self.answers.append(PushAnswer(id: self.lent.request.id, result: .notProcessed, apnsMicros: 0))
            self.scheduleTurn()
        }
        return true
    }

    /// Writes out what was submitted, one flush per connection. Call it at the end of a turn.
    public func flushAll() {
        self.flushDirty()
        self.isClockFresh = false
        // Writing out may end streams, and so free credit that nobody knows of.
        if !self.answers.isEmpty || self.routes.contains(where: { !$0.pool.actions.isEmpty || $0.hasUnseenCredit }) {
            self.scheduleTurn()
        }
        self.armTimer()
    }

    /// Pushes without an answer yet, all routes.
    public var inFlightCount: Int { self.routes.reduce(0) { $0 + $1.pool.inFlight } }

    /// Whether anything can be pushed on `route`, as far as known.
    public func standing(route: UInt16) -> RouteStanding { self.routes[Int(route)].standing }

    /// How `route` stands and what it did.
    public func counters(route: UInt16) -> RouteCounters { self.routes[Int(route)].currentCounters() }

    // MARK: Ending

    /// Credit becomes 0 for good; requests in flight may finish. `whenDone` is called on the loop, once: when the last
    /// is answered, or after `deadlineMillis` (from now), when what is left is answered as unknown. Every connection is
    /// closed by then.
    public func drain(deadlineMillis: Int64, whenDone: @escaping () -> Void) {
        self.readClock()
        self.whenDrained = whenDone
        for route in self.routes { route.pool.shutDown(now: self.now) }
        self.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(deadlineMillis)) { self.close() }
        self.scheduleTurn()
    }

    /// Closes every connection at once. What is in flight is answered as unknown, what never left as not processed.
    /// Called from within a callback, it takes effect when that returns.
    public func close() {
        self.isClosing = true
        guard !self.isInTurn else { return }
        self.finishClosing()
    }

    private func finishClosing() {
        guard !self.isClosed else { return }
        self.readClock()
        self.subscription.map(self.providerTokens.cancel)
        for route in self.routes { route.closeAll(now: self.now) }
        self.runTurn()
        self.isClosed = true
        self.timer?.cancel()
        self.timer = nil
        self.onAnswers = { _ in }
        self.onCredit = {}
        self.onNews = {}
        let whenDrained = self.whenDrained
        self.whenDrained = nil
        whenDrained?()
    }

    // MARK: Turns

    func readClock() {
        (self.now, self.nowMicros) = SteadyClock.read()
        self.isClockFresh = true
    }

    /// The connection has something to write when the turn ends.
    func markDirty(_ connection: APNSConnection) {
        guard !connection.isDirty else { return }
        connection.isDirty = true
        self.dirty.append(connection)
    }

    /// Ends a turn that began with an event of ours.
    func finishTurn() {
        guard !self.isInTurn, !self.isClosed else { return }
        self.runTurn()
        if self.whenDrained != nil, self.inFlightCount == 0, self.answers.isEmpty { self.isClosing = true }
        if self.isClosing { self.finishClosing() }
    }

    /// Carries out decisions, delivers answers once, writes out, sets the timer.
    private func runTurn() {
        self.isInTurn = true
        for route in self.routes {
            route.lookAtWindow()
            route.carryOutActions()
        }
        if !self.answers.isEmpty {
            swap(&self.answers, &self.delivering)
            self.onAnswers(self.delivering)
            self.delivering.removeAll(keepingCapacity: true)
        } else if self.routes.contains(where: { $0.hasUnseenCredit }) {
            for route in self.routes { route.sawNoCredit = false }
            self.onCredit()
        }
        for route in self.routes { route.carryOutActions() }
        self.isInTurn = false
        self.flushAll()
        if self.hasNews {
            self.hasNews = false
            self.onNews()
        }
    }

    private func scheduleTurn() {
        guard !self.isTurnScheduled, !self.isClosed else { return }
        self.isTurnScheduled = true
        self.eventLoop.assumeIsolated().execute {
            self.isTurnScheduled = false
            self.readClock()
            self.finishTurn()
        }
    }

    private func flushDirty() {
        // A flush may make others dirty, never without end: each is flushed once per round.
        while !self.dirty.isEmpty {
            var connections: [APNSConnection] = []
            swap(&connections, &self.dirty)
            for connection in connections {
                connection.isDirty = false
                connection.flush()
            }
            if self.dirty.isEmpty {
                connections.removeAll(keepingCapacity: true)
                swap(&connections, &self.dirty)
            }
        }
    }

    // MARK: Time

    private func armTimer() {
        var next = Int64.max
        for route in self.routes { next = min(next, route.pool.nextDeadlineMillis ?? .max) }
        // A timer that fires too early only looks again: it is not moved for each new request.
        guard !self.isClosed, next < self.timerMillis else { return }
        self.timer?.cancel()
        self.timerMillis = next
        let delay = next <= self.now.steadyMillis ? 0 : next - self.now.steadyMillis
        self.timer = self.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(delay)) { self.timerFired() }
    }

    private func timerFired() {
        self.timer = nil
        self.timerMillis = .max
        guard !self.isClosed else { return }
        self.readClock()
        for route in self.routes { route.advance() }
        self.finishTurn()
    }

    private func providerTokenChanged() {
        guard !self.isClosed else { return }
        self.readClock()
        for route in self.routes { route.tokenChanged() }
        self.finishTurn()
    }
}

/// The request that is filled over and over. Not copyable: read from its class it would be copied for every push, its
/// buffers counted up and down.
struct LentRequest: ~Copyable {
    var request = PushRequest()
}
