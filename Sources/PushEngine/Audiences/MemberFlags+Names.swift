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

/// Flags of start members.
extension MemberFlags {
    /// Its phone can listen to a channel (iOS 18 or later).
    static var isChannelCapable: Self { Self(bit: 6) }
    /// It has left, and is kept to remember that it was sent a start.
    static var isGhost: Self { Self(bit: 7) }
    /// It joined late, and was sent the start before the round came to it.
    static var isServedEarly: Self { Self(bit: 8) }
}
