import PushModel

/// Members of a ring left to its channel that got the newest by token all the same. They said only lately that they
/// listen.
struct ListenersByToken {
    /// Members that have got the newest version by token.
    private(set) var served: Set<MemberID> = []
    /// Members that had got the newest alert by token before the newest version arrived. If a broadcast is never taken,
    /// that alert goes round by token, and must not ring here a second time. Not in `state`: a next owner may send it
    /// once more.
    private(set) var alerted: Set<MemberID> = []
    /// Stamp of the newest alert when the newest version was left to the channel; 0: there was none.
    private var alertStampSeconds: Int64 = 0

    /// Maximum number of members that are remembered.
    static let countMax = MembersApart.skippedMax

    /// Follows a newer version that is left to the channel. `alerted` is kept until there is a newer alert.
    /// - Parameters:
    ///   - alertStampSeconds: the newest alert's stamp; `nil`: there is none.
    ///   - retries: what the ring's members wait for. A member that waits for the alert has not had it.
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
    /// Resumes where a former owner has left the ring to the channel.
    mutating func resume(alertStampSeconds: Int64?) { self.alertStampSeconds = alertStampSeconds ?? 0 }
    /// Notes that the member has got the newest version by token.
    mutating func noteServed(_ member: MemberID) {
        if self.served.count < Self.countMax { self.served.insert(member) }
    }
    /// Forgets a member that has left the ring: its number may be another's next.
    mutating func forget(_ member: MemberID) {
        if !self.served.isEmpty { self.served.remove(member) }
        if !self.alerted.isEmpty { self.alerted.remove(member) }
    }
    /// Forgets all members: tokens bring the next version to the whole ring.
    mutating func removeAll() {
        self.served = []
        self.alerted = []
    }
}
