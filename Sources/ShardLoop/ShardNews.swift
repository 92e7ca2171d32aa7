public import PushEngine

/// What a turn has to tell: for the group, or for a log line.
public enum ShardNews: Sendable {
    /// Answers `ShardCommand.release`. `unfinished`: of these something was not acknowledged in time, and the next owner repeats it.
    case released(number: Int, commits: [CommitPosition], unfinished: [Int32])
    /// The partition stops until a person has looked at it; the others go on.
    case halted(partition: Int32, reason: String)
    /// Its `state` has been read, and its events are taken from `starts` on. `recordCount`: records read.
    case restored(partition: Int32, recordCount: Int64, durationMillis: Int64, starts: [CommitPosition])
    /// What its `state` knows of positions means nothing, and every event in the log is taken as new.
    case voided(partition: Int32, cause: VoidCause)
    /// Restores take long; this is how far they are, all together.
    case restoring(partitionCount: Int, recordCount: Int64, recordCountMax: Int64)
    /// Somebody else has written to the `state` of an own partition; it is being read.
    case gapFound(StateGap)
    /// Nothing that another wrote counts now. `recordCount`: records of the gap that were read.
    case gapRepaired(partition: Int32, recordCount: Int)
    /// A queue cannot be read for now; it goes on by itself.
    case readingFails(LogFailure)
    /// The Kafka client that writes has ended; another takes its place.
    case producerEnded(ProduceFailure)
    /// No other could be made; it is tried again.
    case producerNotRenewed(LogFailure)
    /// Another has taken its place, so long after the end.
    case producerRenewed(afterMillis: Int64)
    /// Kafka did not take a record.
    case refused(RefusalNotice)
    /// The first record of an input topic that lies on the wrong partition.
    case misplaced(Misplacement)
    /// The first record of an input topic whose own time cannot be one.
    case untimed(UntimedRecord)
    /// An operator should know this of an app's channels.
    case keeper(KeeperNotice)
    /// The worker cannot go on.
    case failed(String)
}
