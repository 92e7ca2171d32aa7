public import PushEngine

/// What a turn has to report, for the group or for a log line.
public enum ShardNews: Sendable {
    /// Answers `ShardCommand.release`. Some work of the partitions in `unfinished` was not acknowledged in time. The
    /// next owner will repeat this work.
    case released(number: Int, commits: [CommitPosition], unfinished: [Int32])
    /// The partition halts until a person has looked at it. The others continue.
    case halted(partition: Int32, reason: String)
    /// The partition's `state` has been read, and its events are taken from `starts` on. `recordCount` is the number of
    /// records read.
    case restored(partition: Int32, recordCount: Int64, durationMillis: Int64, starts: [CommitPosition])
    /// The positions in the partition's `state` do not apply to the log, and every event in the log is taken as new.
    case voided(partition: Int32, cause: VoidCause)
    /// Restores take a long time. The numbers are the progress of all of them together.
    case restoring(partitionCount: Int, recordCount: Int64, recordCountMax: Int64)
    /// Another worker has written to the `state` of a partition of this shard. What it wrote is being read.
    case gapFound(StateGap)
    /// A gap is repaired: what another worker wrote there has no effect now. `recordCount` is the number of records
    /// read in the gap.
    case gapRepaired(partition: Int32, recordCount: Int)
    /// A queue cannot be read for now. Reading continues by itself.
    case readingFails(LogFailure)
    /// The Kafka client that writes has ended. Another client will replace it.
    case producerEnded(ProduceFailure)
    /// No other Kafka client could be made now. The loop will try again.
    case producerNotRenewed(LogFailure)
    /// Another Kafka client has replaced the client that had ended `afterMillis` before.
    case producerRenewed(afterMillis: Int64)
    /// Kafka did not take a record.
    case refused(RefusalNotice)
    /// A record was on the wrong partition. It is the first such record of its input topic.
    case misplaced(Misplacement)
    /// A record has an impossible time. It is the first such record of its input topic.
    case untimed(UntimedRecord)
    /// APNs has refused a token.
    case tokenRefused(TokenRefusalNotice)
    /// A notice for an operator about an app's channels.
    case keeper(KeeperNotice)
    /// The worker cannot continue.
    case failed(String)
}
