/// How long a release of partitions may take: first it waits for APNs' answers, then for Kafka's acknowledgements.
public struct ReleaseTimes: Sendable, Equatable {
    /// The longest wait for APNs' answers, in milliseconds.
    public var quietMillis: Int64
    /// Milliseconds after which the partitions leave, even if records are not acknowledged.
    public var limitMillis: Int64

    /// How long Kafka may take to acknowledge what a leaving partition wrote, after the wait for answers.
    public static let writeMillis: Int64 = 3_000
    /// Time reserved for the last commit and for the message to the group.
    public static let marginMillis: Int64 = 500

    public init(quietMillis: Int64, limitMillis: Int64) {
        self.quietMillis = quietMillis
        self.limitMillis = limitMillis
    }

    /// The times for a release. In a rebalance they are short, because other members wait. A worker that stops may take
    /// its whole drain time.
    /// - Parameters:
    ///   - leftMillis: time until the group takes the partitions away.
    ///   - isStopping: whether the worker ends, and these are its last partitions.
    ///   - quietWaitMillis: the configured wait for APNs' answers.
    public init(leftMillis: Int64, isStopping: Bool, quietWaitMillis: Int64) {
        let wanted = isStopping ? leftMillis - Self.writeMillis : quietWaitMillis
        self.quietMillis = max(0, min(wanted, leftMillis / 2))
        self.limitMillis = max(0, min(self.quietMillis + Self.writeMillis, leftMillis - Self.marginMillis))
    }
}
