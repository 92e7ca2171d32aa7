import KafkaLog
import PushEngine

/// Records that Kafka did not take, to be produced again after a pause, in order.
///
/// The order of `state` matters: the last record of a key counts. So while a record of a partition waits here, later
/// ones of that partition wait behind it; and one that waits is dropped as superseded when a later one of its key,
/// which was on its way already, is delivered. `routed` records keep their order per partition alike. Bounded by the
/// engine: it stops at `unacknowledgedMax` records.
struct RetryQueue {
    /// A record of its own, out of the engine's batch or librdkafka's hands.
    struct Entry {
        var topic: EngineRecord.Topic
        var partition: Int32
        var key: [UInt8]?
        var value: [UInt8]?
        var headers = KafkaHeaders()
        var timestampMillis: Int64
        var acknowledgement: UInt64
        /// It was on its way to Kafka: older than whatever Kafka acknowledges from now on. Otherwise newer than what is on its way.
        var hasLeft = false
    }

    private(set) var entries: [Entry] = []
    /// When the first may be tried again, steady; `nil`: nothing waits.
    private(set) var dueMillis: Int64?
    private var attempt = 0

    static let backoffMinMillis: Int64 = 200
    static let backoffMaxMillis: Int64 = 10_000

    var isEmpty: Bool { self.entries.isEmpty }

    /// Whether a record of this topic and partition has to wait behind others.
    func holds(_ topic: EngineRecord.Topic, partition: Int32) -> Bool {
        guard !self.entries.isEmpty else { return false }
        switch topic {
        case .state, .routed: return self.entries.contains { $0.topic == topic && $0.partition == partition }
        case .outcomes, .deadLetters: return false
        }
    }

    /// Kafka did not take it.
    /// - Parameter hasLeft: the delivery failed, which is told in the order of production; `false`: it could not even be handed over.
    mutating func failed(_ entry: Entry, hasLeft: Bool, nowMillis: Int64) {
        var entry = entry
        entry.hasLeft = hasLeft
        // Before what has waited for others that failed: it left before those came.
        let place =
            hasLeft
            ? self.entries.firstIndex { !$0.hasLeft && $0.topic == entry.topic && $0.partition == entry.partition }
            : nil
        self.entries.insert(entry, at: place ?? self.entries.count)
        guard self.dueMillis == nil else { return }
        self.dueMillis = nowMillis + min(Self.backoffMaxMillis, Self.backoffMinMillis << Int64(min(self.attempt, 10)))
        self.attempt += 1
    }

    /// Waits behind those of its partition.
    mutating func wait(_ entry: Entry) {
        var entry = entry
        entry.hasLeft = false
        self.entries.append(entry)
    }

    /// A delivery succeeded: the next failure begins with a short pause again.
    mutating func succeeded() { self.attempt = 0 }

    /// A record of that key lies in `state`: what failed of it before is superseded. Returns the acknowledgements it
    /// stood for.
    ///
    /// Only records that have left are older than what is delivered while they wait; those behind them are newer, and stay.
    mutating func takeSuperseded(partition: Int32, key: Span<UInt8>) -> [UInt64] {
        var taken: [UInt64] = []
        self.entries.removeAll { entry in
            guard entry.hasLeft, entry.topic == .state, entry.partition == partition, let old = entry.key,
                Self.areSame(old.span, key)
            else { return false }
            taken.append(entry.acknowledgement)
            return true
        }
        return taken
    }

    /// Everything, to be tried in order; what is refused is given back by `putBack`.
    mutating func takeDue(nowMillis: Int64) -> [Entry] {
        guard let due = self.dueMillis, due <= nowMillis else { return [] }
        self.dueMillis = nil
        let taken = self.entries
        self.entries = []
        return taken
    }

    /// There was no room for these; they go first when there is.
    mutating func putBack(_ entries: [Entry], nowMillis: Int64) {
        guard !entries.isEmpty else { return }
        self.entries.insert(contentsOf: entries, at: 0)
        self.dueMillis = nowMillis
    }

    /// The partition belongs to somebody else: its `state` must not be written any more. Returns the acknowledgements
    /// that will never come.
    mutating func forgetState(partition: Int32) -> [UInt64] {
        var forgotten: [UInt64] = []
        self.entries.removeAll { entry in
            guard entry.topic == .state, entry.partition == partition else { return false }
            forgotten.append(entry.acknowledgement)
            return true
        }
        if self.entries.isEmpty { self.dueMillis = nil }
        return forgotten
    }

    private static func areSame(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }
}
