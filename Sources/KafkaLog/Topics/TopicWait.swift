/// Decides how long to wait for topics that were just created or deleted. A KRaft controller acknowledges the change a
/// moment before the brokers' metadata shows it. This type only decides; the caller asks the cluster and passes the
/// time.
public struct TopicWait: Sendable {
    /// What the caller does after one look at the cluster.
    public enum Step: Sendable, Hashable {
        /// All topics are as they should be.
        case done
        /// These topics are still waited for: ask again after this time.
        case lookAgain(afterMillis: Int64, awaited: [String])
        /// These topics are still waited for, but the time is over.
        case overdue(awaited: [String])
    }

    private enum Goal {
        /// The topics must be shown with at least this many partitions.
        case shown(partitionCount: Int)
        case gone
    }

    private let goals: [(name: String, goal: Goal)]
    private let limitMillis: Int64
    private var distanceMillis = Self.distanceMillisMin

    private static let distanceMillisMin: Int64 = 50
    private static let distanceMillisMax: Int64 = 500

    /// Creates a wait that is over once the cluster shows the topics, each with at least its partition count.
    /// - Parameter limitMillis: time limit, counted from the first look at the cluster.
    public init(for topics: [NewTopic], limitMillis: Int64) {
        self.goals = topics.map { ($0.name, .shown(partitionCount: $0.partitionCount)) }
        self.limitMillis = limitMillis
    }

    /// Creates a wait that is over once the cluster shows the topics with any number of partitions.
    public init(for names: [String], limitMillis: Int64) {
        self.goals = names.map { ($0, .shown(partitionCount: 1)) }
        self.limitMillis = limitMillis
    }

    /// Creates a wait that is over once the cluster shows none of the topics.
    /// - Parameter limitMillis: time limit, counted from the first look at the cluster.
    public init(untilGone names: [String], limitMillis: Int64) {
        self.goals = names.map { ($0, .gone) }
        self.limitMillis = limitMillis
    }

    /// Decides what to do after a look at the cluster.
    /// - Parameters:
    ///   - found: the cluster's metadata now.
    ///   - elapsedMillis: time since the first look.
    public mutating func looked(_ found: [TopicDescription], elapsedMillis: Int64) -> Step {
        let awaited = self.goals.filter { topic in
            let partitionCount = found.first { $0.name == topic.name }?.partitionCount
            return switch topic.goal {
            case .shown(let least): (partitionCount ?? 0) < least
            case .gone: partitionCount != nil
            }
        }.map(\.name)
        guard !awaited.isEmpty else { return .done }
        let leftMillis = self.limitMillis - elapsedMillis
        guard leftMillis > 0 else { return .overdue(awaited: awaited) }
        let distance = min(self.distanceMillis, leftMillis)
        self.distanceMillis = min(self.distanceMillis * 2, Self.distanceMillisMax)
        return .lookAgain(afterMillis: distance, awaited: awaited)
    }
}
