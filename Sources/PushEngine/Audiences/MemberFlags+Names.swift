extension MemberFlags {
    /// Its phone has the larger budget.
    static var isFrequent: Self { Self(bit: 0) }
    /// A push to it has no answer yet.
    static var isInFlight: Self { Self(bit: 1) }
    /// It joined behind the pass and has not been met since.
    static var isLate: Self { Self(bit: 2) }
    /// It came from another audience: its pushes do not use priority 10.
    static var isMoved: Self { Self(bit: 5) }
}
