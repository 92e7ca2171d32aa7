public import PushEngine

/// A record that Kafka did not take, and what was done about it. It becomes a log line.
public struct RefusalNotice: Sendable, Equatable {
    /// What was done about the record.
    public enum Step: Sendable, Equatable {
        /// The record is tried again as it is.
        case triedAgain
        /// The record is tried again in a request of its own.
        case triedAlone
        /// The record is tried again with the present time.
        case triedWithPresentTime
        /// A dead letter without a key is tried again with its source position as key.
        case keyed
        /// A dead letter of a bad record is tried again without its value.
        case shrunk
        /// A dead letter of a bad record is given up. Only this notice and a count remain.
        case givenUp
        /// An outcome is counted and not published.
        case unpublished
        /// An event for another partition is dead-lettered.
        case deadLettered
        /// The record's partition halts.
        case halted
    }

    /// The kind of topic that the record was for.
    public var topic: EngineRecord.Topic
    /// Kafka's answer.
    public var failure: ProduceFailure
    /// What was done about the record.
    public var step: Step
    /// The position of the event that the record is about: `topic/partition/offset`. Empty if it is unknown.
    public var source: String
}

/// Collects the notices of refusals, what must be remembered about refused records, and the partitions that halt
/// because of a refusal.
struct RefusalDesk {
    /// Maximum number of notices in one turn. Further refusals are only counted.
    static let noticesMax = 32
    /// How long a refusal for good is shown as a present fault, in milliseconds.
    static let recentMillis: Int64 = 600_000

    private(set) var notices: [RefusalNotice] = [] { didSet { self.updateHasNews() } }
    /// Partitions that cannot continue, each with the reason.
    private(set) var halts: [(partition: Int32, reason: String)] = [] { didSet { self.updateHasNews() } }
    /// Whether there is something to report. It is checked in each turn.
    private(set) var hasNews = false
    private(set) var table = RefusalTable()
    /// Acknowledgements of records that were tried again with the present time.
    private var presentTime: Set<UInt64> = []
    var giveUpLimit = GiveUpLimit()
    /// For each topic, the last refusal with a lasting effect, and its time on the steady clock. The record was shrunk,
    /// given up, dead-lettered or not published, or its partition halts.
    private(set) var recent: [EngineRecord.Topic: (notice: RefusalNotice, atMillis: Int64)] = [:]
    /// Whether a topic's limit may have changed since the limits were read.
    var asksForLimits = false

    private mutating func updateHasNews() { self.hasNews = !self.notices.isEmpty || !self.halts.isEmpty }

    mutating func add(
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

    /// Forgets a record that was written or given up.
    mutating func taken(_ acknowledgement: UInt64) {
        if !self.presentTime.isEmpty { self.presentTime.remove(acknowledgement) }
    }

    mutating func forget(partition: Int32, acknowledgements: [UInt64]) {
        for acknowledgement in acknowledgements { self.taken(acknowledgement) }
        self.halts.removeAll { $0.partition == partition }
        self.giveUpLimit.forget(partition)
    }
}
