/// Notices that a partition's `state` is not what it was: it is another log, or lacks what owners had written.
extension ShardEngine {
    /// What is missing from the partition's `state`, which was read up to the own marker; `nil`: nothing, as far as is
    /// known. The answer is in words.
    /// - Parameters:
    ///   - number: the partition's number. One that is not being restored has lost nothing.
    ///   - stateEnd: how far `state` was acknowledged to owners at work, according to the group's commits; `nil`: it
    ///     may be empty.
    public func stateLoss(partition number: Int32, stateEnd: Int64?) -> String? {
        guard let stateEnd, let partition = self.memory.partitions.index(of: number),
            self.memory.partitions[partition].phase == .restoring
        else { return nil }
        let state = self.memory.partitions[partition]
        guard state.acceptedStateEnd != stateEnd else { return nil }
        if state.epoch < stateEnd {
            return "it ends at offset \(state.epoch), and records up to \(stateEnd) were acknowledged"
        }
        // A first marker alone does not prove that its owner was ever at work. An owner that found nothing has written
        // one, too.
        guard state.former.newestEpochRead < 0 else { return nil }
        return "no owner has left word in it, and records up to \(stateEnd) were acknowledged"
    }

    /// Reports partitions whose `state` went back while they were owned. They are abandoned: nothing of them is
    /// written, pushed or committed.
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

/// Why the positions in `state` mean nothing in the logs that are read.
public enum VoidCause: Sendable, Equatable {
    /// `state` was written for another cluster. The value is this cluster's identifier.
    case cluster(String)
    /// The input is another log, into which a person has moved the group.
    case newLog
    /// A person has declared it with `mailboat state accept-empty`.
    case accepted
}
