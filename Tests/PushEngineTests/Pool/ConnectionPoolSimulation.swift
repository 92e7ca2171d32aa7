import APNSProtocol
import Testing

@testable import PushEngine

/// The real pool against a simulated APNs under virtual time: connects that fail, GOAWAY, resets, lost connections,
/// missing answers, refusals of every kind, changing limits. Drawn from a seed; faults end half way.
@Suite struct ConnectionPoolSimulation {
    @Test(arguments: 1...400 as ClosedRange<UInt64>)
    func everyPushEndsOnceAndServiceResumes(seed: UInt64) {
        var world = PoolWorld(seed: seed)
        world.run()
        #expect(world.complaints.isEmpty, "seed \(seed): \(world.complaints.prefix(3))")
    }
}

/// One history.
struct PoolWorld {
    private struct Peer {
        enum State { case connecting(readyAt: Int64, fails: Bool), up, silent, gone }
        var state: State
        var limit: Int
        /// Requests the client began: tag, when its answer is due, what it will be.
        var requests: [(tag: UInt32, streamID: Int32, dueMillis: Int64, answer: Answer)] = []
        var proven = false
        /// The limit the client knows.
        var limitKnown: Int
        var goneAway = false
    }
    private enum Answer { case accepted, verdict(Verdict), refused, reset, never }

    private var random: PoolRandom
    private var pool: ConnectionPool
    private var peers: [Peer?]
    private var now: Int64 = 0
    private var waiting: [UInt64]
    private var inFlight: Set<UInt64> = []
    private var accepted: Set<UInt64> = []
    private var unknown: Set<UInt64> = []
    private let pushCount = 400
    private let faultsEndMillis: Int64
    private var nextStreamID: Int32 = 1
    private var token: UInt32 = 1
    // Swarm: each history has its own mix, some faults off and others wild.
    private let weights: [Int]
    private(set) var complaints: [String] = []

    init(seed: UInt64) {
        self.random = PoolRandom(seed: seed)
        var configuration = ConnectionPoolConfiguration()
        configuration.connectionsMax = Int.random(in: 1...4, using: &self.random)
        configuration.connectionsWarm = Int.random(in: 0...configuration.connectionsMax, using: &self.random)
        configuration.streamsPerConnectionMax = Int.random(in: 1...40, using: &self.random)
        configuration.requestsPerConnectionMax = Bool.random(using: &self.random) ? 1 << 30 : 50
        configuration.requestTimeoutMillis = 2_000
        configuration.connectTimeoutMillis = 1_000
        configuration.pingAfterSilenceMillis = 500
        configuration.pingTimeoutMillis = 300
        configuration.backoffMinMillis = 20
        configuration.backoffMaxMillis = 500
        configuration.refusedProbeMinMillis = 100
        configuration.refusedProbeMaxMillis = 1_000
        self.pool = ConnectionPool(configuration: configuration, randomSeed: seed)
        self.peers = Array(repeating: nil, count: self.pool.slotCount)
        self.waiting = (0..<UInt64(self.pushCount)).reversed()
        self.faultsEndMillis = 20_000
        var weights: [Int] = []
        for _ in 0..<9 {
            weights.append(
                Int.random(in: 0..<3, using: &self.random) == 0 ? Int.random(in: 1...30, using: &self.random) : 0)
        }
        self.weights = weights
        self.pool.tokenReplaced(generation: 1)
    }

    private var hasFaults: Bool { self.now < self.faultsEndMillis }

    private mutating func chance(_ weight: Int) -> Bool {
        self.hasFaults && Int.random(in: 0..<100, using: &self.random) < self.weights[weight]
    }

    mutating func run() {
        self.pool.start(now: at(self.now))
        var steps = 0
        while self.accepted.count + self.unknown.count < self.pushCount {
            steps += 1
            guard steps < 400_000, self.now < 400_000 else {
                self.complaints.append(
                    "does not settle: \(self.accepted.count) accepted, \(self.waiting.count) waiting at \(self.now)")
                return
            }
            self.submit()
            self.carryOut()
            self.check()
            guard self.complaints.isEmpty else { return }
            self.step()
            self.carryOut()
        }
        if self.pool.inFlight != 0, self.inFlight.isEmpty {
            // Streams that timed out may linger; they hold no push.
        }
        if !self.inFlight.isEmpty { self.complaints.append("pushes left in flight") }
    }

    private mutating func submit() {
        while self.pool.credit > 0, let push = self.waiting.last {
            guard let lease = self.pool.lease(now: at(self.now)) else {
                self.complaints.append("credit \(self.pool.credit) without a lease")
                return
            }
            if Int.random(in: 0..<20, using: &self.random) == 0 {
                self.pool.takeBack(lease)
                continue
            }
            self.waiting.removeLast()
            guard var peer = self.peers[lease.connection] else {
                self.complaints.append("lease on a connection that is not there")
                return
            }
            if !peer.proven, !peer.requests.isEmpty {
                self.complaints.append("a second request before the first was accepted")
            }
            if peer.requests.count >= peer.limitKnown { self.complaints.append("stream limit broken") }
            if peer.goneAway { self.complaints.append("request after GOAWAY") }
            let due = self.now + Int64.random(in: 1...80, using: &self.random)
            peer.requests.append((lease.tag, self.nextStreamID, due, self.drawAnswer()))
            self.peers[lease.connection] = peer
            self.inFlight.insert(push)
            self.pool.began(
                lease, push: PushID(rawValue: push), streamID: self.nextStreamID, tokenGeneration: self.token,
                now: at(self.now),
                micros: self.now * 1_000)
            self.nextStreamID += 2
        }
        if !self.waiting.isEmpty, self.pool.credit == 0 { self.pool.wanted(now: at(self.now)) }
    }

    private mutating func drawAnswer() -> Answer {
        if self.chance(0) { return .refused }
        if self.chance(1) { return .reset }
        if self.chance(2) { return .never }
        if self.chance(3) { return .verdict(.serverBusy) }
        if self.chance(4) {
            return .verdict(
                [.credentialRefused, .providerTokenExpired, .providerTokenTooManyUpdates, .connectionUnusable]
                    .randomElement(
                        using: &self.random)!)
        }
        return .accepted
    }

    private mutating func carryOut() {
        while !self.pool.actions.isEmpty {
            for action in self.pool.drainActions() {
                switch action {
                case .connect(let slot):
                    if self.peers[slot] != nil { self.complaints.append("slot \(slot) is taken") }
                    let limit = Int.random(in: 1...50, using: &self.random)
                    let delay = Int64.random(in: 1...30, using: &self.random)
                    self.peers[slot] = Peer(
                        state: .connecting(readyAt: self.chance(5) ? .max : self.now + delay, fails: self.chance(6)),
                        limit: limit,
                        limitKnown: limit)
                case .ping(let slot):
                    if case .up = self.peers[slot]?.state { self.pool.bytesReceived(slot, now: at(self.now)) }
                case .reset(let slot, let streamID):
                    guard let index = self.peers[slot]?.requests.firstIndex(where: { $0.streamID == streamID }) else {
                        break
                    }
                    let tag = self.peers[slot]!.requests.remove(at: index).tag
                    self.end(
                        self.pool.failed(
                            tag, connection: slot, failure: .unknown, now: at(self.now), micros: self.now * 1_000),
                        .never)
                case .close(let slot, _): self.lose(slot)
                case .renewToken, .revertToken:
                    self.token += 1
                    self.pool.tokenReplaced(generation: self.token)
                case .alarmRaised, .alarmCleared: break
                }
            }
        }
    }

    /// The connection is gone: what the session still knows ends first, then the slot.
    private mutating func lose(_ slot: Int) {
        guard let peer = self.peers[slot] else { return }
        self.peers[slot] = nil
        for request in peer.requests where Bool.random(using: &self.random) {
            let failure: ConnectionPool.Failure = Bool.random(using: &self.random) ? .notProcessed : .unknown
            let end = self.pool.failed(
                request.tag, connection: slot, failure: failure, now: at(self.now), micros: self.now * 1_000)
            self.end(end, failure == .notProcessed ? .refused : .never)
        }
        for end in self.pool.connectionEnded(slot, now: at(self.now), micros: self.now * 1_000) {
            self.end(end, .never)
        }
    }

    private mutating func end(_ end: PushEnd?, _ answer: Answer) {
        guard let push = end?.push.rawValue else { return }
        guard self.inFlight.remove(push) != nil else {
            self.complaints.append("push \(push) ended twice")
            return
        }
        switch answer {
        case .accepted: self.accepted.insert(push)
        case .verdict, .refused: self.waiting.append(push)
        case .reset, .never: self.unknown.insert(push)
        }
    }

    /// Goes to the next moment at which something happens and lets it happen.
    private mutating func step() {
        var next = self.pool.nextDeadlineMillis ?? .max
        if next <= self.now {
            // Work that an event left behind; `advance` has to make headway.
            self.pool.advance(now: at(self.now), micros: self.now * 1_000)
            self.takeTimedOut()
            self.carryOut()
            if let again = self.pool.nextDeadlineMillis, again <= self.now {
                self.complaints.append("time stands still at \(self.now)")
            }
            next = self.pool.nextDeadlineMillis ?? .max
        }
        for case .some(let peer) in self.peers {
            if case .connecting(let readyAt, _) = peer.state { next = min(next, readyAt) }
            for request in peer.requests { next = min(next, request.dueMillis) }
        }
        self.now = max(self.now + 1, min(next, self.now + 200))
        for slot in self.peers.indices { self.stepPeer(slot) }
        self.pool.advance(now: at(self.now), micros: self.now * 1_000)
        self.takeTimedOut()
    }

    private mutating func takeTimedOut() {
        var ends: [PushEnd] = []
        self.pool.takeTimedOut(into: &ends)
        for end in ends { self.end(end, .never) }
    }

    private mutating func stepPeer(_ slot: Int) {
        guard let peer = self.peers[slot] else { return }
        switch peer.state {
        case .connecting(let readyAt, let fails):
            guard self.now >= readyAt else { return }
            if fails { return self.lose(slot) }
            self.peers[slot]!.state = .up
            self.pool.transportConnected(slot, now: at(self.now))
            self.pool.settingsReceived(slot, streamsMax: peer.limit, now: at(self.now))
        case .up:
            self.answerDue(slot)
            if self.peers[slot] != nil { self.misbehave(slot) }
        case .silent, .gone:
            break
        }
    }

    private mutating func answerDue(_ slot: Int) {
        while let index = self.peers[slot]?.requests.firstIndex(where: { $0.dueMillis <= self.now }) {
            let request = self.peers[slot]!.requests[index]
            let micros = self.now * 1_000
            if case .never = request.answer {
                self.peers[slot]!.requests[index].dueMillis = .max
                continue
            }
            self.peers[slot]!.requests.remove(at: index)
            self.pool.bytesReceived(slot, now: at(self.now))
            switch request.answer {
            case .accepted:
                self.peers[slot]!.proven = true
                self.end(self.pool.accepted(request.tag, connection: slot, micros: micros), .accepted)
            case .verdict(let verdict):
                self.end(
                    self.pool.answered(
                        request.tag, connection: slot, verdict: verdict, retryAfterSeconds: nil, now: at(self.now),
                        micros: micros),
                    request.answer)
            case .refused:
                self.end(
                    self.pool.failed(
                        request.tag, connection: slot, failure: .notProcessed, now: at(self.now), micros: micros),
                    .refused)
            case .reset, .never:
                self.end(
                    self.pool.failed(
                        request.tag, connection: slot, failure: .unknown, now: at(self.now), micros: micros), .reset)
            }
            self.carryOut()
        }
    }

    private mutating func misbehave(_ slot: Int) {
        if self.chance(7), Int.random(in: 0..<20, using: &self.random) == 0 {
            self.peers[slot]!.goneAway = true
            // What lies above the last stream was not processed.
            let kept = Int.random(in: 0...self.peers[slot]!.requests.count, using: &self.random)
            let above = Array(self.peers[slot]!.requests.dropFirst(kept))
            self.peers[slot]!.requests.removeLast(above.count)
            self.pool.goAwayReceived(slot, isError: Bool.random(using: &self.random), now: at(self.now))
            for request in above {
                let end = self.pool.failed(
                    request.tag, connection: slot, failure: .notProcessed, now: at(self.now), micros: self.now * 1_000)
                self.end(end, .refused)
            }
        } else if self.chance(8) {
            switch Int.random(in: 0..<40, using: &self.random) {
            case 0: self.lose(slot)
            case 1: self.peers[slot]!.state = .silent
            default:
                let limit = Int.random(in: 0...50, using: &self.random)
                self.peers[slot]!.limitKnown = limit
                self.pool.settingsReceived(slot, streamsMax: limit, now: at(self.now))
            }
        } else if !self.hasFaults, self.peers[slot]!.limitKnown < 1 {
            self.peers[slot]!.limitKnown = 10
            self.pool.settingsReceived(slot, streamsMax: 10, now: at(self.now))
        }
    }

    private mutating func check() {
        let usable = self.pool.members.count { $0.life.isUsable }
        if usable > self.pool.configuration.connectionsMax { self.complaints.append("\(usable) usable connections") }
        let sum = self.pool.members.reduce(0) { $0 + $1.life.credit }
        if sum != self.pool.creditSum { self.complaints.append("credit \(self.pool.creditSum), members have \(sum)") }
        let streams = self.pool.members.reduce(0) { $0 + $1.life.inFlight }
        if streams != self.pool.inFlight {
            self.complaints.append("\(self.pool.inFlight) in flight, members have \(streams)")
        }
        if self.pool.inFlight < self.inFlight.count { self.complaints.append("a push in flight has no stream") }
    }
}
