import KafkaLog

/// Work that was unfinished when partitions left this worker. It decides whether a stop counts as clean.
struct Departures: Sendable {
    /// Partitions that were lost without a revocation since the last assignment.
    private var lost: Set<Int32> = []
    /// Partitions that left too late, or with records that Kafka has not acknowledged.
    private var unfinished: Set<Int32> = []
    /// Number of positions that Kafka refused in the final commits of leaving partitions.
    private var refusedCount = 0
    /// Why Kafka refused the first position in a final commit; `nil`: it refused none.
    private var refusal: KafkaError?

    /// Forgets lost partitions, because a new assignment has come.
    mutating func assigned() { self.lost = [] }

    /// Remembers lost partitions. The group has given them to other workers, or will do so.
    mutating func lost(_ partitions: [Int32]) { self.lost.formUnion(partitions) }

    /// Remembers partitions that left too late while the worker stopped, or before Kafka had acknowledged all their
    /// records.
    mutating func left(unfinished partitions: [Int32]) { self.unfinished.formUnion(partitions) }

    /// Takes the result of the last commit of partitions that leave because the worker stops.
    mutating func committed(_ result: CommitResult) {
        self.refusedCount += result.refused.count
        self.refusal = self.refusal ?? result.refused.first?.error
    }

    /// Why other workers will repeat something: one clause for each cause, and a last one about the repetition. Empty
    /// when nothing is repeated.
    var faults: [String] {
        var faults: [String] = []
        if !self.unfinished.isEmpty {
            faults.append("Kafka did not acknowledge everything of partitions \(Self.list(self.unfinished)) in time")
        }
        if let refusal {
            faults.append("the last commit of \(self.refusedCount) positions was refused: \(refusal)")
        }
        if !self.lost.isEmpty {
            faults.append(
                "partitions \(Self.list(self.lost)) were lost before, and the group was not joined again since")
        }
        return faults.isEmpty ? [] : faults + ["the next owner repeats what is not committed"]
    }

    private static func list(_ partitions: Set<Int32>) -> String {
        partitions.sorted().map { "\($0)" }.joined(separator: ",")
    }
}
