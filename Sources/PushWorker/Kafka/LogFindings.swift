import KafkaLog
import ShardLoop

/// What was found in the logs of one partition beside the group's offsets and the bounds of its input.
struct LogFindings: Equatable {
    /// By input topic index: what lies where the last commit says that a record was read.
    var found: [Int: LogIdentity.Found] = [:]
    /// The offset of the first record of `state`; `nil`: not asked, or nobody answered.
    var stateLogStart: Int64?
    /// The offset that the next record of `state` gets; `nil`: not asked, or nobody answered.
    var stateLogEnd: Int64?
    /// The `stateEnd` whose loss a person has accepted, as `state` says.
    var acceptedStateEnd: Int64?
    /// An owner of some time has left word in `state`.
    var stateHasOwner = false
}
