import PushModel

/// What Kafka refuses in a world. Drawn apart: a world without any is as it was.
package struct RefusalPlan {
    /// Whether dead letters are taken.
    enum DeadLetters: CaseIterable { case taken, onlyShrunk, refused }
    var deadLetters = DeadLetters.taken
    /// How often Kafka refuses all of a batch of more than one record. Each of its records alone it takes.
    var batchPercent = 0
    /// How often, after an event, somebody lowers limits for a while, and the topics with these limits. Partitions halt then, and their worker is
    /// started again some time after.
    var windowPercent = 0
    var windows: [Window] = []

    enum Window: CaseIterable {
        /// What a partition writes down, so that it halts.
        case state
        /// What is another partition's becomes a dead letter.
        case routed
        /// What is another partition's has nowhere to go, so that the partition halts as well.
        case routedAndDeadLetters

        var topics: Set<SimulatedKafka.Topic> {
            switch self {
            case .state: [.state]
            case .routed: [.routed]
            case .routedAndDeadLetters: [.routed, .deadLetters]
            }
        }
    }

    /// Number of worlds per world with refusals.
    static let worldsPerRefusalWorld = 4

    init() {}

    init(hasAudiences: Bool, random: inout SplitMix64) {
        guard Int.random(in: 0..<Self.worldsPerRefusalWorld, using: &random) == 0 else { return }
        self.batchPercent = [0, 20, 60].randomElement(using: &random)!
        self.deadLetters = DeadLetters.allCases.randomElement(using: &random)!
        self.windowPercent = [0, 5, 15].randomElement(using: &random)!
        self.windows = Window.allCases.filter { _ in Bool.random(using: &random) }
        // What workers tell each other of audiences lies in `routed`: that nothing of it comes for minutes is for other worlds.
        if hasAudiences { self.windows = [] }
    }
}
