import APNSProtocol
import PushModel

@testable import APNSPool
@testable import PushEngine

/// One simulated run, called a history. It has shards with their pools, a token store, pushes, the network, and APNs
/// behind the network.
final class PoolWorld {
    enum Event {
        case arrives(push: Int)
        case again(push: Int)
        case storeTick
        case tokenChanged(shard: Int)
        case keyFileReplaced
        case misfortune
        // These events of a connection travel from APNs to us.
        case transportConnected(SimulatedLink)
        case settings(SimulatedLink, limit: Int)
        case answer(SimulatedLink, streamID: Int32, Verdict)
        case reset(SimulatedLink, streamID: Int32, ConnectionPool.Failure)
        case goAway(SimulatedLink, last: Int32, isError: Bool)
        case pong(SimulatedLink)
        case closed(SimulatedLink)
        // These events travel from us to APNs, or happen at APNs.
        case request(SimulatedLink, SimulatedLink.Request)
        case answered(SimulatedLink)
        case goAwayAgain(SimulatedLink)
    }

    struct Push {
        enum Final { case accepted, refused, unknown }
        let app: Int
        /// Whether the push is a start, which is not sent again if its result is unknown.
        let isStart: Bool
        var isInFlight = false
        var arrivedMillis: Int64 = 0
        var attempt = 0
        var unknownCount = 0
        /// How often APNs processed the push. Only the model knows this, not the client.
        var processedCount = 0
        var final: Final?
    }

    struct Shard {
        var pool: ConnectionPool
        var links: [SimulatedLink?]
        /// Waiting pushes by app.
        var waiting: [[Int]] = [[], [], []]
        var gates: [LaneGate] = [LaneGate(), LaneGate(), LaneGate()]
        var turn = 0
        var token: SimulatedToken
        var generation: UInt32
        var epoch: UInt32
    }

    let plan: PoolPlan
    var random: SplitMix64
    var now: Int64 = 0
    var future = SimulatedFuture<Event>()
    var shards: [Shard] = []
    var pushes: [Push] = []
    var store = SimulatedTokenStore()
    private(set) var complaints: [String] = []
    private(set) var seen: [String: Int] = [:]
    var longestWaitMillis = [Int64](repeating: 0, count: 3)
    var connectCount = 0
    /// When each accepted push was accepted, virtual milliseconds.
    var acceptedMillis: [Int64] = []
    var unsettled: Int
    // State of APNs and of the network.
    var revokedKeys: Set<Int> = []
    var outageEndsMillis: Int64 = 0
    var deadAddresses: Set<Int> = []
    /// Our wall clock minus the true one, milliseconds.
    var skewMillis: Int64 = 0
    var withdrawals = 0
    var appearances = 0
    var connectTimes: [Int64] = []

    init(plan: PoolPlan) {
        self.plan = plan
        self.random = SplitMix64(seed: ~plan.seed)
        self.unsettled = plan.pushCount
        _ = self.store.carryOut(now: self.time) { $0.due(now: $1) }
        for shard in 0..<plan.shardCount {
            var pool = ConnectionPool(configuration: plan.configuration, randomSeed: plan.seed &+ UInt64(shard))
            pool.tokenReplaced(generation: self.store.generation, now: self.time)
            pool.keyReplaced(
                firstGeneration: self.store.keyGeneration, isUnproven: true, isOnTrial: false)
            let links = [SimulatedLink?](repeating: nil, count: pool.connectionCountMax)
            self.shards.append(
                Shard(
                    pool: pool, links: links, token: self.store.current, generation: self.store.generation,
                    epoch: self.store.epoch))
        }
        for number in 0..<plan.pushCount {
            self.pushes.append(
                Push(app: Int.random(in: 0..<3, using: &self.random), isStart: Bool.random(using: &self.random)))
            // Some pushes arrive in bursts, others alone, and some after the last fault.
            let burst = Int64.random(in: 0...7, using: &self.random) * (plan.faultsEndMillis + 2_000) / 7
            let lone = Int64.random(in: 0...plan.faultsEndMillis + 2_000, using: &self.random)
            self.future.add(
                at: Bool.random(using: &self.random) ? burst : lone, .arrives(push: number))
        }
        self.future.add(at: 1_000, .storeTick)
        self.future.add(at: 200, .misfortune)
    }

    /// Our steady and wall clocks.
    var time: EngineTime {
        EngineTime(steadyMillis: self.now, wallMillis: self.trueWallMillis + self.skewMillis)
    }
    var trueWallMillis: Int64 { 1_699_999_000_000 + Int64(self.plan.seed % 2_700) * 1_000 + self.now }
    var micros: Int64 { self.now * 1_000 }
    var hasFaults: Bool { self.now < self.plan.faultsEndMillis }

    func count(_ what: String) { self.seen[what, default: 0] += 1 }
    func complain(_ what: String) { self.complaints.append(what) }

    /// Whether a fault strikes now.
    func strikes(_ fault: PoolPlan.Fault) -> Bool {
        guard self.hasFaults, let weight = self.plan.weights[fault],
            Int.random(in: 0..<1_000, using: &self.random) < weight
        else { return false }
        self.count("\(fault)")
        return true
    }

    // MARK: Running

    func run() {
        for shard in self.shards.indices {
            self.shards[shard].pool.start(now: self.time)
            self.settle(shard)
        }
        let deadline = self.plan.faultsEndMillis + 2_000 + self.plan.resumeMillisMax
        while self.unsettled > 0 {
            guard self.now <= deadline else {
                return self.complain("no service \(self.now - self.plan.faultsEndMillis) ms after the last fault")
            }
            guard self.step() else { return }
        }
        self.check()
        self.runIntoQuiet()
    }

    /// Runs until idle connections must have been closed. Then no stream may be open, and only warm connections may be
    /// left.
    private func runIntoQuiet() {
        let quietMillis =
            max(self.now, self.plan.faultsEndMillis) + self.plan.configuration.idleCloseMillis
            + 3 * self.plan.configuration.requestTimeoutMillis + 30_000
        while self.now < quietMillis { guard self.step() else { return } }
        for shard in self.shards {
            if shard.pool.inFlight > 0 { self.complain("\(shard.pool.inFlight) streams live on") }
            let usable = shard.pool.members.count { $0.isInUse && $0.life.isUsable }
            // Fewer connections are allowed, because a warm connection may just have been lost.
            if usable > max(shard.pool.configuration.connectionsWarm, 0) {
                self.complain("\(usable) idle connections stay open")
            }
        }
        for (number, push) in self.pushes.enumerated() {
            if push.isInFlight { self.complain("push \(number) is in flight after its verdict") }
            let sentAgain = push.processedCount - 1
            if sentAgain > push.unknownCount { self.complain("push \(number) was processed \(sentAgain + 1) times") }
            if push.isStart, sentAgain > 0 { self.complain("start \(number) was processed \(sentAgain + 1) times") }
            if push.final == .accepted, push.processedCount == 0 { self.complain("push \(number) never arrived") }
        }
    }

    /// Advances to the next time at which something happens.
    /// - Returns: `false` if a rule was broken.
    private func step() -> Bool {
        var next = self.future.nextMillis ?? .max
        for shard in self.shards {
            next = min(next, shard.pool.nextDeadlineMillis ?? .max)
            for gate in shard.gates { next = min(next, gate.nextDeadlineMillis ?? .max) }
        }
        if next <= self.now, self.future.nextMillis ?? .max > self.now {
            // A deadline has passed, and `advance` did nothing about it.
            for shard in self.shards {
                let phases = shard.pool.members.map { "\($0.life.phase) \($0.life.inFlight)" }
                self.complain(
                    "time stands still at \(self.now): \(String(describing: shard.pool.nextDeadlineMillis)) \(phases)")
            }
            return false
        }
        self.now = max(self.now, next)
        while let event = self.future.takeDue(now: self.now) {
            self.happen(event)
            for shard in self.shards.indices { self.settle(shard) }
        }
        for shard in self.shards.indices {
            let cpuMicros = self.micros / 100 * self.plan.busyPercent
            self.shards[shard].pool.lookAtWindow(micros: self.micros) { cpuMicros }
            self.shards[shard].pool.advance(now: self.time, micros: self.micros)
            for app in 0..<3 { _ = self.shards[shard].gates[app].advance(now: self.time) }
            self.settle(shard)
        }
        self.check()
        return self.complaints.isEmpty
    }

    private func happen(_ event: Event) {
        switch event {
        case .arrives(let push):
            self.pushes[push].arrivedMillis = self.now
            self.wait(push)
        case .again(let push): self.wait(push)
        case .storeTick:
            if self.store.carryOut(now: self.time, { $0.due(now: $1) }) != nil {
                self.count("token renewed")
                self.spreadToken()
            }
            self.future.add(at: self.now + 10_000, .storeTick)
        case .tokenChanged(let shard): self.takeToken(shard)
        case .keyFileReplaced:
            _ = self.store.keyAppeared(now: self.time)
            self.spreadToken()
        case .misfortune: self.misfortune()
        case .transportConnected, .settings, .answer, .reset, .goAway, .pong, .closed: self.deliver(event)
        case .request(let link, let request): self.receive(request, on: link)
        case .answered(let link): link.peerOpen -= 1
        case .goAwayAgain(let link): self.sayGoAway(link, last: link.highestSeen, isError: false)
        }
    }

    // MARK: Invariants

    private func check() {
        for shard in self.shards {
            let pool = shard.pool
            // A runner computes with the deadline, so it must be a sensible time.
            if let next = pool.nextDeadlineMillis, next < 0 { self.complain("a deadline at \(next)") }
            let usable = pool.members.count { $0.isInUse && $0.life.isUsable }
            if usable > pool.configuration.connectionsMax { self.complain("\(usable) usable connections") }
            let sum = pool.members.reduce(0) { $0 + $1.life.credit }
            if sum != pool.creditSum { self.complain("credit \(pool.creditSum), members have \(sum)") }
            let streams = pool.members.reduce(0) { $0 + $1.life.inFlight }
            if streams != pool.inFlight { self.complain("\(pool.inFlight) in flight, members have \(streams)") }
            let open = shard.links.reduce(0) { $0 + ($1?.open.count ?? 0) }
            if open != pool.inFlight { self.complain("\(pool.inFlight) in flight, sessions have \(open)") }
        }
    }
}
