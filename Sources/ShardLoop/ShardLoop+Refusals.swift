import PushEngine
import PushModel

/// Handles records that Kafka does not take.
extension ShardLoop {
    /// Reports refused records, and halts partitions that cannot continue.
    mutating func reportRefusals() {
        for notice in self.outbox.refusals.takeNotices() { self.news.append(.refused(notice)) }
        for (number, reason) in self.outbox.refusals.takeHalts() {
            guard let index = self.partitions.firstIndex(where: { $0.number == number }) else { continue }
            switch self.partitions[index].life {
            case .claiming, .restoring: self.halt(index, reason)
            case .running, .inlet:
                self.engine.stop(partition: number, reason: reason)
                self.mayHaveActions = true
                self.hasMore = true
            case .halted, .haltedUnrestored, .quieting, .writing, .left: break
            }
        }
        self.hasChanged = true
    }

    /// Recent refusals for good, in plain words. They do not stop the shard.
    public func degraded(nowMillis: Int64) -> [String] {
        self.outbox.refusals.recent.values.filter { nowMillis - $0.atMillis < RefusalDesk.recentMillis }.map {
            $0.notice.sentence
        }.sorted()
    }

    /// Whether the size limits of topics must be read again, because one may have become lower. After `true`, the
    /// result is `false` until another record is refused for its size.
    public mutating func takesQuestionForLimits() -> Bool {
        defer { self.outbox.refusals.asksForLimits = false }
        return self.outbox.refusals.asksForLimits
    }
}

extension RefusalNotice {
    /// The notice as one sentence, for a person.
    public var sentence: String {
        let what =
            switch self.step {
            case .triedAgain: "is tried again"
            case .triedAlone: "is tried again in a request of its own"
            case .triedWithPresentTime: "is tried again with the present time"
            case .keyed: "is tried again with its source position as key"
            case .shrunk: "is written without its value"
            case .givenUp: "is given up"
            case .unpublished: "is counted and not published"
            case .deadLettered: "becomes a dead letter"
            case .halted: "halts its partition"
            }
        return
            "Kafka refuses a record for \(self.topicName) (\(self.failure.error.label)), which \(what): \(self.failure)"
    }

    /// The topic's kind, as in settings and metrics.
    public var topicName: String { self.topic.label }
}
