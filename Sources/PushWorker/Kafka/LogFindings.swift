import KafkaLog
import ShardLoop

/// What was found in the logs of one partition, apart from the group's offsets and the bounds of its input.
struct LogFindings: Equatable {
    /// What was found in each log at the offset of a record that the group has read, by input topic index. The last
    /// commit names that record.
    var found: [Int: LogIdentity.Found] = [:]
    /// The offset of the first record of `state`; `nil` when it was not asked for, or Kafka did not answer.
    var stateLogStart: Int64?
    /// The offset that the next record of `state` gets; `nil` when it was not asked for, or Kafka did not answer.
    var stateLogEnd: Int64?
    /// The acknowledged end of `state` that was lost when a person last accepted a loss; `nil`: no loss was accepted.
    var acceptedStateEnd: Int64?
    /// Whether `state` has a record of an owner at work: see `StateWord`.
    var stateHasOwner = false
}
