/// What the engine asks the loop to do or to log, mostly about one partition. Each action is reported once.
public enum PartitionAction: Sendable, Equatable {
    /// The partition's marker is in `state` at this offset, which is now this owner's epoch. Read `state` up to and
    /// including the marker. Give each record to `ShardEngine.restore`, then call `ShardEngine.restoreFinished`.
    case restore(partition: Int32, markerOffset: Int64)
    /// Positions in the partition's `state` are of other logs than those that are read now.
    case warnOfVoid(partition: Int32, cause: VoidCause)
    /// The partition's `state` is another log, or has lost records. What this owner knows of the partition must not be
    /// written or sent. Forget the partition. The reason is in words.
    case loseState(partition: Int32, reason: String)
    /// Somebody else wrote to the partition's `state`. Read the stretch, give each record to `ShardEngine.repair`, then
    /// call `ShardEngine.stateGapRepaired`. A partition has one repair at a time, and none before the partition runs.
    case repair(StateGap)
    /// A record of this input topic was on the wrong partition. It is the first such record of its topic.
    case warnOfMisplaced(Misplacement)
    /// A record of this input topic has an impossible time. It is the first such record of its topic.
    case warnOfUntimed(UntimedRecord)
    /// APNs has refused a token. If very many tokens are refused at once, only a few are reported.
    case warnOfToken(TokenRefusalNotice)
    /// Something has happened to an app's channels that an operator should know.
    case warnOfKeeper(KeeperNotice)
    /// The partition reads nothing more until a person has looked at it, or until a newer release runs. The reason is
    /// in words.
    case halt(partition: Int32, reason: String)
    /// The partition is leaving, and none of its pushes is in flight. `ShardEngine.finishRelease` need not wait.
    case finishRelease(partition: Int32)
    /// Kafka has acknowledged everything for the partition. Take its last commit, unless a delayed answer has added
    /// something since (`ShardEngine.isSettled`).
    case takeLastCommit(partition: Int32)
}
