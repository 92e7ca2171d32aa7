extension MemberFlags {
    /// The member has `frequent-updates`, and so the larger budget.
    static var isFrequent: Self { Self(bit: 0) }
    /// A push to the member has no answer yet.
    static var isInFlight: Self { Self(bit: 1) }
    /// The member joined after the newest version or start, and has been neither served nor met since.
    static var isLate: Self { Self(bit: 2) }
    /// The member moved here from another audience, so its pushes do not use priority 10 for an hour.
    static var isMoved: Self { Self(bit: 5) }
}

/// Flags of start members.
extension MemberFlags {
    /// The member's phone can listen to a channel (iOS 18 or later).
    static var isChannelCapable: Self { Self(bit: 6) }
    /// The member has left, and is kept to remember that it was sent a start.
    static var isGhost: Self { Self(bit: 7) }
    /// The member joined late, and was sent the start before the round reached it.
    static var isServedEarly: Self { Self(bit: 8) }
}
