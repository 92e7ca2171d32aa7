import CommandSupport
import KafkaLog
import PushModel
import Upstream

/// Judges runs in which Kafka refused records for good. Only what the contract allows then is excused.
extension ChaosAudit {
    /// Facts about records that Kafka refused.
    struct RefusalScene {
        var refusals: [ChaosRefusal] = []
        /// Number of outcomes that workers did not publish, by their own counts.
        var outcomesUnpublished = 0
        /// Number of dead letters that workers gave up, by their own counts.
        var lettersGivenUp = 0
        /// Whether the counts of every worker were read before it ended.
        var countsAreWhole = true
    }

    /// Number of records that Kafka refused for good, by what became of them.
    struct RefusalCounts: Equatable {
        /// Number of good events that became dead letters because `routed` did not take them.
        var eventsDeadLettered = 0
        /// Number of refused events that the next owner forwarded after all.
        var eventsForwardedToo = 0
        /// Number of records that were set aside and have a dead letter but no outcome.
        var outcomesMissing = 0
        /// Number of records whose outcome says that there is a dead letter, although there is none.
        var lettersMissing = 0
        /// Number of dead letters that were written without their value.
        var lettersShrunk = 0
    }

    /// Prefix of the reason in a dead letter and in its outcome, if `routed` did not take a good event.
    private static let routedWords = "record: the routed topic "

    /// Finds what became of refused records, before events are judged.
    mutating func readRefusals(_ scene: RefusalScene, _ logs: Logs) {
        self.refusals = scene
        for letter in logs.deadLetters {
            guard let position = self.position(of: letter) else { continue }
            self.letterMillis[position] = letter.timestampMillis
            if letter.text(of: .valueBytes) != nil { self.refusalCounts.lettersShrunk += 1 }
            if letter.text(of: .reason)?.hasPrefix(Self.routedWords) == true,
                self.wasRefused(.routed, at: letter.timestampMillis)
            {
                self.refusedByRouted.insert(position)
            }
        }
        for record in logs.events {
            let position = Position(of: record)
            if self.isRefusedByBoth(position) {
                self.refusedByRouted.insert(position)
                self.forwardedUnwritten.insert(position)
            }
            guard self.refusedByRouted.contains(position) else { continue }
            guard let publication = self.publication(of: record), publication.token != nil, publication.event == nil
            else { continue }
            self.refusedActivities.insert(publication.activity)
        }
    }

    /// Whether neither `routed` nor `dead-letters` took the event. Its partition then halted, and the next owner
    /// forwarded the event. One of its outcomes therefore names a dead letter that was not written. The event became a
    /// duplicate if a later event of its key was forwarded before the halt (contract: Records that Kafka refuses).
    private func isRefusedByBoth(_ position: Position) -> Bool {
        let found = self.outcomes(at: position)
        return found.contains { $0.outcome != "dead-lettered" }
            && found.contains {
                $0.outcome == "dead-lettered" && $0.reason?.hasPrefix(Self.routedWords) == true
                    && self.wasRefused(.routed, at: $0.writtenMillis)
                    && self.wasRefused(.deadLetters, at: $0.writtenMillis)
            }
    }

    /// Position of the record that a dead letter is about. `nil` means that the letter names no position, or another
    /// topic.
    func position(of letter: OwnedRecord) -> Position? {
        guard letter.text(of: .topic) == self.topic,
            let partition = letter.text(of: .partition).flatMap(Int32.init),
            let offset = letter.text(of: .offset).flatMap(Int64.init)
        else { return nil }
        return Position(partition: partition, offset: offset)
    }

    private func wasRefused(_ topic: TopicRole, at millis: Int64) -> Bool {
        self.refusals.refusals.contains { $0.topics.contains(topic) && $0.covers(millis) }
    }

    /// Whether a good event that belongs to another partition became a dead letter because `routed` did not take it.
    /// Counts such an event.
    mutating func isRefusedByRouted(_ publication: Publication, _ record: OwnedRecord, _ found: [EventOutcome]) -> Bool
    {
        let position = Position(of: record)
        guard publication.isMisplaced || self.isElsewhere(record), publication.outcomes != ["dead-lettered"],
            self.refusedByRouted.contains(position)
        else { return false }
        self.refusalCounts.eventsDeadLettered += 1
        if found.contains(where: { !["dead-lettered", "duplicate"].contains($0.outcome) }) {
            self.refusalCounts.eventsForwardedToo += 1
        }
        return true
    }

    /// Whether a record was set aside and has its dead letter, but Kafka refused its outcome. Counts such a record.
    mutating func isUnpublished(_ publication: Publication, _ record: OwnedRecord) -> Bool {
        let position = Position(of: record)
        guard publication.outcomes == ["dead-lettered"], let letterMillis = self.letterMillis[position],
            self.refusals.refusals.contains(where: { refusal in
                guard refusal.topics.contains(.outcomes), refusal.covers(letterMillis) else { return false }
                return refusal.way != .keyless || record.key == nil
            })
        else { return false }
        self.unpublished.insert(position)
        self.refusalCounts.outcomesMissing += 1
        return true
    }

    /// Whether a record was set aside and its dead letter may have been given up. A worker never gives up the dead
    /// letter of a good event. Counts such a record.
    mutating func isGivenUp(_ position: Position) -> Bool {
        guard self.setAside.contains(position),
            self.outcomes(at: position).contains(where: { self.wasRefused(.deadLetters, at: $0.writtenMillis) })
        else { return false }
        self.refusalCounts.lettersMissing += 1
        return true
    }

    /// Judges that workers counted every missing outcome and dead letter. Incomplete counts are not judged.
    mutating func judgeRefusals() {
        guard self.refusals.countsAreWhole else { return }
        let (counts, scene) = (self.refusalCounts, self.refusals)
        if counts.outcomesMissing > scene.outcomesUnpublished {
            self.fault(
                "\(counts.outcomesMissing) outcomes are missing, and workers counted \(scene.outcomesUnpublished) that Kafka refused"
            )
        }
        if counts.lettersMissing > scene.lettersGivenUp {
            self.fault(
                "\(counts.lettersMissing) dead letters are missing, and workers counted \(scene.lettersGivenUp) that they gave up"
            )
        }
    }
}

extension ChaosAudit.RefusalCounts {
    /// Lines for the result table of a run.
    func lines(_ scene: ChaosAudit.RefusalScene) -> [String] {
        guard !scene.refusals.isEmpty else { return [] }
        let halves = scene.countsAreWhole ? "" : " (ended workers took some counts with them)"
        return [
            "records refused     \(self.eventsDeadLettered) events became dead letters, \(self.eventsForwardedToo) of them were forwarded too; "
                + "\(self.lettersShrunk) dead letters shrank",
            "given up            \(self.lettersMissing) dead letters, \(scene.lettersGivenUp) counted; "
                + "\(self.outcomesMissing) outcomes not published, \(scene.outcomesUnpublished) counted\(halves)",
        ]
    }
}
