/// What a member is sent.
struct MemberServing: Equatable {
    var member: MemberID
    var hasAlert = false
    /// The alert's own version, beside which the newest content does not fit.
    var isAlone = false
    /// The push may have the version's own priority.
    var mayBeHigh = false
    /// What the member waited with: see `MemberPush.attempt`.
    var attempt: UInt8 = 0
    /// `RetrySet.Entry.alertsMissedSinceSeconds`.
    var alertsMissedSinceSeconds: Int64 = .max
}

/// What becomes of what members are owed while the next to be served is looked for. The pass has done it; its caller has it still to count.
struct ServingEffects: Equatable {
    /// What is owed no more, as a newer version or a former push takes its place.
    var superseded = Pass.Owed()
    /// Members that the round met with an alert that goes alone, and that wait for it now.
    var aloneDeferredCount = 0
    /// The member that is served waited for an alert that goes alone.
    var isAloneReturned = false
    /// The newest content is owed to it beside, as no round brings that.
    var owesNewestBeside = false

    @inline(__always) var isEmpty: Bool {
        !self.isAloneReturned && self.aloneDeferredCount == 0 && self.superseded == Pass.Owed()
    }
}

/// A push to a member has failed, and what it was to bring is owed still.
struct MemberFailure {
    /// The member is not pushed to before this, steady.
    var notBeforeMillis: Int64
    /// `MemberPush.nextAttempt`.
    var attempt: UInt8
    /// The push was to bring the alert alone that is the newest still: the round that comes next does not.
    var isNewestAlone = false
    var owesAlert = false
    /// The alert that the member has missed by it, or before.
    var alertsMissedSinceSeconds: Int64 = .max
    var mayBeHigh = false
}
