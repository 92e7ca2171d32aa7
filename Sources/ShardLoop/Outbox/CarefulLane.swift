/// Decides how many records of a careful lane leave together. A group leaves when Kafka has answered for the group
/// before. The type is pure.
///
/// A lane becomes careful when Kafka refuses a record, because any record of the request may be the cause. The first
/// group is then one record. Each time a whole group is accepted, the next is twice as large, but at most half of the
/// last group with a refusal. A lane of `routed` may also be careful only to keep its order. Its groups may have any
/// size.
struct CarefulLane {
    /// The next group does not leave before this time, on the steady clock.
    var dueMillis: Int64
    /// Whether the lane waits until Kafka has answered for the lane's records that left earlier.
    var awaitsAnswers = false
    /// Maximum number of records in the next group.
    private(set) var width: Int
    /// Upper limit of `width`: half of the last group with a refusal.
    private var widthMax = Int.max
    /// Number of records in the group that left and is not answered completely; 0: there is no such group.
    var groupCount = 0 {
        didSet { if self.groupCount > oldValue { self.isRefused = false } }
    }
    private var isRefused = false

    init(dueMillis: Int64, width: Int = 1) {
        self.dueMillis = dueMillis
        self.width = width
    }

    /// Makes the next group a single record. Called when Kafka has refused a record of this group, or a record that
    /// left before the lane became careful.
    mutating func wasRefused() {
        guard !self.isRefused else { return }
        self.isRefused = true
        // For records that left before the lane became careful, the number of records in their requests is unknown.
        if self.groupCount > 1 { self.widthMax = max(1, self.groupCount / 2) }
        self.width = 1
    }

    /// Ends a group, because Kafka has answered for all of it, or for everything that left before the lane became
    /// careful.
    mutating func groupAnswered() {
        self.awaitsAnswers = false
        if self.groupCount > 0, !self.isRefused {
            self.width = min(self.width > Int.max / 2 ? .max : self.width * 2, self.widthMax)
        }
        self.isRefused = false
        self.groupCount = 0
    }
}
