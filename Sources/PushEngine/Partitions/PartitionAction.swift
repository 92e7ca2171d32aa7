/// What the engine asks of the loop about one partition. Each action is reported once.
public enum PartitionAction: Sendable, Equatable {
    /// The partition's marker is in `state` at this offset, which is this owner's epoch. Read `state` up to and
    /// including it. Give each record to `ShardEngine.restore`, then call `ShardEngine.restoreFinished`.
    case restore(partition: Int32, markerOffset: Int64)
    /// The positions in the partition's `state` mean nothing in the logs that are read.
    case tellVoid(partition: Int32, cause: VoidCause)
    /// The partition's `state` is not what it was, and what this owner knows of it must go nowhere. Forget the
    /// partition. The reason is in words.
    case loseState(partition: Int32, reason: String)
    /// Somebody else wrote to the partition's `state`. Read the stretch, give each record to `ShardEngine.repair`, then
    /// call `ShardEngine.stateGapRepaired`. A partition has one at a time, and none before it runs.
    case repair(StateGap)
    /// A record of this input topic was on the wrong partition: the first of its topic.
    case tellMisplaced(Misplacement)
    /// A record of this input topic has an impossible time: the first of its topic.
    case tellUntimed(UntimedRecord)
    /// An operator should know this about an app's channels.
    case tellKeeper(KeeperNotice)
    /// The partition cannot go on without a newer release. The reason is in words.
    case halt(partition: Int32, reason: String)
    /// The partition is leaving, and none of its pushes is in flight: `ShardEngine.finishRelease` need not wait.
    case finishRelease(partition: Int32)
    /// Everything handed to Kafka for the partition is acknowledged. Take its last commit, unless a late answer has
    /// added something since (`ShardEngine.isSettled`).
    case takeLastCommit(partition: Int32)
}
