import CommandSupport
import KafkaLog
import PushModel
import Upstream

/// What the contract allows where Kafka refused records for good, and nothing else.
extension ChaosAudit {
    /// What is known of records that Kafka refused.
    struct RefusalScene {
        var refusals: [ChaosRefusal] = []
        /// What workers counted of outcomes that they did not publish, and of dead letters that they gave up.
        var outcomesUnpublished = 0
        var lettersGivenUp = 0
        /// No worker took counts with it.
        var countsAreWhole = true
    }

    /// What Kafka refused for good, and what became of it.
    struct RefusalCounts: Equatable {
        /// Good events that became dead letters, as `routed` did not take them.
        var eventsDeadLettered = 0
        /// Refused events that the next owner forwarded all the same.
        var eventsForwardedToo = 0
        /// Records that were set aside and have a dead letter and no outcome.
        var outcomesMissing = 0
        /// Records whose outcome says that there is a dead letter, and there is none.
        var lettersMissing = 0
        /// Dead letters that were written without their value.
        var lettersShrunk = 0
    }

    /// Words that the reason of a dead letter and of its outcome begins with when `routed` did not take a good event.
    private static let routedWords = "record: the routed topic "

    /// Finds what refused records became, before events are judged.
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

    /// Neither topic took it, so that its partition halted, and the next owner has forwarded it: its outcome speaks of a dead letter that was not
    /// written. If a later event of its key was forwarded before the halt, it is a duplicate now (contract: Records that Kafka refuses).
    private func isRefusedByBoth(_ position: Position) -> Bool {
        let found = self.outcomes(at: position)
        return found.contains { $0.outcome != "dead-lettered" }
            && found.contains {
                $0.outcome == "dead-lettered" && $0.reason?.hasPrefix(Self.routedWords) == true
                    && self.wasRefused(.routed, at: $0.writtenMillis)
                    && self.wasRefused(.deadLetters, at: $0.writtenMillis)
            }
    }

    /// Where the record of a dead letter lay; `nil`: it does not say, or names another topic.
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

    /// A good event of another partition that became a dead letter, as Kafka did not take it for `routed`.
    mutating func isRefusedByRouted(_ publication: Publication, _ record: OwnedRecord, _ found: [Outcome]) -> Bool {
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

    /// A record that was set aside, whose dead letter is there and whose outcome was refused.
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

    /// A record that was set aside and whose dead letter may have been given up. A good event's never is.
    mutating func isGivenUp(_ position: Position) -> Bool {
        guard self.setAside.contains(position),
            self.outcomes(at: position).contains(where: { self.wasRefused(.deadLetters, at: $0.writtenMillis) })
        else { return false }
        self.refusalCounts.lettersMissing += 1
        return true
    }

    /// What is missing was counted, as far as counts are whole.
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
    /// Lines of the table.
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
