/// How many records of a lane leave together; the next leave when Kafka has answered for these. Where Kafka has refused several for what one
/// of them may be, one leaves first, then twice as many each time all is well, but never more than half of what was refused. Pure.
struct CarefulLane {
    /// No group leaves before, steady.
    var dueMillis: Int64
    /// It is looked at again when Kafka has answered for what it has of the lane.
    var awaitsAnswers = false
    /// Records that leave together next.
    private(set) var width: Int
    /// Most records that leave together.
    private var widthMax = Int.max
    /// Records of the group that is with Kafka, and how many that were when it left; 0: none is.
    var groupCount = 0 {
        didSet { if self.groupCount > oldValue { self.isRefused = false } }
    }
    private var isRefused = false

    init(dueMillis: Int64, width: Int = 1) {
        self.dueMillis = dueMillis
        self.width = width
    }

    /// Kafka has refused records of the group that is with it, or some that left before there was one.
    mutating func wasRefused() {
        guard !self.isRefused else { return }
        self.isRefused = true
        // How much had left before there was a lane, nobody knows.
        if self.groupCount > 1 { self.widthMax = max(1, self.groupCount / 2) }
        self.width = 1
    }

    /// Kafka has answered for all of the group, or for what had left before there was one.
    mutating func groupAnswered() {
        self.awaitsAnswers = false
        if self.groupCount > 0, !self.isRefused {
            self.width = min(self.width > Int.max / 2 ? .max : self.width * 2, self.widthMax)
        }
        self.isRefused = false
        self.groupCount = 0
    }
}
