public import PushEngine

/// A record that Kafka did not take, and what became of it: for a line of the log.
public struct RefusalNotice: Sendable, Equatable {
    /// What was done about it.
    public enum Step: Sendable, Equatable {
        /// It is tried again as it is.
        case triedAgain
        /// It is tried again in a request of its own.
        case triedAlone
        /// It is tried again with the present time.
        case triedWithPresentTime
        /// A dead letter without a key: it is tried again with its source position as key.
        case keyed
        /// A dead letter of a bad record: it is tried again without its value.
        case shrunk
        /// A dead letter of a bad record: nothing is left of it but this and a count.
        case givenUp
        /// An outcome: it is counted, and not published.
        case unpublished
        /// An event for another partition: it is dead-lettered.
        case deadLettered
        /// Its partition halts.
        case halted
    }

    /// Which of the worker's topics it was for.
    public var topic: EngineRecord.Topic
    /// What Kafka said.
    public var failure: ProduceFailure
    /// What was done about it.
    public var step: Step
    /// Where the record first lay that it is about, or empty: `topic/partition/offset`.
    public var source: String
}

/// What is to be told of refusals, what must be remembered of refused records, and which partitions halt for one.
struct RefusalDesk {
    /// What is told of in one turn at most; the rest is counted.
    static let noticesMax = 32
    /// So long a refusal for good is shown as what is wrong now.
    static let recentMillis: Int64 = 600_000

    private(set) var notices: [RefusalNotice] = [] { didSet { self.noteNews() } }
    /// Partitions that cannot go on, each with the reason.
    private(set) var halts: [(partition: Int32, reason: String)] = [] { didSet { self.noteNews() } }
    /// There is something to tell: asked in each turn.
    private(set) var hasNews = false
    private(set) var table = RefusalTable()
    /// Those that were given the present time.
    private var presentTime: Set<UInt64> = []
    var giveUpLimit = GiveUpLimit()
    /// By topic: the last for which something was lost to readers, and when, steady.
    private(set) var recent: [EngineRecord.Topic: (notice: RefusalNotice, atMillis: Int64)] = [:]
    /// A topic's limit may be another than was read.
    var asksForLimits = false

    private mutating func noteNews() { self.hasNews = !self.notices.isEmpty || !self.halts.isEmpty }

    mutating func note(
        _ failure: ProduceFailure, _ record: KeptRecord, _ step: RefusalNotice.Step, nowMillis: Int64
    ) {
        self.table[record.topic, failure.error] += 1
        if failure.error == .size { self.asksForLimits = true }
        let isLasting: Bool =
            switch step {
            case .givenUp, .unpublished, .deadLettered, .shrunk, .halted: true
            case .triedAgain, .triedAlone, .triedWithPresentTime, .keyed: false
            }
        guard isLasting || self.notices.count < Self.noticesMax else { return }
        let notice = RefusalNotice(topic: record.topic, failure: failure, step: step, source: record.sourceText)
        if self.notices.count < Self.noticesMax { self.notices.append(notice) }
        if isLasting { self.recent[record.topic] = (notice, nowMillis) }
    }

    mutating func halts(_ partition: Int32, _ reason: String) {
        guard !self.halts.contains(where: { $0.partition == partition }) else { return }
        self.halts.append((partition, reason))
    }

    mutating func takeNotices() -> [RefusalNotice] {
        defer { self.notices = [] }
        return self.notices
    }

    mutating func takeHalts() -> [(partition: Int32, reason: String)] {
        defer { self.halts = [] }
        return self.halts
    }

    func hasPresentTime(_ acknowledgement: UInt64) -> Bool {
        !self.presentTime.isEmpty && self.presentTime.contains(acknowledgement)
    }

    mutating func givesPresentTime(_ acknowledgement: UInt64) { self.presentTime.insert(acknowledgement) }

    /// Nothing more is to be known of the record.
    mutating func taken(_ acknowledgement: UInt64) {
        if !self.presentTime.isEmpty { self.presentTime.remove(acknowledgement) }
    }

    mutating func forget(partition: Int32, acknowledgements: [UInt64]) {
        for acknowledgement in acknowledgements { self.taken(acknowledgement) }
        self.halts.removeAll { $0.partition == partition }
        self.giveUpLimit.forget(partition)
    }
}
