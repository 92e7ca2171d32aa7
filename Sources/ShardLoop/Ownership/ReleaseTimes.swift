/// How long partitions that are given back may take: first for answers of APNs that are still out, then for what Kafka has to acknowledge.
public struct ReleaseTimes: Sendable, Equatable {
    /// Answers are awaited for so long at most.
    public var quietMillis: Int64
    /// After so long the partitions leave, finished or not.
    public var limitMillis: Int64

    /// How long Kafka may take to acknowledge what a leaving partition wrote down, on top of the wait for answers.
    public static let writeMillis: Int64 = 3_000
    /// Kept for the last commit, and for telling the group.
    public static let marginMillis: Int64 = 500

    public init(quietMillis: Int64, limitMillis: Int64) {
        self.quietMillis = quietMillis
        self.limitMillis = limitMillis
    }

    /// While others wait for this member only a moment is right. A worker that stops holds up nobody for longer than its drain.
    /// - Parameters:
    ///   - leftMillis: until the group takes the partitions away.
    ///   - isStopping: the worker ends, and these are its last partitions.
    ///   - quietWaitMillis: of the configuration.
    public init(leftMillis: Int64, isStopping: Bool, quietWaitMillis: Int64) {
        let wanted = isStopping ? leftMillis - Self.writeMillis : quietWaitMillis
        self.quietMillis = max(0, min(wanted, leftMillis / 2))
        self.limitMillis = max(0, min(self.quietMillis + Self.writeMillis, leftMillis - Self.marginMillis))
    }
}
