import PushModel

/// Members of a ring that is left to its channel and that got the newest by their tokens all the same: they said only lately that they listen.
struct ListenersByToken {
    /// Members that have the newest version by their tokens.
    private(set) var served: Set<MemberID> = []
    /// Members that had the newest alert by their tokens before the newest version came. A broadcast that is never taken lets that alert go round by
    /// tokens, and it must not ring here a second time. Not in `state`: a next owner may bring it once more.
    private(set) var alerted: Set<MemberID> = []
    /// The newest alert when the newest version was left to the channel; 0: there was none.
    private var alertStampSeconds: Int64 = 0

    /// More are not remembered.
    static let countMax = MembersApart.skippedMax

    /// Follows a newer version that is left to the channel. It keeps the alert's hearers as long as no newer alert comes.
    /// - Parameters:
    ///   - alertStampSeconds: the newest alert's stamp; `nil`: there is none.
    ///   - retries: what the ring's members wait for. Who waits for the alert has not had it.
    mutating func take(alertStampSeconds: Int64?, retries: borrowing RetrySet) {
        if (alertStampSeconds ?? 0) == self.alertStampSeconds {
            for member in self.served where retries[member]?.owesAlert != true && self.alerted.count < Self.countMax {
                self.alerted.insert(member)
            }
        } else {
            self.alerted = []
        }
        self.alertStampSeconds = alertStampSeconds ?? 0
        self.served = []
    }
    /// Goes on where an owner before has left the ring to the channel.
    mutating func resume(alertStampSeconds: Int64?) { self.alertStampSeconds = alertStampSeconds ?? 0 }
    /// The member has the newest version by its token.
    mutating func noteServed(_ member: MemberID) {
        if self.served.count < Self.countMax { self.served.insert(member) }
    }
    /// The member has left the ring: its number may be another's next.
    mutating func forget(_ member: MemberID) {
        if !self.served.isEmpty { self.served.remove(member) }
        if !self.alerted.isEmpty { self.alerted.remove(member) }
    }
    /// Tokens bring the next version to the whole ring.
    mutating func removeAll() {
        self.served = []
        self.alerted = []
    }
}
