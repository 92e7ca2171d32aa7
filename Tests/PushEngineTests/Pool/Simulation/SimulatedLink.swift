@testable import PushEngine

/// One connection, both ends: what our session knows of it, and what APNs does behind it.
final class SimulatedLink {
    /// One request on its way.
    struct Request {
        var push: Int
        var tag: UInt32
        var streamID: Int32
        var app: Int
        var token: SimulatedToken
        /// All its bytes have gone to the network.
        var hasLeft: Bool
    }
    enum Peer {
        case serving
        /// Reads, answers PINGs, answers no request.
        case stalled
        /// Reads and says nothing.
        case silent
        /// Reads nothing: what we write stays with us.
        case frozen
    }

    let shard: Int
    let slot: Int
    let beganMillis: Int64

    // Our side.
    var open: [Int32: Request] = [:]
    var nextStreamID: Int32 = 1
    var knownLimit: Int?
    var isProven = false
    var goAwayLast: Int32?
    var isClosed = false

    // The peer's side.
    var peer = Peer.serving
    var limit = 1
    var peerOpen = 0
    var peerGoAwayLast: Int32 = .max
    var peerHasSaidGoAway = false
    var highestSeen: Int32 = 0
    /// Tokens in the order they were first seen here, and when.
    var tokensSeen: [(token: SimulatedToken, atMillis: Int64)] = []

    // Each direction keeps its order.
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
    /// Tells apart two signed for the same second.
    var number: Int
}

/// The process's token store, around the real schedule.
struct SimulatedTokenStore {
    var schedule = ProviderTokenSchedule()
    var key = 0
    var generation: UInt32 = 0
    var epoch: UInt32 = 0
    var current = SimulatedToken(key: 0, issuedAtSeconds: 0, number: 0)
    var previous: SimulatedToken?
    var isReturn = false
    private var count = 0

    /// Does what the schedule decided. `true`: there is another current token.
    mutating func carryOut(_ decision: ProviderTokenSchedule.Decision, now: EngineTime) -> Bool {
        switch decision {
        case .keep:
            return false
        case .sign(let issuedAtSeconds, let isOutOfTurn):
            self.schedule.signed(issuedAtSeconds: issuedAtSeconds, now: now)
            self.count += 1
            self.previous = self.current
            self.current = SimulatedToken(key: self.key, issuedAtSeconds: issuedAtSeconds, number: self.count)
            self.generation += 1
            if isOutOfTurn { self.epoch += 1 }
            self.isReturn = false
            return true
        case .usePrevious:
            guard let previous = self.previous else { return false }
            self.schedule.exchanged(now: now)
            (self.current, self.previous) = (previous, self.current)
            self.generation += 1
            self.isReturn = true
            return true
        }
    }

    mutating func replaceKey() {
        self.key += 1
        self.epoch += 1
        self.previous = nil
        self.schedule = ProviderTokenSchedule()
    }
}

/// Things to come, in order of time, then of their making.
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
