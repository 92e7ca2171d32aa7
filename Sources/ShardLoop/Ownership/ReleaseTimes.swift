/// How long giving back partitions may take: first the wait for answers of APNs, then the wait for Kafka's
/// acknowledgements.
public struct ReleaseTimes: Sendable, Equatable {
    /// Longest wait for answers.
    public var quietMillis: Int64
    /// Time after which the partitions leave, finished or not.
    public var limitMillis: Int64

    /// How long Kafka may take to acknowledge what a leaving partition wrote, after the wait for answers.
    public static let writeMillis: Int64 = 3_000
    /// Time reserved for the last commit, and for the message to the group.
    public static let marginMillis: Int64 = 500

    public init(quietMillis: Int64, limitMillis: Int64) {
        self.quietMillis = quietMillis
        self.limitMillis = limitMillis
    }

    /// The times for a release. They are short while others wait for this member. A worker that stops delays nobody
    /// longer than its drain.
    /// - Parameters:
    ///   - leftMillis: time until the group takes the partitions away.
    ///   - isStopping: whether the worker ends, and these are its last partitions.
    ///   - quietWaitMillis: from the configuration.
    public init(leftMillis: Int64, isStopping: Bool, quietWaitMillis: Int64) {
        let wanted = isStopping ? leftMillis - Self.writeMillis : quietWaitMillis
        self.quietMillis = max(0, min(wanted, leftMillis / 2))
        self.limitMillis = max(0, min(self.quietMillis + Self.writeMillis, leftMillis - Self.marginMillis))
    }
}
