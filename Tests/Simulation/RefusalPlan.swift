import PushModel

/// Everything that Kafka refuses in a world. The plan is drawn with a separate generator, so that worlds without
/// refusals do not change.
package struct RefusalPlan {
    /// Which dead letters of malformed events Kafka takes: all, only those with an empty value, or none. This choice
    /// does not affect dead letters of well-formed events.
    enum DeadLetters: CaseIterable { case taken, onlyShrunk, refused }
    var deadLetters = DeadLetters.taken
    /// Percentage of batches with at least two records that Kafka refuses as a whole. Kafka takes each record of such a
    /// batch when the record is sent alone.
    var batchPercent = 0
    /// Percentage of events after which somebody lowers size limits of topics for a while. If a partition halts because
    /// of that, its worker is started again later.
    var windowPercent = 0
    /// Groups of topics whose size limits may be lowered for a while.
    var windows: [Window] = []

    /// Whether Kafka may refuse to take forwarded events in `routed`.
    var mayStrand: Bool {
        self.batchPercent > 0 || self.windows.contains { $0.topics.contains(.routed) }
    }

    enum Window: CaseIterable {
        /// Kafka refuses state records, so their partition halts.
        case state
        /// Kafka refuses forwarded events in `routed`, so they become dead letters.
        case routed
        /// Kafka refuses both forwarded events and their dead letters, so their partition halts.
        case routedAndDeadLetters

        var topics: Set<SimulatedKafka.Topic> {
            switch self {
            case .state: [.state]
            case .routed: [.routed]
            case .routedAndDeadLetters: [.routed, .deadLetters]
            }
        }
    }

    /// On average, one in this number of worlds has refusals.
    static let worldsPerRefusalWorld = 4

    init() {}

    init(hasAudiences: Bool, random: inout SplitMix64) {
        guard Int.random(in: 0..<Self.worldsPerRefusalWorld, using: &random) == 0 else { return }
        self.batchPercent = [0, 20, 60].randomElement(using: &random)!
        self.deadLetters = DeadLetters.allCases.randomElement(using: &random)!
        self.windowPercent = [0, 5, 15].randomElement(using: &random)!
        self.windows = Window.allCases.filter { _ in Bool.random(using: &random) }
        // Workers send each other records about audiences through `routed`. Outages of the broker already test that
        // such records come late.
        if hasAudiences { self.windows = [] }
    }
}
