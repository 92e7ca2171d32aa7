import KafkaLog

/// Partitions that the group has given and that have not begun, each with what it waits for. One that cannot be asked about holds up neither
/// the others nor the rebalance: it begins when it can be. Pure.
struct WaitingPartitions: Sendable {
    /// Which assignment brought them: an answer about an earlier one says nothing about a later one.
    struct Place: Equatable, Sendable {
        var assignment: Int
        /// In words.
        var reason: String
        /// Asking again is of no use: a person has to change something.
        var isForGood: Bool
    }

    private(set) var places: [Int32: Place] = [:]
    /// How often they were asked about since one of them last began.
    private var askedCount = 0

    /// A partition waits. - Returns: whether there is something new to tell.
    mutating func wait(_ number: Int32, assignment: Int, reason: String, isForGood: Bool = false) -> Bool {
        let place = Place(assignment: assignment, reason: reason, isForGood: isForGood)
        return self.places.updateValue(place, forKey: number) != place
    }

    /// They have begun, or left.
    mutating func remove(_ numbers: [Int32]) {
        for number in numbers { self.places[number] = nil }
        self.askedCount = 0
    }

    /// Those that are worth asking about, ascending; by the assignment that brought them.
    var toAsk: [(number: Int32, assignment: Int)] {
        self.places.filter { !$0.value.isForGood }.map { (number: $0.key, assignment: $0.value.assignment) }
            .sorted { $0.number < $1.number }
    }

    /// When they are asked about next: after 200 ms, then twice as long each time, up to 5 s.
    mutating func nextDelayMillis() -> Int64 {
        defer { self.askedCount += 1 }
        return min(5_000, 200 << min(self.askedCount, 10))
    }
}

/// Which of the partitions that the group has given can begin, by what Kafka said of each. Pure.
struct AskedPartitions: Equatable {
    /// All that a partition consists of is known.
    var ready: [Int32] = []
    /// The others, with the reason.
    var unknown: [Int32: String] = [:]

    /// - Parameter needed: what of a partition's topics has to be known.
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
