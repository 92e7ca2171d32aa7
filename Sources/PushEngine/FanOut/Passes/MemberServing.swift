/// What a member is sent.
struct MemberServing: Equatable {
    var member: MemberID
    var hasAlert = false
    /// Whether the member is sent the alert's own version, because the newest content does not fit beside the alert.
    var isAlone = false
    /// Whether the push may have the version's own priority, unless the member has moved here within the hour.
    var mayBeHigh = false
    /// Failures of earlier pushes to the member.
    var failures = FailureStreak.none
    /// The value in the member's entry of the retry set: see `RetrySet.Entry.alertsMissedSinceSeconds`.
    var alertsMissedSinceSeconds: Int64 = .max
}

/// Changes in what members are owed, found by the search for the next member to serve. The pass has applied the
/// changes, and the pass's caller must count them.
struct ServingEffects: Equatable {
    /// What members are no longer owed, for one of two reasons. The member now waits for something newer, or the round
    /// is at an alert that goes alone and is not for the member.
    var superseded = Pass.Owed()
    /// Number of members that the round has met, and that have to wait for an alert that goes alone.
    var aloneDeferredCount = 0
    /// Whether the member that is served was waiting for an alert that goes alone.
    var isAloneReturned = false
    /// Whether the member that is served an alert alone is also owed the newest content, which no round will bring.
    var owesNewestBeside = false

    @inline(__always) var isEmpty: Bool {
        !self.isAloneReturned && self.aloneDeferredCount == 0 && self.superseded == Pass.Owed()
    }
}

/// The failure of a push to a member. What the push was to bring is still owed.
struct MemberFailure {
    /// Earliest time of the next push to the member (steady clock).
    var notBeforeMillis: Int64
    /// Failures, including this one.
    var failures: FailureStreak
    /// Whether the push was to bring an alert alone, and that alert is still the newest. The round will not bring the
    /// alert again, so the member waits for it in the retry set.
    var isNewestAlone = false
    var owesAlert = false
    /// Stamp of the oldest alert that the member has missed, by this failure or an earlier one.
    var alertsMissedSinceSeconds: Int64 = .max
    var mayBeHigh = false
}
