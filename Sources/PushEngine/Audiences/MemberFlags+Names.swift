extension MemberFlags {
    /// Its phone has the larger budget.
    static var isFrequent: Self { Self(bit: 0) }
    /// A push to it has no answer yet.
    static var isInFlight: Self { Self(bit: 1) }
    /// It joined behind the pass and has not been met since.
    static var isLate: Self { Self(bit: 2) }
    /// APNs has taken a push to it.
    static var isTried: Self { Self(bit: 3) }
    /// APNs has refused it, and it was not believed: it may be a fault of ours.
    static var isSuspect: Self { Self(bit: 4) }
    /// It came from another audience within the last hour: its pushes do not use priority 10.
    static var isMoved: Self { Self(bit: 5) }
}
