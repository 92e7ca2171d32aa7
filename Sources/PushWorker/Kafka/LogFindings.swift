import KafkaLog
import ShardLoop

/// What was found in the logs of one partition, besides the group's offsets and the bounds of its input.
struct LogFindings: Equatable {
    /// What each log has at the offset where the last commit says that a record was read, by input topic index.
    var found: [Int: LogIdentity.Found] = [:]
    /// The offset of the first record of `state`; `nil` when it was not asked for, or nobody answered.
    var stateLogStart: Int64?
    /// The offset that the next record of `state` gets; `nil` when it was not asked for, or nobody answered.
    var stateLogEnd: Int64?
    /// The `stateEnd` whose loss a person has accepted, according to `state`.
    var acceptedStateEnd: Int64?
    /// Whether any owner has ever written to `state`.
    var stateHasOwner = false
}
