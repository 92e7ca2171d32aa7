/// Waits for topics that somebody has just created: a KRaft controller acknowledges a creation a moment before the brokers' metadata tells of
/// it. Decides; asks nobody and looks at no clock.
public struct TopicWait: Sendable {
    public enum Step: Sendable, Hashable {
        /// All of them are there.
        case shown
        /// Some are not: ask again after so long.
        case lookAgain(afterMillis: Int64, missing: [String])
        /// Some are not, and the time is over.
        case overdue(missing: [String])
    }

    /// Partitions that each topic must show at least, by its name.
    private let wanted: [(name: String, partitionCount: Int)]
    private let limitMillis: Int64
    private var distanceMillis = Self.distanceMillisMin

    private static let distanceMillisMin: Int64 = 50
    private static let distanceMillisMax: Int64 = 500

    /// - Parameter limitMillis: from the first look on.
    public init(for topics: [NewTopic], limitMillis: Int64) {
        self.wanted = topics.map { ($0.name, $0.partitionCount) }
        self.limitMillis = limitMillis
    }

    /// Any number of partitions will do.
    public init(for names: [String], limitMillis: Int64) {
        self.wanted = names.map { ($0, 1) }
        self.limitMillis = limitMillis
    }

    /// - Parameters:
    ///   - found: what the cluster's metadata shows now.
    ///   - elapsedMillis: since the first look.
    public mutating func looked(_ found: [TopicDescription], elapsedMillis: Int64) -> Step {
        let missing = self.wanted.filter { topic in
            !found.contains { $0.name == topic.name && $0.partitionCount >= topic.partitionCount }
        }.map(\.name)
        guard !missing.isEmpty else { return .shown }
        let leftMillis = self.limitMillis - elapsedMillis
        guard leftMillis > 0 else { return .overdue(missing: missing) }
        let distance = min(self.distanceMillis, leftMillis)
        self.distanceMillis = min(self.distanceMillis * 2, Self.distanceMillisMax)
        return .lookAgain(afterMillis: distance, missing: missing)
    }
}
