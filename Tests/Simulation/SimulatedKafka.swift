import PushEngine
import PushModel
import ShardLoop

/// A record in a simulated log.
struct LoggedRecord {
    var key: [UInt8]
    var hasKey = true
    var value: [UInt8]
    var isTombstone = false
    var headers: [(name: String, value: String)] = []
    var timestampMillis: Int64 = 0
    /// When the log took the record, steady: compaction uses this time.
    var appendedMillis: Int64 = 0
    /// How much the judge had seen when the record was made.
    var madeAt = 0
    /// Whether the record was compacted away: its offset is a gap.
    var isGone = false

    init(key: [UInt8], value: [UInt8], timestampMillis: Int64 = 0) {
        self.key = key
        self.value = value
        self.timestampMillis = timestampMillis
    }

    /// Makes the logged form of a worker's record.
    init(_ kept: KeptRecord, madeAt: Int) {
        self.init(key: kept.key ?? [], value: kept.value ?? [])
        self.hasKey = kept.key != nil
        self.isTombstone = kept.value == nil
        self.headers = kept.headers.map {
            (String(decoding: $0.name, as: UTF8.self), String(decoding: $0.value, as: UTF8.self))
        }
        self.timestampMillis = kept.timestampMillis
        self.madeAt = madeAt
    }

    func header(_ header: RecordHeader) -> String? {
        let name = header.text
        return self.headers.first { $0.name == name }?.value
    }

    /// Whether a record of the routed topic was misplaced. The other records are messages between workers.
    var isForwarded: Bool { self.headers.first { $0.name == "mailboat-kind" }.map { $0.value == "event" } ?? true }
}

/// The broker: logs by topic and partition, and records on their way to them. Records of one producer to one partition
/// arrive in order. Each arrives once, or never, or without its producer learning of it.
struct SimulatedKafka {
    enum Topic: Hashable {
        case events, routed, state, outcomes, deadLetters

        init(_ topic: EngineRecord.Topic) {
            self =
                switch topic {
                case .state: .state
                case .outcomes: .outcomes
                case .deadLetters: .deadLetters
                case .routed: .routed
                }
        }

        /// The topic as the engine writes it; `nil`: no worker writes it.
        var written: EngineRecord.Topic? {
            switch self {
            case .events: nil
            case .state: .state
            case .outcomes: .outcomes
            case .deadLetters: .deadLetters
            case .routed: .routed
            }
        }
    }
    struct Place: Hashable {
        var topic: Topic
        var partition: Int32
    }

    /// What becomes of a record under way, and what its producer is told.
    enum Fate: Equatable {
        case delivered, answerLost, lost
        /// Kafka refuses the record.
        case refused(ProduceError)
    }

    struct Transit {
        var place: Place
        var record: LoggedRecord
        /// The record as its producer has it.
        var kept: KeptRecord
        var acknowledgement: UInt64 { self.kept.acknowledgement }
        /// The worker that sent it.
        var producer: Int
        var arrivesMillis: Int64
        var answersMillis: Int64
        var fate: Fate
        /// When the record left: records that left together are one batch.
        var sentMillis: Int64 = 0
        /// Whether it has been drawn if the batch is refused.
        var isBatchDrawn = false
        /// Whether the producer has died, or its client has ended: nobody is told.
        var isOrphan = false
        /// Whether the client that sent it has ended, and the worker has another. The record may then be stored behind
        /// records of the newer client.
        var isOfEndedClient = false
    }

    /// What a producer is told about one record.
    struct Delivery {
        var producer: Int
        /// The record's offset; `nil`: the producer gave up waiting.
        var offset: Int64?
        /// Why Kafka refused the record; `nil`: Kafka took it, or gave no answer.
        var refusal: ProduceError?
        var place: Place
        var record: KeptRecord
        var comesMillis: Int64
    }

    private(set) var logs: [Place: [LoggedRecord]] = [:]
    /// Where logs begin after their heads were cut off.
    private var starts: [Place: Int64] = [:]
    private(set) var committed: [Place: Int64] = [:]
    private(set) var transits: [Transit] = []
    /// Until when a producer's records for a partition are held up, after it gave up a record.
    private var heldUpUntilMillis: [Place: [Int: Int64]] = [:]

    func end(_ place: Place) -> Int64 { Int64(self.logs[place]?.count ?? 0) }

    func start(_ place: Place) -> Int64 { self.starts[place] ?? 0 }

    func record(_ place: Place, _ offset: Int64) -> LoggedRecord? {
        guard let log = self.logs[place], offset < log.count else { return nil }
        return log[Int(offset)]
    }

    @discardableResult
    mutating func append(_ record: LoggedRecord, to place: Place, nowMillis: Int64) -> Int64 {
        var record = record
        record.appendedMillis = nowMillis
        self.logs[place, default: []].append(record)
        return Int64(self.logs[place]!.count - 1)
    }

    /// Deletes a log and makes it anew, empty. Records on their way are stored in the new one.
    mutating func makeAnew(_ place: Place) { self.logs[place] = [] }

    /// Somebody deletes the records below an offset.
    mutating func cutHead(_ place: Place, upTo start: Int64) {
        for index in 0..<Int(start) {
            self.logs[place]![index].isGone = true
            self.logs[place]![index].value = []
        }
        self.starts[place] = start
    }

    /// Rewrites a log as another cluster's.
    mutating func rewrite(_ place: Place, _ body: (inout LoggedRecord) -> Void) {
        guard let log = self.logs[place] else { return }
        for index in log.indices where !log[index].isGone { body(&self.logs[place]![index]) }
    }

    mutating func commit(_ place: Place, _ offset: Int64) { self.committed[place] = offset }

    /// A record leaves its producer.
    /// - Parameters:
    ///   - notBeforeMillis: the broker is away until then.
    ///   - delayMillisMax: by how much it may be slower than usual.
    mutating func send(
        _ record: LoggedRecord, kept: KeptRecord, to place: Place, producer: Int, fate: Fate, nowMillis: Int64,
        notBeforeMillis: Int64, delayMillisMax: Int64, random: inout SplitMix64
    ) {
        var arrives = max(nowMillis, notBeforeMillis) + Int64.random(in: 1...40, using: &random)
        if delayMillisMax > 0 { arrives += Int64.random(in: 0...delayMillisMax, using: &random) }
        var answers = arrives + Int64.random(in: 0...20, using: &random)
        if let last = self.transits.last(where: { $0.place == place && $0.producer == producer && !$0.isOrphan }) {
            arrives = max(arrives, last.arrivesMillis)
            answers = max(answers, last.answersMillis)
        }
        arrives = max(arrives, self.heldUpUntilMillis[place]?[producer] ?? 0)
        answers = max(answers, arrives)
        // A record that is given up has waited long. The records behind it may still wait when it is tried again.
        if fate == .answerLost || fate == .lost, Bool.random(using: &random) {
            answers += Int64.random(in: 0...4_000, using: &random)
            let further = Int64.random(in: 0...1_500, using: &random)
            self.heldUpUntilMillis[place, default: [:]][producer] = answers + further
        }
        self.transits.append(
            Transit(
                place: place, record: record, kept: kept, producer: producer,
                arrivesMillis: arrives, answersMillis: answers, fate: fate, sentMillis: nowMillis))
    }

    /// Judges one batch: all records that a producer sends to one place at one moment. Its last record has just been
    /// sent, and is not the first.
    /// - Parameter refuses: draws, once for the batch, whether Kafka refuses all of it, and why.
    mutating func judgeBatch(
        of place: Place, producer: Int, nowMillis: Int64, refuses: () -> ProduceError?
    ) {
        let batch = self.transits.indices.filter {
            self.transits[$0].place == place && self.transits[$0].producer == producer && !self.transits[$0].isOrphan
                && self.transits[$0].sentMillis == nowMillis
        }
        guard batch.count > 1 else { return }
        let isDrawn = self.transits[batch[0]].isBatchDrawn
        var refusal: ProduceError?
        if !isDrawn {
            refusal = refuses()
        } else if case .refused(let error) = self.transits[batch[0]].fate {
            refusal = error
        }
        for index in batch {
            self.transits[index].isBatchDrawn = true
            if let refusal { self.transits[index].fate = .refused(refusal) }
        }
    }

    /// Sends a record that its producer, long dead, had on its way.
    mutating func sendLate(_ transit: Transit) { self.transits.append(transit) }

    var nextArrivalMillis: Int64? { self.transits.map(\.arrivesMillis).min() }

    /// Takes the records that have arrived by now, in their order of arrival.
    mutating func arrivals(nowMillis: Int64, body: (Transit, Int64?) -> Void) -> [Delivery] {
        guard self.transits.contains(where: { $0.arrivesMillis <= nowMillis }) else { return [] }
        var deliveries: [Delivery] = []
        let due = self.transits.enumerated().filter { $0.element.arrivesMillis <= nowMillis }
            .sorted { ($0.element.arrivesMillis, $0.offset) < ($1.element.arrivesMillis, $1.offset) }.map(\.element)
        self.transits.removeAll { $0.arrivesMillis <= nowMillis }
        for transit in due {
            var offset: Int64?
            var refusal: ProduceError?
            if case .refused(let error) = transit.fate {
                refusal = error
            } else if transit.fate != .lost {
                offset = self.append(transit.record, to: transit.place, nowMillis: nowMillis)
            }
            body(transit, offset)
            guard !transit.isOrphan else { continue }
            deliveries.append(
                Delivery(
                    producer: transit.producer, offset: transit.fate == .delivered ? offset : nil, refusal: refusal,
                    place: transit.place, record: transit.kept,
                    comesMillis: transit.answersMillis))
        }
        return deliveries
    }

    /// The process dies. The first records that it had on the way to each partition still arrive, at any later moment.
    mutating func producerDied(
        _ producer: Int, nowMillis: Int64, lateMillisMax: Int64, random: inout SplitMix64
    ) {
        self.scatter(producer, afterMillis: nowMillis, withinMillis: lateMillisMax, losesRest: true, random: &random)
    }

    /// The producer's Kafka client ends, and its process goes on. Its records fare as if the process had died, and are
    /// all given back to it.
    /// - Returns: what it had on the way.
    mutating func clientEnded(
        _ producer: Int, nowMillis: Int64, lateMillisMax: Int64, random: inout SplitMix64
    ) -> [Delivery] {
        let back = self.transits.filter { $0.producer == producer && !$0.isOrphan }
        for index in self.transits.indices where self.transits[index].producer == producer {
            self.transits[index].isOfEndedClient = true
        }
        self.scatter(producer, afterMillis: nowMillis, withinMillis: lateMillisMax, losesRest: true, random: &random)
        for place in self.heldUpUntilMillis.keys { self.heldUpUntilMillis[place]![producer] = nil }
        return back.map {
            Delivery(
                producer: producer, offset: nil, refusal: nil, place: $0.place, record: $0.kept,
                comesMillis: nowMillis)
        }
    }

    /// The process is stopped. Records already in a socket arrive as they would have; the others leave when it wakes
    /// up.
    mutating func producerStopped(_ producer: Int, untilMillis: Int64, random: inout SplitMix64) {
        self.scatter(producer, afterMillis: untilMillis, withinMillis: 400, losesRest: false, random: &random)
    }

    private mutating func scatter(
        _ producer: Int, afterMillis: Int64, withinMillis: Int64, losesRest: Bool, random: inout SplitMix64
    ) {
        var kept: [Transit] = []
        var isCut: Set<Place> = []
        var last: [Place: Int64] = [:]
        for var transit in self.transits {
            guard transit.producer == producer, !transit.isOrphan else {
                kept.append(transit)
                continue
            }
            if !isCut.contains(transit.place), Int.random(in: 0..<3, using: &random) == 0 {
                isCut.insert(transit.place)
            }
            if losesRest {
                if isCut.contains(transit.place) { continue }
                transit.isOrphan = true
                transit.arrivesMillis = afterMillis + Int64.random(in: 0...withinMillis, using: &random)
            } else if isCut.contains(transit.place) {
                transit.arrivesMillis = afterMillis + Int64.random(in: 0...withinMillis, using: &random)
            }
            transit.arrivesMillis = max(transit.arrivesMillis, last[transit.place] ?? 0)
            transit.answersMillis = max(transit.answersMillis, transit.arrivesMillis)
            last[transit.place] = transit.arrivesMillis
            kept.append(transit)
        }
        self.transits = kept
    }

    /// The broker is away: nothing arrives before it is back.
    mutating func brokerAway(untilMillis: Int64) {
        for index in self.transits.indices {
            self.transits[index].arrivesMillis = max(self.transits[index].arrivesMillis, untilMillis)
            self.transits[index].answersMillis = max(self.transits[index].answersMillis, untilMillis)
        }
    }

    /// Compaction of `state` at a legal moment: of each key only the newest record among those older than the compaction lag stays.
    /// Offsets stay too.
    mutating func compact(_ place: Place, olderThanMillis: Int64) {
        guard let log = self.logs[place] else { return }
        let head = log.firstIndex { $0.appendedMillis > olderThanMillis } ?? log.count
        var newest: [[UInt8]: Int] = [:]
        for index in 0..<head where !log[index].isGone { newest[log[index].key] = index }
        for index in 0..<head where !log[index].isGone && newest[log[index].key] != index {
            self.logs[place]![index].isGone = true
            self.logs[place]![index].value = []
        }
    }
}
