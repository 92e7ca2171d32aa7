import PushEngine

/// A record as it lies in a simulated log.
struct LoggedRecord {
    var key: [UInt8]
    var hasKey = true
    var value: [UInt8]
    var isTombstone = false
    var headers: [(name: String, value: String)] = []
    var timestampMillis: Int64 = 0
}

/// The broker: logs by topic and partition, and records on their way to them. Records of one partition arrive in order; each arrives once
/// or, when its producer has died, perhaps not at all.
struct SimulatedKafka {
    enum Topic: Hashable { case events, routed, state, outcomes, deadLetters }
    struct Place: Hashable {
        var topic: Topic
        var partition: Int32
    }
    struct Transit {
        var place: Place
        var record: LoggedRecord
        var acknowledgement: UInt64
        var producer: Int
        var arrivesMillis: Int64
    }

    private(set) var logs: [Place: [LoggedRecord]] = [:]
    private(set) var committed: [Place: Int64] = [:]
    private var transits: [Transit] = []
    /// Producers that died, and places at which something of theirs was lost: nothing later may arrive there.
    private var cut: Set<Int> = []
    private var lost: Set<Place> = []
    private var livingProducer = 0

    func end(_ place: Place) -> Int64 { Int64(self.logs[place]?.count ?? 0) }

    func record(_ place: Place, _ offset: Int64) -> LoggedRecord? {
        guard let log = self.logs[place], offset < log.count else { return nil }
        return log[Int(offset)]
    }

    @discardableResult
    mutating func append(_ record: LoggedRecord, to place: Place) -> Int64 {
        self.logs[place, default: []].append(record)
        return Int64(self.logs[place]!.count - 1)
    }

    mutating func commit(_ place: Place, _ offset: Int64) { self.committed[place] = offset }

    mutating func send(
        _ record: LoggedRecord, to place: Place, acknowledgement: UInt64, nowMillis: Int64, random: inout SplitMix64
    ) {
        let last = self.transits.last { $0.place == place }?.arrivesMillis ?? nowMillis
        let arrives = max(last, nowMillis + Int64.random(in: 1...40, using: &random))
        self.transits.append(
            Transit(
                place: place, record: record, acknowledgement: acknowledgement, producer: self.livingProducer,
                arrivesMillis: arrives))
    }

    var nextArrivalMillis: Int64? { self.transits.map(\.arrivesMillis).min() }

    /// Records that arrive by now. Those of a dead producer are written without anyone learning of it, or lost.
    mutating func arrivals(nowMillis: Int64, random: inout SplitMix64) -> [(acknowledgement: UInt64, offset: Int64)] {
        var acknowledged: [(UInt64, Int64)] = []
        var kept: [Transit] = []
        for transit in self.transits {
            guard transit.arrivesMillis <= nowMillis else {
                kept.append(transit)
                continue
            }
            if self.cut.contains(transit.producer) {
                if self.lost.contains(transit.place) { continue }
                if Bool.random(using: &random) {
                    self.lost.insert(transit.place)
                    continue
                }
                self.append(transit.record, to: transit.place)
            } else {
                acknowledged.append((transit.acknowledgement, self.append(transit.record, to: transit.place)))
            }
        }
        self.transits = kept
        return acknowledged
    }

    /// The producer dies. What it had under way is settled before its successor writes: the idempotent producer has one writer.
    mutating func producerDied(random: inout SplitMix64) {
        self.cut.insert(self.livingProducer)
        self.lost = []
        _ = self.arrivals(nowMillis: .max, random: &random)
        self.livingProducer += 1
        self.lost = []
    }

    /// Compaction of `state` at a legal moment: of each key only the newest record below the head stays. Offsets stay too.
    mutating func compact(_ place: Place) {
        guard let log = self.logs[place], log.count > 4 else { return }
        let head = log.count * 2 / 3
        var newest: [[UInt8]: Int] = [:]
        for index in 0..<head { newest[log[index].key] = index }
        for index in 0..<head where newest[log[index].key] != index && !log[index].isGone {
            self.logs[place]![index].isGone = true
        }
    }
}

extension LoggedRecord {
    /// Compacted away: its offset is a gap.
    var isGone: Bool {
        get { !self.hasKey && self.isTombstone }
        set {
            guard newValue else { return }
            self.hasKey = false
            self.isTombstone = true
            self.value = []
        }
    }
}
