import KafkaLog

/// Work that was not finished when partitions left this worker. It decides whether a stop was in good order.
struct Departures: Sendable {
    /// Taken away without a word, and the group has not given any since.
    private var lost: Set<Int32> = []
    /// Kafka has not acknowledged everything of these.
    private var unfinished: Set<Int32> = []
    /// Positions that were refused at the end, and why the first of them was.
    private var refusedCount = 0
    private var refusal: KafkaError?

    /// The group has told this worker what it has.
    mutating func assigned() { self.lost = [] }

    /// The group has given them to others, or will.
    mutating func lost(_ partitions: [Int32]) { self.lost.formUnion(partitions) }

    /// They left while the worker stopped, with records that Kafka has not taken, or too late.
    mutating func left(unfinished partitions: [Int32]) { self.unfinished.formUnion(partitions) }

    /// Their last commit, while the worker stopped.
    mutating func committed(_ result: CommitResult) {
        self.refusedCount += result.refused.count
        self.refusal = self.refusal ?? result.refused.first?.error
    }

    /// What is repeated by others, a clause for each cause; empty: nothing is.
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
