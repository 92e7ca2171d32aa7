import APNSProtocol
import DequeModule
import PushModel

/// A keeper in this shard: an element of `Keepers`.
struct KeeperID: Identifier { let rawValue: Int32 }

/// A keeper's request about a channel, or an audience's broadcast on one. The request is tried once; its sender decides
/// about a second attempt.
struct ChannelErrand {
    enum Sender {
        case keeper(KeeperID, generation: UInt32, request: UInt64)
        case audience(SlotID, generation: UInt32)
    }
    var sender: Sender
    var kind: RequestKind
    var app: UInt16
    var environment: PushEnvironment
    var partition: PartitionIndex
    /// The channel's id; empty if the request names none.
    var target: [UInt8] = []
    var body: [UInt8] = []
    var priority = PushPriority.low
    var expirationSeconds: Int64 = 0
    /// Stamp of the version that an audience's broadcast brings; 0: the request is another one, or has not left.
    var stampSeconds: Int64 = 0
    /// Stamp of the version whose alert the broadcast brings; 0: it brings no alert.
    var alertStampSeconds: Int64 = 0
    /// When the request began to wait for a connection (steady clock).
    var askedMillis: Int64
    /// What is known of a traced broadcast when it leaves; `nil`: the request has not left, or is not traced.
    var traced: TracedBroadcast?
}

/// Requests about channels that wait to leave, or have left and have no answer yet.
struct ChannelErrands {
    /// Maximum wait for a connection. A request that waits longer is given up: it certainly has not left.
    static let waitMillisMax: Int64 = 15_000
    /// The mark by which numbers of errands differ from numbers of pushes and questions: in the number's lower half,
    /// the highest bit is set, and the next bit is not.
    private static let mark: UInt64 = 0x8000_0000

    private var waiting: [UInt16: Deque<ChannelErrand>] = [:]
    private(set) var waitingCount = 0
    private var sent: [UInt32: ChannelErrand] = [:]
    private var lastNumber: UInt32 = 0
    /// When the first waiting request is given up (steady clock).
    private(set) var nextDeadlineMillis = Int64.max

    func hasWaiting(route: UInt16) -> Bool { self.waitingCount > 0 && self.waiting[route]?.isEmpty == false }

    mutating func append(_ errand: ChannelErrand, route: UInt16) {
        self.waiting[route, default: []].append(errand)
        self.waitingCount += 1
        self.nextDeadlineMillis = min(self.nextDeadlineMillis, errand.askedMillis + Self.waitMillisMax)
    }

    /// Takes out the next request of a route.
    mutating func popFirst(route: UInt16) -> ChannelErrand? {
        guard let errand = self.waiting[route]?.popFirst() else { return nil }
        self.waitingCount -= 1
        self.setDeadline()
        return errand
    }
    /// Keeps a request that leaves now, until its answer arrives. Returns the request's number.
    mutating func send(_ errand: ChannelErrand) -> PushID {
        self.lastNumber &+= 1
        self.sent[self.lastNumber] = errand
        return PushID(rawValue: Self.mark | UInt64(self.lastNumber) << 32)
    }

    static func isErrand(_ push: PushID) -> Bool { push.rawValue & 0xc000_0000 == Self.mark }

    /// Takes out the errand that was sent under this number; `nil`: nobody waits for its answer.
    mutating func take(_ push: PushID) -> ChannelErrand? {
        guard Self.isErrand(push) else { return nil }
        return self.sent.removeValue(forKey: UInt32(truncatingIfNeeded: push.rawValue >> 32))
    }

    /// Takes out waiting requests that `isMeant` selects, the oldest of each route first.
    mutating func withdraw(where isMeant: (ChannelErrand) -> Bool) -> [ChannelErrand] {
        guard self.waitingCount > 0 else { return [] }
        var withdrawn: [ChannelErrand] = []
        for route in self.waiting.keys.sorted() {
            guard let errands = self.waiting[route] else { continue }
            let meant = errands.filter(isMeant)
            guard !meant.isEmpty else { continue }
            withdrawn += meant
            self.waiting[route] = Deque(errands.filter { !isMeant($0) })
        }
        self.waitingCount -= withdrawn.count
        self.setDeadline()
        return withdrawn
    }

    /// Forgets a partition that has left. Nobody waits for the answers to its requests.
    mutating func forget(partition: PartitionIndex) {
        _ = self.withdraw { $0.partition == partition }
        self.sent = self.sent.filter { $0.value.partition != partition }
    }

    private mutating func setDeadline() {
        let first = self.waiting.values.compactMap { $0.first?.askedMillis }.min()
        self.nextDeadlineMillis = first.map { $0 + Self.waitMillisMax } ?? .max
    }
}
