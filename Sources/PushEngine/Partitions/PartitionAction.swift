/// What the engine asks of whoever gives it its turns, about one partition. Each is said once.
public enum PartitionAction: Sendable, Equatable {
    /// Its marker lies in `state` at this offset, the epoch of this owner. `state` is to be read up to and including it, each record given to
    /// `ShardEngine.restore`, then `ShardEngine.restoreFinished`.
    case restore(partition: Int32, markerOffset: Int64)
    /// What `state` knows of positions means nothing in the logs that are read.
    case tellVoid(partition: Int32, cause: VoidCause)
    /// Its `state` is not what it was, and what this owner knows of it must go nowhere: it is to be forgotten. The reason, in words.
    case loseState(partition: Int32, reason: String)
    /// Somebody else wrote to its `state`. The stretch is to be read, each record given to `ShardEngine.repair`, then
    /// `ShardEngine.stateGapRepaired`. One of a partition at a time, none before it runs.
    case repair(StateGap)
    /// A record of this input topic lay on the wrong partition: the first of its topic.
    case tellMisplaced(Misplacement)
    /// A record of this input topic has a time that cannot be one: the first of its topic.
    case tellUntimed(UntimedRecord)
    /// An operator should know this of an app's channels.
    case tellKeeper(KeeperNotice)
    /// It cannot go on without a newer release; the reason, in words.
    case halt(partition: Int32, reason: String)
    /// It is leaving, and none of its pushes is in flight any more: `ShardEngine.finishRelease` need not wait.
    case finishRelease(partition: Int32)
    /// Everything handed to Kafka for it is acknowledged: its last commit may be taken, unless an answer that was late has added something
    /// since (`ShardEngine.isSettled`).
    case takeLastCommit(partition: Int32)
}
