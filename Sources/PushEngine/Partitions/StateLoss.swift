/// Detects that a partition's `state` was replaced by another log, or lacks what owners had written.
extension PartitionState {
    /// What is missing from `state`, which was read up to this owner's marker; `nil`: nothing, as far as is known. The
    /// answer is in words.
    /// - Parameter stateEnd: how far Kafka has acknowledged `state`, according to the group's commits. Owners' first
    ///   markers do not count.
    func loss(before stateEnd: Int64) -> String? {
        guard self.acceptedStateEnd != stateEnd else { return nil }
        if self.epoch < stateEnd {
            return "it ends at offset \(self.epoch), and records up to \(stateEnd) were acknowledged"
        }
        // First markers do not count here. An owner writes its first marker before it reads `state`. An owner that then
        // found nothing and stopped has left a first marker, too.
        guard self.former.newestEpochRead < 0 else { return nil }
        return "no owner has left word in it, and records up to \(stateEnd) were acknowledged"
    }

    /// Reports that `state` has lost its end, or was made anew, while the partition was owned.
    var lossWhileOwned: PartitionAction {
        .loseState(
            partition: self.number,
            reason:
                "a record was written at offset \(self.wentBackTo), and records up to \(self.nextStateOffset) were acknowledged"
        )
    }
}

/// Why the positions in `state` have no meaning in the logs that are read.
public enum VoidCause: Sendable, Equatable {
    /// `state` was written for another cluster. The value is the identifier of that other cluster.
    case cluster(String)
    /// The input is another log, into which a person has moved the group.
    case newLog
    /// A person has declared that `state` is lost, with `mailboat state accept-empty`.
    case accepted
}
