import Logging
import ShardLoop

/// Log lines about records that Kafka refuses: the first of each kind at once, then one in ten seconds. Confined to a
/// shard's loop.
struct RefusalLines {
    private struct Kind: Hashable {
        var topic: String
        var error: String
        var step: String
    }

    static let intervalMillis: Int64 = 10_000
    /// The brokers that are asked first, as messages show them.
    private let brokers: String
    private var limit = RepeatLimit<Kind, RefusalNotice>(intervalMillis: Self.intervalMillis, kindCountMax: 64)

    init(brokers: String) { self.brokers = brokers }

    mutating func write(_ notice: RefusalNotice, nowMillis: Int64, to logger: Logger) {
        let kind = Kind(topic: notice.topicName, error: notice.failure.error.label, step: "\(notice.step)")
        guard let keptBackCount = self.limit.admit(notice, of: kind, nowMillis: nowMillis) else { return }
        self.write(notice, count: keptBackCount + 1, to: logger)
    }

    /// Writes the lines that were held back long enough.
    mutating func writeHeldBack(nowMillis: Int64, to logger: Logger) {
        for due in self.limit.takeDue(nowMillis: nowMillis) { self.write(due.line, count: due.count, to: logger) }
    }

    private func write(_ notice: RefusalNotice, count: Int, to logger: Logger) {
        var metadata: Logger.Metadata = [
            "topic": "\(notice.topicName)", "error": "\(notice.failure.error.label)", "cause": "\(notice.failure)",
        ]
        // The error may be that no broker answers.
        if notice.failure.error == .other { metadata["brokers"] = "\(self.brokers)" }
        if !notice.source.isEmpty { metadata["source"] = "\(notice.source)" }
        if count > 1 { metadata["count"] = "\(count)" }
        logger.log(level: Self.level(of: notice.step), "\(Self.text(of: notice.step))", metadata: metadata)
    }

    private static func level(of step: RefusalNotice.Step) -> Logger.Level {
        switch step {
        case .halted, .givenUp: .error
        case .triedAgain, .shrunk, .unpublished, .deadLettered: .warning
        case .triedAlone, .triedWithPresentTime, .keyed: .notice
        }
    }

    private static func text(of step: RefusalNotice.Step) -> String {
        switch step {
        case .triedAgain: "Kafka does not take a record; it is tried again"
        case .triedAlone: "Kafka refuses a batch; its records are tried again one by one"
        case .triedWithPresentTime: "Kafka refuses a record's time; it is tried again with the present one"
        case .keyed: "Kafka refuses a dead letter without a key; it is tried again with its source position as key"
        case .shrunk: "Kafka refuses a dead letter for good; it is tried again without its value"
        case .givenUp: "Kafka refuses a dead letter even without its value; it is given up"
        case .unpublished: "Kafka refuses an outcome for good; it is counted and not published"
        case .deadLettered: "Kafka refuses an event for good that was to be forwarded; it becomes a dead letter"
        case .halted: "Kafka refuses a record for good that must not be lost; its partition halts"
        }
    }
}
