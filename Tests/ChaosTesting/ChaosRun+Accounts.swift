import APNSSimulator
import ChildProcesses
import CommandSupport
import PushModel
import PushWorker
import Upstream

/// Judges the workers' own counters and logs at the end of a run, and makes further lines of its result table.
extension ChaosRun {
    /// Faults in the workers' own counts of events, members and starts, in words.
    func unaccounted(_ audit: ChaosAudit) async throws -> [String] {
        var faults: [String] = []
        var heldCount = 0
        for worker in self.stage.workers {
            guard let metrics = try await worker.metrics() else { continue }
            func sum(_ name: String) -> Int { Int(PrometheusReading.sum(name, in: metrics)) }
            let unaccounted = sum("mailboat_events_unaccounted")
            if unaccounted != 0 { faults.append("\(worker.name): \(unaccounted) events are unaccounted for") }
            let (due, results) = (sum("mailboat_members_due_total"), sum("mailboat_members_results_total"))
            let waiting = sum("mailboat_members_waiting")
            if due != results + waiting {
                faults.append(
                    "\(worker.name): \(due) members were due something, \(results) are done with and \(waiting) wait")
            }
            let (starts, startResults) = (sum("mailboat_starts_due_total"), sum("mailboat_starts_results_total"))
            let startsWaiting = sum("mailboat_starts_waiting")
            if starts != startResults + startsWaiting {
                faults.append(
                    "\(worker.name): \(starts) starts were due, \(startResults) are done with and \(startsWaiting) wait"
                )
            }
            heldCount += sum("mailboat_members")
        }
        if !audit.memberCounts.held.contains(heldCount) {
            faults.append(
                "the workers hold \(heldCount) members, and there are \(audit.memberCounts.held.lowerBound) to "
                    + "\(audit.memberCounts.held.upperBound)")
        }
        return faults
    }

    /// Number of broadcasts on channels that are kept for audiences.
    var keptBroadcastCount: Int {
        let published = Set(self.channels.channels.map(\.id))
        return self.phones.listeners.channels.reduce(0) {
            published.contains($1.key) ? $0 : $0 + $1.value.broadcasts.count
        }
    }

    /// How often a card got the same content both over its channel and by push. The key is the token of a member that
    /// has listened.
    func bothWays() -> [String: Int] {
        var counts: [String: Int] = [:]
        for token in self.phones.listened where self.phones.members.tokens[token] != nil {
            counts[token] = self.phones.phones.device(token: token)?.bothWays
        }
        return counts
    }

    /// Whether the run injects no fault, restarts no worker and has only one release.
    var isUndisturbed: Bool { self.wish.kinds.isEmpty && !self.wish.isRollingRestart && self.wish.former == nil }

    /// The first missing record about starts, in words. `nil` means that no record is missing. Workers write records
    /// about many members once a minute at most, so a record may come late.
    func unreportedStarts() async throws -> String? {
        guard self.wish.startMemberCount > 0 else { return nil }
        let records = try StartRecords(
            try await ChaosReading.readAll(self.stage.topics.outcomes, self.stage, within: Self.readDurationMax))
        for (audience, cards) in self.newestCards() {
            for (partition, count) in cards {
                let told = records.newest(of: audience, partition: partition)
                guard told.accepted + told.unknown < count else { continue }
                return
                    "a record of \(audience), partition \(partition): it tells of \(told.accepted) cards, and there are \(count)"
            }
        }
        guard !self.isUndisturbed || records.summed == records.total else {
            return "the records of audiences about starts"
        }
        return nil
    }

    /// Number of cards of each audience's last published start, by audience and partition.
    private func newestCards() -> [String: [Int32: Int]] {
        var audiences: [[UInt8]: String] = [:]
        var newest: [String: [UInt8]] = [:]
        for event in self.publications.lazy.compactMap(\.event) {
            guard event.kind == .start, let audience = event.audience, let attributes = event.attributes else {
                continue
            }
            if let before = newest[audience] { audiences[before] = nil }
            newest[audience] = Array(attributes.utf8)
            audiences[Array(attributes.utf8)] = audience
        }
        var counts: [String: [Int32: Int]] = [:]
        for (token, cards) in self.phones.starters.cards {
            let partition = Murmur2.partition(key: Array(token.utf8).span, count: ChaosStage.partitionCount)
            for audience in Set(cards.compactMap({ audiences[$0.attributes] })) {
                counts[audience, default: [:]][partition, default: 0] += 1
            }
        }
        return counts
    }

    /// Faults of a run with two releases. Each worker must have changed its release.
    func releaseFaults() -> [String] {
        guard self.wish.former != nil else { return [] }
        return self.stage.workers.filter { self.injector.releaseChanges[$0.name] == nil }.map {
            "\($0.name) never changed its release, expected up to \(ReleaseSchedule.changeCount) times"
        }
    }
    /// Faults about partitions that workers halted. With two releases a halt is allowed, because one release may be
    /// unable to read a record of the other. With one release, only records that Kafka refused excuse a halt.
    func haltFaults() -> [String] {
        guard self.wish.former == nil else { return [] }
        let wrong = PartitionHalt.unexcused(self.halts, self.injector.refusals.refusals)
        return PartitionHalt.summary(wrong).map { ["workers halted partitions: \($0)"] } ?? []
    }
    private var halts: [PartitionHalt] { self.stage.workers.flatMap { PartitionHalt.read($0.logPath) } }
    /// Further lines for the result table of a run.
    func remarks(_ audit: ChaosAudit) -> [String] {
        let outcomes = audit.outcomeCounts.sorted { $0.key < $1.key }.map {
            "\(NumberText.grouped($0.value)) \($0.key)"
        }
        let ignored = self.phones.ignored.sorted { $0.key < $1.key }.map {
            "\(NumberText.grouped($0.value)) \($0.key)"
        }
        var remarks = [
            "outcomes            \(outcomes.joined(separator: ", ")); \(NumberText.grouped(audit.repeatedOutcomes)) events have more than one",
            "outcomes differing  \(NumberText.grouped(audit.differingOutcomes)) events (an owner died over the first; `delivered` counts)",
            "starts unknown      \(NumberText.grouped(audit.startsUnknown)) (their answer was lost; they are not sent again)",
            "pushes ignored      \(ignored.isEmpty ? "none" : ignored.joined(separator: ", ")) (by the phones: older than what they showed, or a repeat)",
        ]
        if self.wish.channelCount > 0 { remarks += audit.channelCounts.lines }
        if self.wish.audienceCount > 0 { remarks += audit.memberCounts.lines }
        if self.wish.startMemberCount > 0 { remarks += audit.startCounts.lines }
        if self.injector.skippedCount > 0 {
            remarks.append("faults skipped      \(self.injector.skippedCount) (there was nothing up to harm)")
        }
        for line in Set(self.injector.uncleanStops).sorted() {
            remarks.append("unclean stops       \(self.injector.uncleanStops.count { $0 == line }) times: \(line)")
        }
        remarks += self.rolling?.lines ?? []
        if self.wish.former != nil {
            remarks.append(
                "releases            workers changed their release \(self.injector.releaseChanges.values.reduce(0, +)) times: forth, back, and forth again"
            )
        }
        if self.wish.former != nil || self.wish.kinds.contains(.kafkaRefuses) {
            remarks.append("partitions halted   \(PartitionHalt.summary(self.halts) ?? "none")")
        }
        remarks += audit.refusalCounts.lines(self.injector.refusals.scene)
        remarks += self.growthLines
        for line in self.injector.unexpectedEnds { remarks.append("ended by itself     \(line)") }
        remarks.append(
            self.stage.membershipIsStatic
                ? "static membership   every worker had a group.instance.id"
                : "static membership   not tested: the embedded Kafka does not have it (give --bootstrap)")
        return remarks
    }
}
