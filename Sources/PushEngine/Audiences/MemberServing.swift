/// What a member is sent.
struct MemberServing: Equatable {
    var member: MemberID
    var hasAlert = false
    /// Whether it is the alert's own version, because the newest content does not fit beside the alert.
    var isAlone = false
    /// Whether the push may have the version's own priority.
    var mayBeHigh = false
    /// How often it failed before: see `MemberPush.attempt`.
    var attempt: UInt8 = 0
    /// See `RetrySet.Entry.alertsMissedSinceSeconds`.
    var alertsMissedSinceSeconds: Int64 = .max
}

/// What changes in what members are owed while the next member to be served is looked for. The pass has applied the
/// changes, and its caller still has to count them.
struct ServingEffects: Equatable {
    /// What is no longer owed, because a newer version or a former push replaces it.
    var superseded = Pass.Owed()
    /// Number of members that the round met with an alert that goes alone, and that wait for it now.
    var aloneDeferredCount = 0
    /// Whether the member that is served waited for an alert that goes alone.
    var isAloneReturned = false
    /// Whether the newest content is owed to it as well, as no round brings that.
    var owesNewestBeside = false

    @inline(__always) var isEmpty: Bool {
        !self.isAloneReturned && self.aloneDeferredCount == 0 && self.superseded == Pass.Owed()
    }
}

/// A failed push to a member, whose content is still owed.
struct MemberFailure {
    /// Earliest time of the next push to the member, steady.
    var notBeforeMillis: Int64
    /// See `MemberPush.nextAttempt`.
    var attempt: UInt8
    /// Whether the push was to bring the alert alone that is still the newest. The next round does not bring it.
    var isNewestAlone = false
    var owesAlert = false
    /// Stamp of the oldest alert that the member has missed by this failure, or before.
    var alertsMissedSinceSeconds: Int64 = .max
    var mayBeHigh = false
}
