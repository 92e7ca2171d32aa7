import APNSPool
public import APNSProtocol
public import Logging
public import NIOCore
public import PushModel
import TLSSession

/// The connections of one shard to APNs, for all routes. It is confined to `eventLoop`: make, call and close it there.
/// Close it before releasing it, because its connections hold it.
///
/// It does not run turns by itself: what happens on connections waits for the shard's next turn. A turn calls
/// `beginTurn`, `takeAnswers`, `submit` while there is credit and something is ready, and `endTurn`. A turn is due when
/// `onWork` has been called, and at `deadlineMillis`.
public final class ShardTransport {
    /// The shard's event loop, on which everything here is done.
    public let eventLoop: any EventLoop

    /// Called on the loop when there is something for the next turn: answers have arrived, connections began or ended,
    /// or something must be written. It is never called within a turn, and at most once until a turn begins.
    public var onWork: () -> Void = {}

    /// When the next turn is due even without an event, on the steady clock. It is set at the end of each turn; `nil`
    /// means that no deadline is pending.
    public private(set) var deadlineMillis: Int64?

    let providerTokens: ProviderTokenStore
    /// The time of this turn, or of the last event on a connection.
    private(set) var now: EngineTime
    /// The moment of `now` on the steady clock, microseconds.
    private(set) var nowMicros: Int64
    /// Answers that the shard has not taken yet.
    var answers: [PushAnswer] = []

    private(set) var routes: [RouteRunner] = []
    /// Whether something has happened that may change counters, apart from answers.
    var hasNews = false
    private var lent = LentRequest()
    private var dirty: [APNSConnection] = []
    private var isInTurn = false
    /// Whether `onWork` was called, and no turn has begun since.
    private var isTurnDue = false
    private var isClosed = false
    private var subscription: ProviderTokenStore.Subscription?
    private let randomSeed: UInt64
    private let logger: Logger

    /// A transport without connections. Throws if trust roots cannot be read or a route names a provider key that does
    /// not exist.
    ///
    /// - Parameters:
    ///   - bundleIDs: the apps' bundle identifiers, in the order of `EngineConfiguration.apps`. `PushRequest.app` is an
    ///     index into this list.
    ///   - randomSeed: the seed for random delays, and for the choice among addresses.
    public init(
        eventLoop: any EventLoop, routes: [RouteConfiguration], bundleIDs: [String], providerTokens: ProviderTokenStore,
        randomSeed: UInt64, logger: Logger
    ) throws(TransportError) {
        self.eventLoop = eventLoop
        self.providerTokens = providerTokens
        self.randomSeed = randomSeed
        self.logger = logger
        (self.now, self.nowMicros) = MachineClock.read()
        try self.open(routes, bundleIDs: bundleIDs)
    }

    /// Makes the runners of routes that have none yet. If one cannot be made, none is added.
    private func open(_ routes: [RouteConfiguration], bundleIDs: [String]) throws(TransportError) {
        let providerTokens = self.providerTokens
        var opened: [RouteRunner] = []
        for (index, route) in routes.enumerated().dropFirst(self.routes.count) {
            guard (0..<providerTokens.keyCount).contains(route.providerKey) else {
                throw TransportError(
                    setting: "route \(route.name): provider key",
                    detail: "\(route.providerKey) given, but \(providerTokens.keyCount) keys are configured")
            }
            let tlsContext: TLSContext
            do {
                tlsContext = try route.tlsContext ?? TLSContext.client(roots: route.trustRoots)
            } catch {
                throw TransportError(setting: "route \(route.name): trust roots", detail: "\(error)")
            }
            opened.append(
                RouteRunner(
                    configuration: route, shard: self, bundleIDs: bundleIDs,
                    token: providerTokens.current(key: route.providerKey),
                    tlsContext: tlsContext, randomSeed: self.randomSeed &+ UInt64(index) &* 0x9E37_79B9_7F4A_7C15,
                    logger: self.logger))
        }
        self.routes += opened
    }

    /// Changes to other routes and apps. Call it between two turns. Connections stay open: see `ConnectionPool.follow`.
    ///
    /// - Parameters:
    ///   - routes: the present routes, in their order and with their targets; new ones may follow.
    ///   - bundleIDs: the present apps, in their order; new ones may follow.
    /// - Throws: if the trust roots of a new route cannot be read, or the route names a provider key that does not
    ///   exist. Nothing has changed then.
    public func follow(routes: [RouteConfiguration], bundleIDs: [String]) throws(TransportError) {
        guard !self.isClosed else { return }
        let countBefore = self.routes.count
        try self.open(routes, bundleIDs: bundleIDs)
        self.readClock()
        for (runner, route) in zip(self.routes, routes) { runner.follow(route, bundleIDs: bundleIDs) }
        for runner in self.routes.dropFirst(countBefore) where self.subscription != nil {
            runner.pool.start(now: self.now)
        }
        self.hasNews = true
        self.wantTurn()
    }

    /// Asks the pools for their first connections, and subscribes to new provider tokens. The first turn opens the
    /// connections.
    public func start() {
        let transport = NIOLoopBound(self, eventLoop: self.eventLoop)
        let eventLoop = self.eventLoop
        self.subscription = self.providerTokens.subscribe {
            eventLoop.execute { transport.value.providerTokenChanged() }
        }
        self.readClock()
        for route in self.routes { route.pool.start(now: self.now) }
        self.wantTurn()
    }

    // MARK: A turn

    /// Begins a turn: ends requests whose time is over, and carries out the pools' actions.
    /// - Returns: the time of the turn.
    @discardableResult
    public func beginTurn() -> EngineTime {
        self.readClock()
        self.isInTurn = true
        self.isTurnDue = false
        let isDue = self.now.steadyMillis >= self.deadlineMillis ?? .max
        for route in self.routes {
            // The turn sees the present credit itself, so no notification is needed.
            route.sawNoCredit = false
            route.beginTurn(isDue: isDue)
        }
        return self.now
    }

    /// Moves the answers that have arrived into `answers`, which must be empty. Each push gets exactly one answer. The
    /// array's capacity is reused.
    public func takeAnswers(into answers: inout [PushAnswer]) {
        guard !self.answers.isEmpty else { return }
        swap(&answers, &self.answers)
    }

    /// Requests credit for pushes that wait on `route`. May open a connection. The call is cheap: make it once per turn
    /// for each waiting route.
    public func wantsCredit(route: UInt16) {
        guard !self.isClosed else { return }
        let runner = self.routes[Int(route)]
        // If there is credit, the pushes wait for something else.
        guard runner.pool.credit == 0 else { return }
        runner.sawNoCredit = true
        runner.pool.wanted(now: self.now)
    }

    /// Calls `fill` for one request after the other, and queues each on a connection of `route`. Stops after `max`
    /// requests, when credit runs out, or when `fill` returns `false`. `fill` must set every field. Nothing is written
    /// before `endTurn`.
    /// - Returns: the number of requests that `fill` has filled.
    public func submit(route: UInt16, max: Int, fill: (inout PushRequest) -> Bool) -> Int {
        // The turn may have begun a while ago. The time until an answer is measured from here.
        self.readClock()
        let runner = self.routes[Int(route)]
        var count = 0
        while count < max {
            guard let lease = runner.pool.lease(now: self.now) else {
                runner.sawNoCredit = true
                break
            }
            guard fill(&self.lent.request) else {
                runner.pool.takeBack(lease)
                break
            }
            count += 1
            if !runner.send(self.lent, lease) {
                // The engine counts this push as sent, so the push needs an answer.
                self.answers.append(PushAnswer(id: self.lent.request.id, result: .notProcessed, apnsMicros: 0))
            }
        }
        return count
    }

    /// Writes everything that was submitted, with one flush per connection.
    public func endTurn() {
        for route in self.routes { route.carryOutActions() }
        self.flushDirty()
        self.isInTurn = false
        // Writing may end streams. That gives credit, which no event reports.
        if !self.answers.isEmpty || self.routes.contains(where: { !$0.pool.actions.isEmpty || $0.hasUnseenCredit }) {
            self.wantTurn()
        }
        var next = Int64.max
        for route in self.routes { next = min(next, route.pool.nextDeadlineMillis ?? .max) }
        self.deadlineMillis = next == .max ? nil : next
    }

    /// Whether the counters or the state of a route may have changed since the last call. For example, a connection has
    /// begun, ended or failed, a request has timed out, or APNs has changed its stream limit.
    public func takesNews() -> Bool {
        defer { self.hasNews = false }
        return self.hasNews
    }

    // MARK: State

    /// The state of `route`, with the reason why nothing can be pushed on it, if that is known.
    public func status(route: UInt16) -> RouteStatus { self.routes[Int(route)].status }

    /// The state and the counts of `route`.
    public func counters(route: UInt16) -> RouteCounters { self.routes[Int(route)].currentCounters() }

    // MARK: Ending

    /// Closes every connection at once. Requests in flight are answered as unknown; requests that never left, as not
    /// processed. The answers may still be taken. `onWork` is not called again.
    public func close() {
        guard !self.isClosed else { return }
        self.readClock()
        self.subscription.map(self.providerTokens.cancel)
        for route in self.routes { route.closeAll(now: self.now) }
        self.flushDirty()
        self.isClosed = true
        self.deadlineMillis = nil
        self.onWork = {}
    }

    // MARK: Events of connections

    func readClock() {
        (self.now, self.nowMicros) = MachineClock.read()
    }

    /// Sets `now` to the present moment for an event on a connection. Within a turn it keeps the time of the turn.
    func readClockOutsideTurn() {
        if !self.isInTurn { self.readClock() }
    }

    /// Marks the connection as having something to write at the end of the turn.
    func markDirty(_ connection: APNSConnection) {
        guard !connection.isDirty else { return }
        connection.isDirty = true
        self.dirty.append(connection)
    }

    /// Requests a turn of the shard by `onWork`, unless a turn is running or already requested.
    func wantTurn() {
        guard !self.isInTurn, !self.isTurnDue, !self.isClosed else { return }
        self.isTurnDue = true
        self.onWork()
    }

    private func flushDirty() {
        // A flush may mark other connections as dirty. Each round flushes a connection only once, so the loop ends.
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

    private func providerTokenChanged() {
        guard !self.isClosed else { return }
        self.readClock()
        for route in self.routes { route.tokenChanged() }
        self.wantTurn()
    }
}

/// The one request that is filled again and again. If it were copyable, reading it from the transport would copy it for
/// every push, and count references to its buffers.
struct LentRequest: ~Copyable {
    var request = PushRequest()
}
