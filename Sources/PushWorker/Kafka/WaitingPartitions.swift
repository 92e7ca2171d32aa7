import KafkaLog

/// Partitions that the group has assigned and that have not begun, each with what it waits for. A partition that cannot
/// be asked about delays neither the others nor the rebalance: it begins when it can be asked about. Pure.
struct WaitingPartitions: Sendable {
    /// The assignment that brought the partition. An answer about an earlier one says nothing about a later one.
    struct Wait: Equatable, Sendable {
        var assignment: Int
        /// Why the partition waits, in words.
        var reason: String
        /// Whether asking again is of no use, because a person has to change something.
        var isForGood: Bool
    }

    private(set) var waits: [Int32: Wait] = [:]
    /// Number of questions since one of the partitions last began.
    private var askedCount = 0

    /// Remembers that a partition waits.
    /// - Returns: whether there is something new to report.
    mutating func wait(_ number: Int32, assignment: Int, reason: String, isForGood: Bool = false) -> Bool {
        let wait = Wait(assignment: assignment, reason: reason, isForGood: isForGood)
        return self.waits.updateValue(wait, forKey: number) != wait
    }

    /// Removes partitions that have begun, or left.
    mutating func remove(_ numbers: [Int32]) {
        for number in numbers { self.waits[number] = nil }
        self.askedCount = 0
    }

    /// The partitions to ask about, ascending, each with the assignment that brought it.
    var toAsk: [(number: Int32, assignment: Int)] {
        self.waits.filter { !$0.value.isForGood }.map { (number: $0.key, assignment: $0.value.assignment) }
            .sorted { $0.number < $1.number }
    }

    /// The delay before the next question: 200 ms, then twice as long each time, up to 5 s.
    mutating func nextDelayMillis() -> Int64 {
        defer { self.askedCount += 1 }
        return min(5_000, 200 << min(self.askedCount, 10))
    }
}

/// Which of the assigned partitions can begin, according to Kafka's answers. Pure.
struct AskedPartitions: Equatable {
    /// Partitions for which everything needed is known.
    var ready: [Int32] = []
    /// The other partitions, each with the reason.
    var unknown: [Int32: String] = [:]

    /// - Parameter needed: the topics' partitions whose positions must be known.
    init(_ numbers: [Int32], answers: PositionAnswers, needed: (Int32) -> [TopicPartition]) {
        for number in numbers {
            let missing = needed(number).filter { answers.known[$0] == nil }
            guard !missing.isEmpty else {
                self.ready.append(number)
                continue
            }
            self.unknown[number] = missing.map { partition in
                answers.unknown[partition].map { "\($0)" } ?? "\(partition): nobody has answered"
            }.joined(separator: "; ")
        }
    }
}
