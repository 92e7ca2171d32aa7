/// Decides how many records of a lane leave together. The next group leaves when Kafka has answered for this one. It is
/// used where Kafka has refused several records and one of them may be the cause. One record leaves first, then twice
/// as many each time all are accepted, but never more than half of what was refused. It is pure.
struct CarefulLane {
    /// The next group does not leave before this time, on the steady clock.
    var dueMillis: Int64
    /// Whether the lane waits for answers to the records that Kafka has of it.
    var awaitsAnswers = false
    /// Number of records that leave together next.
    private(set) var width: Int
    /// Most records that leave together.
    private var widthMax = Int.max
    /// Number of records in the group that is with Kafka; 0 when there is none.
    var groupCount = 0 {
        didSet { if self.groupCount > oldValue { self.isRefused = false } }
    }
    private var isRefused = false

    init(dueMillis: Int64, width: Int = 1) {
        self.dueMillis = dueMillis
        self.width = width
    }

    /// Makes the next group a single record. Kafka has refused records of this group, or some that left before the lane
    /// existed.
    mutating func wasRefused() {
        guard !self.isRefused else { return }
        self.isRefused = true
        // The number of records that left before the lane existed is unknown.
        if self.groupCount > 1 { self.widthMax = max(1, self.groupCount / 2) }
        self.width = 1
    }

    /// Ends a group: Kafka has answered for all of it, or for everything that left before the lane existed.
    mutating func groupAnswered() {
        self.awaitsAnswers = false
        if self.groupCount > 0, !self.isRefused {
            self.width = min(self.width > Int.max / 2 ? .max : self.width * 2, self.widthMax)
        }
        self.isRefused = false
        self.groupCount = 0
    }
}
