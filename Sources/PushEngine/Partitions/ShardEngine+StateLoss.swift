/// Noticing that a partition's `state` is not what it was: another one, or without what owners had written.
extension ShardEngine {
    /// What is missing of the `state` that has been read up to the own marker, in words; `nil`: nothing, as far as can be told.
    /// - Parameters:
    ///   - number: the partition's number. One that is not being restored has lost nothing.
    ///   - stateEnd: how far it was acknowledged to owners at work, as the group's commits say; `nil`: it may be empty.
    public func stateLoss(partition number: Int32, stateEnd: Int64?) -> String? {
        guard let stateEnd, let partition = self.memory.partitions.index(of: number),
            self.memory.partitions[partition].phase == .restoring
        else { return nil }
        let state = self.memory.partitions[partition]
        guard state.acceptedStateEnd != stateEnd else { return nil }
        if state.epoch < stateEnd {
            return "it ends at offset \(state.epoch), and records up to \(stateEnd) were acknowledged"
        }
        // A first marker alone does not say that its owner was ever at work: one that found nothing has written it, too.
        guard state.former.newestEpochRead < 0 else { return nil }
        return "no owner has left word in it, and records up to \(stateEnd) were acknowledged"
    }

    /// The partition's `state` went back while it was owned, and it is let go of: nothing of it is written, pushed or committed any more.
    mutating func lookAtLostState(_ actions: inout [PartitionAction]) {
        for partition in self.memory.partitions.takeWentBack() {
            let state = self.memory.partitions[partition]
            actions.append(
                .loseState(
                    partition: state.number,
                    reason:
                        "a record came to lie at offset \(state.wentBackTo), and records up to \(state.nextStateOffset) were acknowledged"
                ))
        }
    }
}

/// Why what `state` knows of positions means nothing in the logs that are read.
public enum VoidCause: Sendable, Equatable {
    /// It was written for another cluster than this one, whose identifier this is.
    case cluster(String)
    /// The input is another log, into which a person has moved the group.
    case newLog
    /// A person has said so, with `mailboat state accept-empty`.
    case accepted
}
