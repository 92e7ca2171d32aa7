import KafkaLog

/// Partitions that the group has assigned and that have not begun, each with the reason. A partition that Kafka cannot
/// be asked about delays neither the other partitions nor the rebalance. It begins when the answer is there. Pure.
struct WaitingPartitions: Sendable {
    /// Why a partition waits, and the number of the assignment that brought it. An answer about an earlier assignment
    /// says nothing about a later one.
    struct Wait: Equatable, Sendable {
        var assignment: Int
        /// Why the partition waits, in words.
        var reason: String
        /// Whether the partition waits until a person changes something, so that asking again is useless.
        var isForGood: Bool
    }

    private(set) var waits: [Int32: Wait] = [:]
    /// Number of questions since a partition last began or left.
    private var askedCount = 0

    /// Remembers that a partition waits.
    /// - Returns: whether the wait is new or has changed.
    mutating func wait(_ number: Int32, assignment: Int, reason: String, isForGood: Bool = false) -> Bool {
        let wait = Wait(assignment: assignment, reason: reason, isForGood: isForGood)
        return self.waits.updateValue(wait, forKey: number) != wait
    }

    /// Removes partitions that have begun, or left.
    mutating func remove(_ numbers: [Int32]) {
        for number in numbers { self.waits[number] = nil }
        self.askedCount = 0
    }

    /// The partitions to ask about, in ascending order, each with the assignment that brought it.
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

    /// - Parameter needed: returns the logs whose positions must be known before the partition with this number begins.
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
