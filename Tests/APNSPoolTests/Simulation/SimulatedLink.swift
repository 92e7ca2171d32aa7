import PushModel

@testable import APNSPool

/// Both ends of one connection: the state of our session, and the state of APNs' end.
final class SimulatedLink {
    /// One request on the connection.
    struct Request {
        var push: Int
        var tag: UInt32
        var streamID: Int32
        var app: Int
        var token: SimulatedToken
        /// Whether all bytes of the request have gone to the network.
        var hasLeft: Bool
    }
    enum Peer {
        case serving
        /// Reads and answers PINGs, but answers no request.
        case stalled
        /// Reads, but sends nothing.
        case silent
        /// Reads nothing, so our bytes stay in our output buffer.
        case frozen
    }

    let shard: Int
    let slot: Int
    let beganMillis: Int64

    // State of our side.
    var open: [Int32: Request] = [:]
    var nextStreamID: Int32 = 1
    var knownLimit: Int?
    var isProven = false
    var goAwayLast: Int32?
    var isClosed = false

    // State of the peer's side.
    var peer = Peer.serving
    var limit = 1
    var peerOpen = 0
    var peerGoAwayLast: Int32 = .max
    var peerHasSaidGoAway = false
    var highestSeen: Int32 = 0
    /// Tokens that arrived on this connection, in order of their first arrival, each with its time.
    var tokensSeen: [(token: SimulatedToken, atMillis: Int64)] = []

    // Events keep their order in each direction.
    var lastArrivalUp: Int64 = 0
    var lastArrivalDown: Int64 = 0

    init(shard: Int, slot: Int, beganMillis: Int64) {
        self.shard = shard
        self.slot = slot
        self.beganMillis = beganMillis
    }
}

/// A provider token as APNs sees it.
struct SimulatedToken: Equatable {
    var key: Int
    var issuedAtSeconds: Int64
    /// Number that distinguishes tokens with the same issue time.
    var number: Int
}

/// The token store of a process, with the real schedules and the real choice of key.
struct SimulatedTokenStore {
    private struct Signer {
        var schedule = ProviderTokenSchedule()
        var current: SimulatedToken?
        var previous: SimulatedToken?
    }
    private var signers = [0: Signer()]
    private(set) var choice = ProviderKeyChoice([0])
    private(set) var generation: UInt32 = 0
    /// Generation of the first token that was signed with the key in use.
    private(set) var keyGeneration: UInt32 = 0
    private(set) var epoch: UInt32 = 0
    private(set) var isReturn = false
    private var count = 0

    var key: Int { self.choice.current }
    var current: SimulatedToken {
        self.signers[self.key]?.current ?? SimulatedToken(key: self.key, issuedAtSeconds: 0, number: 0)
    }
    var isUnproven: Bool { self.choice.acceptance(self.key) != .accepted }

    /// Asks the schedule of the key in use, and carries out its decision. Returns `nil` if the current token stays.
    mutating func carryOut(
        now: EngineTime, _ decide: (inout ProviderTokenSchedule, EngineTime) -> ProviderTokenSchedule.Decision
    ) -> ProviderTokenSchedule.Decision? {
        var signer = self.signers[self.key] ?? Signer()
        let decision = decide(&signer.schedule, now)
        defer { self.signers[self.key] = signer }
        switch decision {
        case .keep:
            return nil
        case .sign(let issuedAtSeconds, let isAheadOfSchedule):
            signer.schedule.signed(issuedAtSeconds: issuedAtSeconds, now: now)
            self.count += 1
            signer.previous = signer.current
            signer.current = SimulatedToken(key: self.key, issuedAtSeconds: issuedAtSeconds, number: self.count)
            self.generation += 1
            if isAheadOfSchedule { self.epoch += 1 }
            self.isReturn = false
        case .usePrevious:
            guard let previous = signer.previous else { return nil }
            signer.schedule.exchanged(now: now)
            (signer.current, signer.previous) = (previous, signer.current)
            self.generation += 1
            self.isReturn = true
        }
        return decision
    }

    /// Adds a new key, uses it from now on, and returns its number.
    mutating func keyAppeared(now: EngineTime) -> Int {
        let key = self.signers.count
        self.signers[key] = Signer()
        self.choice.appeared(key)
        self.keyChanged(now: now)
        return key
    }

    /// Marks the key in use as refused by APNs.
    /// - Returns: `true` if another key is used from now on.
    mutating func keyRefused(now: EngineTime) -> Bool {
        guard self.choice.currentRefused(nowMillis: now.steadyMillis) else { return false }
        self.keyChanged(now: now)
        return true
    }

    mutating func keyAccepted() { _ = self.choice.accepted(self.key) }

    private mutating func keyChanged(now: EngineTime) {
        if self.carryOut(now: now, { $0.due(now: $1) }) == nil { self.generation += 1 }
        self.keyGeneration = self.generation
        self.epoch += 1
        self.isReturn = false
    }
}

/// Future events, ordered by time, and in order of creation at the same time.
struct SimulatedFuture<Event> {
    private var heap: [(at: Int64, order: Int, event: Event)] = []
    private var count = 0

    var nextMillis: Int64? { self.heap.first?.at }

    mutating func add(at: Int64, _ event: Event) {
        self.count += 1
        self.heap.append((at, self.count, event))
        var index = self.heap.count - 1
        while index > 0, self.isBefore(index, (index - 1) / 2) {
            self.heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func takeDue(now: Int64) -> Event? {
        guard let first = self.heap.first, first.at <= now else { return nil }
        self.heap.swapAt(0, self.heap.count - 1)
        self.heap.removeLast()
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < self.heap.count && self.isBefore(child, least) {
                least = child
            }
            guard least != index else { return first.event }
            self.heap.swapAt(index, least)
            index = least
        }
    }

    private func isBefore(_ one: Int, _ other: Int) -> Bool {
        (self.heap[one].at, self.heap[one].order) < (self.heap[other].at, self.heap[other].order)
    }
}
