import PushModel

/// Members that were sent the newest version or alert by token, although the ring is left to its channel. Most of them
/// have only lately begun to listen.
struct ListenersByToken {
    /// Members that were sent the newest version by token.
    private(set) var served: Set<MemberID> = []
    /// Members that had got the newest alert by token before the newest version arrived. If no broadcast is ever
    /// accepted, that alert goes round by token, and must not sound a second time for them. The set is not in
    /// `state`, so a next owner may send these members the alert once more.
    private(set) var alerted: Set<MemberID> = []
    /// Stamp of the newest alert at the time when the newest version was left to the channel; 0: none.
    private var alertStampSeconds: Int64 = 0

    /// Maximum number of members in each of the sets.
    static let countMax = MembersApart.skippedMax

    /// Takes a newer version that is left to the channel. While the newest alert stays the same, `alerted` is kept, and
    /// members in `served` are added to it.
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
    /// Resumes after a former owner left the newest version to the channel.
    mutating func resume(alertStampSeconds: Int64?) { self.alertStampSeconds = alertStampSeconds ?? 0 }
    /// Remembers that the member is sent the newest version by token.
    mutating func markServed(_ member: MemberID) {
        if self.served.count < Self.countMax { self.served.insert(member) }
    }
    /// Forgets a member that has left the ring, because another member may get the same number.
    mutating func forget(_ member: MemberID) {
        if !self.served.isEmpty { self.served.remove(member) }
        if !self.alerted.isEmpty { self.alerted.remove(member) }
    }
    /// Forgets all members, because the ring is no longer left to its channel.
    mutating func removeAll() {
        self.served = []
        self.alerted = []
    }
}
