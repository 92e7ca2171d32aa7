import PushModel

/// What Kafka refuses in a world. It is drawn with a generator of its own, so that worlds without refusals stay as they
/// were.
package struct RefusalPlan {
    /// Whether dead letters are taken.
    enum DeadLetters: CaseIterable { case taken, onlyShrunk, refused }
    var deadLetters = DeadLetters.taken
    /// How often Kafka refuses a whole batch of more than one record. It takes each of the records alone.
    var batchPercent = 0
    /// How often, after an event, somebody lowers limits for a while, and the topics with these limits. Partitions halt
    /// then. Their worker is started again some time after.
    var windowPercent = 0
    var windows: [Window] = []

    enum Window: CaseIterable {
        /// State records are refused, so that the partition halts.
        case state
        /// Another partition's records are refused in `routed` and become dead letters.
        case routed
        /// Another partition's records can be written nowhere, so that the partition halts as well.
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
        // Workers tell each other about audiences through `routed`. Other worlds test that nothing arrives there for
        // minutes.
        if hasAudiences { self.windows = [] }
    }
}
