import PushModel

/// What Kafka refuses in a world. It is drawn with a generator of its own, so that worlds without refusals stay as they
/// were.
package struct RefusalPlan {
    /// Whether Kafka takes dead letters.
    enum DeadLetters: CaseIterable { case taken, onlyShrunk, refused }
    var deadLetters = DeadLetters.taken
    /// How often Kafka refuses a whole batch of more than one record. It takes each of the records alone.
    var batchPercent = 0
    /// Percentage of events after which somebody lowers limits for a while, so that partitions halt. Their worker is
    /// started again later.
    var windowPercent = 0
    /// Topics whose limits are lowered for a while.
    var windows: [Window] = []

    /// Whether events that belong to another partition may be refused for good.
    var mayStrand: Bool {
        self.batchPercent > 0 || self.windows.contains { $0.topics.contains(.routed) }
    }

    enum Window: CaseIterable {
        /// State records are refused, so their partition halts.
        case state
        /// Events that belong to another partition are refused in `routed`, and become dead letters.
        case routed
        /// Events that belong to another partition can neither be forwarded nor dead-lettered, so the partition halts.
        case routedAndDeadLetters

        var topics: Set<SimulatedKafka.Topic> {
            switch self {
            case .state: [.state]
            case .routed: [.routed]
            case .routedAndDeadLetters: [.routed, .deadLetters]
            }
        }
    }

    /// One world in this many has refusals.
    static let worldsPerRefusalWorld = 4

    init() {}

    init(hasAudiences: Bool, random: inout SplitMix64) {
        guard Int.random(in: 0..<Self.worldsPerRefusalWorld, using: &random) == 0 else { return }
        self.batchPercent = [0, 20, 60].randomElement(using: &random)!
        self.deadLetters = DeadLetters.allCases.randomElement(using: &random)!
        self.windowPercent = [0, 5, 15].randomElement(using: &random)!
        self.windows = Window.allCases.filter { _ in Bool.random(using: &random) }
        // Workers send each other records about audiences through `routed`. Other worlds test that nothing arrives
        // there for minutes.
        if hasAudiences { self.windows = [] }
    }
}
