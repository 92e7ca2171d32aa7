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
    /// When the log took the record, by the steady clock. Compaction uses this time.
    var appendedMillis: Int64 = 0
    /// Sequence number of the judge's evidence when the record was made.
    var madeAt = 0
    /// Whether the record was compacted away, so that its offset is a gap.
    var isGone = false

    init(key: [UInt8], value: [UInt8], timestampMillis: Int64 = 0) {
        self.key = key
        self.value = value
        self.timestampMillis = timestampMillis
    }

    /// Creates the log's record from a worker's record.
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

    /// Whether a record of `routed` is a forwarded event. The other records of `routed` are messages between workers.
    var isForwarded: Bool { self.headers.first { $0.name == "mailboat-kind" }.map { $0.value == "event" } ?? true }
}

/// The broker: its logs by topic and partition, and the records on their way to them. Records that one Kafka client
/// sends to one partition arrive in order. A record or its answer may get lost, but no record arrives twice.
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

        /// The topic's name in the engine. `nil`: workers do not write to the topic.
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
    struct LogID: Hashable {
        var topic: Topic
        var partition: Int32
    }

    /// Whether a record that was sent gets stored, and which answer its producer gets.
    enum Fate: Equatable {
        case delivered, answerLost, lost
        /// Kafka refuses the record for this reason.
        case refused(ProduceError)
    }

    struct Transit {
        var logID: LogID
        var record: LoggedRecord
        /// The record as its producer keeps it.
        var kept: KeptRecord
        var acknowledgement: UInt64 { self.kept.acknowledgement }
        /// Number of the worker that sent the record.
        var producer: Int
        var arrivesMillis: Int64
        var answersMillis: Int64
        var fate: Fate
        /// When the record left. Records of one producer for one log that left at the same time are one batch.
        var sentMillis: Int64 = 0
        /// Whether it has been decided if Kafka refuses the record's batch.
        var isBatchDrawn = false
        /// Whether the producer has died, or its client has ended. No worker gets an answer about such a record.
        var isOrphan = false
        /// Whether the client that sent the record has ended. The record may then be stored behind records of the
        /// worker's next client.
        var isOfEndedClient = false
    }

    /// Kafka's answer to a producer about one record.
    struct Delivery {
        var producer: Int
        /// The record's offset. `nil`: Kafka refused the record, the producer gave up waiting, or its client has ended.
        var offset: Int64?
        /// Why Kafka refused the record. `nil`: Kafka stored it, or gave no answer.
        var refusal: ProduceError?
        var logID: LogID
        var record: KeptRecord
        var comesMillis: Int64
    }

    private(set) var logs: [LogID: [LoggedRecord]] = [:]
    /// First offsets of logs whose older records were deleted. Other logs begin at 0.
    private var starts: [LogID: Int64] = [:]
    private(set) var committed: [LogID: Int64] = [:]
    private(set) var transits: [Transit] = []
    /// Time until which a producer's records for a log are held up, because the producer has given up an earlier
    /// record. By log and producer.
    private var heldUpUntilMillis: [LogID: [Int: Int64]] = [:]

    func end(_ logID: LogID) -> Int64 { Int64(self.logs[logID]?.count ?? 0) }

    func start(_ logID: LogID) -> Int64 { self.starts[logID] ?? 0 }

    func record(_ logID: LogID, _ offset: Int64) -> LoggedRecord? {
        guard let log = self.logs[logID], offset < log.count else { return nil }
        return log[Int(offset)]
    }

    @discardableResult
    mutating func append(_ record: LoggedRecord, to logID: LogID, nowMillis: Int64) -> Int64 {
        var record = record
        record.appendedMillis = nowMillis
        self.logs[logID, default: []].append(record)
        return Int64(self.logs[logID]!.count - 1)
    }

    /// Deletes a log and creates it again, empty. Records that are on their way are stored in the new log.
    mutating func makeAnew(_ logID: LogID) { self.logs[logID] = [] }

    /// Deletes the records below an offset, as an administrator's command can.
    mutating func cutHead(_ logID: LogID, upTo start: Int64) {
        for index in 0..<Int(start) {
            self.logs[logID]![index].isGone = true
            self.logs[logID]![index].value = []
        }
        self.starts[logID] = start
    }

    /// Changes the records of a log to what they are in another cluster.
    mutating func rewrite(_ logID: LogID, _ body: (inout LoggedRecord) -> Void) {
        guard let log = self.logs[logID] else { return }
        for index in log.indices where !log[index].isGone { body(&self.logs[logID]![index]) }
    }

    mutating func commit(_ logID: LogID, _ offset: Int64) { self.committed[logID] = offset }

    /// Sends a record of a producer.
    /// - Parameters:
    ///   - notBeforeMillis: when the broker is reachable again.
    ///   - delayMillisMax: greatest additional delay of the record.
    mutating func send(
        _ record: LoggedRecord, kept: KeptRecord, to logID: LogID, producer: Int, fate: Fate, nowMillis: Int64,
        notBeforeMillis: Int64, delayMillisMax: Int64, random: inout SplitMix64
    ) {
        var arrives = max(nowMillis, notBeforeMillis) + Int64.random(in: 1...40, using: &random)
        if delayMillisMax > 0 { arrives += Int64.random(in: 0...delayMillisMax, using: &random) }
        var answers = arrives + Int64.random(in: 0...20, using: &random)
        if let last = self.transits.last(where: { $0.logID == logID && $0.producer == producer && !$0.isOrphan }) {
            arrives = max(arrives, last.arrivesMillis)
            answers = max(answers, last.answersMillis)
        }
        arrives = max(arrives, self.heldUpUntilMillis[logID]?[producer] ?? 0)
        answers = max(answers, arrives)
        // A record that its producer gives up has waited long. When the producer tries it again, the records behind it
        // may still be waiting.
        if fate == .answerLost || fate == .lost, Bool.random(using: &random) {
            answers += Int64.random(in: 0...4_000, using: &random)
            let further = Int64.random(in: 0...1_500, using: &random)
            self.heldUpUntilMillis[logID, default: [:]][producer] = answers + further
        }
        self.transits.append(
            Transit(
                logID: logID, record: record, kept: kept, producer: producer,
                arrivesMillis: arrives, answersMillis: answers, fate: fate, sentMillis: nowMillis))
    }

    /// Decides whether Kafka refuses a batch: all records that a producer sends to one log at one moment. It is called
    /// after each record, and does nothing while the batch has only one.
    /// - Parameter refuses: draws whether Kafka refuses the whole batch, and why. It is called once for a batch.
    mutating func judgeBatch(
        of logID: LogID, producer: Int, nowMillis: Int64, refuses: () -> ProduceError?
    ) {
        let batch = self.transits.indices.filter {
            self.transits[$0].logID == logID && self.transits[$0].producer == producer && !self.transits[$0].isOrphan
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

    /// Sends a record whose producer died long ago.
    mutating func sendLate(_ transit: Transit) { self.transits.append(transit) }

    var nextArrivalMillis: Int64? { self.transits.map(\.arrivesMillis).min() }

    /// Takes the records that have arrived by now, in order of arrival.
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
                offset = self.append(transit.record, to: transit.logID, nowMillis: nowMillis)
            }
            body(transit, offset)
            guard !transit.isOrphan else { continue }
            deliveries.append(
                Delivery(
                    producer: transit.producer, offset: transit.fate == .delivered ? offset : nil, refusal: refusal,
                    logID: transit.logID, record: transit.kept,
                    comesMillis: transit.answersMillis))
        }
        return deliveries
    }

    /// Ends a producer whose process dies. Of its records for each log, the first ones still arrive, up to
    /// `lateMillisMax` later. The rest is lost.
    mutating func producerDied(
        _ producer: Int, nowMillis: Int64, lateMillisMax: Int64, random: inout SplitMix64
    ) {
        self.scatter(producer, afterMillis: nowMillis, withinMillis: lateMillisMax, losesRest: true, random: &random)
    }

    /// Ends the Kafka client of a producer whose process continues. Some records still arrive, as if the process had
    /// died, and all unanswered ones return to the producer.
    /// - Returns: the records without an answer, as deliveries without an offset.
    mutating func clientEnded(
        _ producer: Int, nowMillis: Int64, lateMillisMax: Int64, random: inout SplitMix64
    ) -> [Delivery] {
        let back = self.transits.filter { $0.producer == producer && !$0.isOrphan }
        for index in self.transits.indices where self.transits[index].producer == producer {
            self.transits[index].isOfEndedClient = true
        }
        self.scatter(producer, afterMillis: nowMillis, withinMillis: lateMillisMax, losesRest: true, random: &random)
        for logID in self.heldUpUntilMillis.keys { self.heldUpUntilMillis[logID]![producer] = nil }
        return back.map {
            Delivery(
                producer: producer, offset: nil, refusal: nil, logID: $0.logID, record: $0.kept,
                comesMillis: nowMillis)
        }
    }

    /// Stops a producer's process. Records already in a socket still arrive. The others leave when the process
    /// continues.
    mutating func producerStopped(_ producer: Int, untilMillis: Int64, random: inout SplitMix64) {
        self.scatter(producer, afterMillis: untilMillis, withinMillis: 400, losesRest: false, random: &random)
    }

    private mutating func scatter(
        _ producer: Int, afterMillis: Int64, withinMillis: Int64, losesRest: Bool, random: inout SplitMix64
    ) {
        var kept: [Transit] = []
        var isCut: Set<LogID> = []
        var last: [LogID: Int64] = [:]
        for var transit in self.transits {
            guard transit.producer == producer, !transit.isOrphan else {
                kept.append(transit)
                continue
            }
            if !isCut.contains(transit.logID), Int.random(in: 0..<3, using: &random) == 0 {
                isCut.insert(transit.logID)
            }
            if losesRest {
                if isCut.contains(transit.logID) { continue }
                transit.isOrphan = true
                transit.arrivesMillis = afterMillis + Int64.random(in: 0...withinMillis, using: &random)
            } else if isCut.contains(transit.logID) {
                transit.arrivesMillis = afterMillis + Int64.random(in: 0...withinMillis, using: &random)
            }
            transit.arrivesMillis = max(transit.arrivesMillis, last[transit.logID] ?? 0)
            transit.answersMillis = max(transit.answersMillis, transit.arrivesMillis)
            last[transit.logID] = transit.arrivesMillis
            kept.append(transit)
        }
        self.transits = kept
    }

    /// Delays all arrivals and answers until the broker is reachable again.
    mutating func brokerAway(untilMillis: Int64) {
        for index in self.transits.indices {
            self.transits[index].arrivesMillis = max(self.transits[index].arrivesMillis, untilMillis)
            self.transits[index].answersMillis = max(self.transits[index].answersMillis, untilMillis)
        }
    }

    /// Compacts a log. Of the records that were stored before `olderThanMillis`, only the newest of each key stays.
    /// Offsets do not change.
    mutating func compact(_ logID: LogID, olderThanMillis: Int64) {
        guard let log = self.logs[logID] else { return }
        let head = log.firstIndex { $0.appendedMillis > olderThanMillis } ?? log.count
        var newest: [[UInt8]: Int] = [:]
        for index in 0..<head where !log[index].isGone { newest[log[index].key] = index }
        for index in 0..<head where !log[index].isGone && newest[log[index].key] != index {
            self.logs[logID]![index].isGone = true
            self.logs[logID]![index].value = []
        }
    }
}
