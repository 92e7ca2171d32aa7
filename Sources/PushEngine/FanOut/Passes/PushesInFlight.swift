/// Unanswered pushes of one pass, or of one start round: a list within the store of pushes.
struct PushesInFlight {
    private(set) var count = 0
    /// The newest push. Each push names the one sent before it.
    private(set) var first = MemberPushID.none

    /// Adds a push that has left.
    mutating func left(_ push: MemberPushID, in store: inout MemberPushStore) {
        store.link(push, into: &self.first)
        self.count += 1
    }
    /// Removes a push that has been answered. The push stays in the store.
    mutating func answered(_ push: MemberPushID, in store: inout MemberPushStore) {
        store.unlink(push, from: &self.first)
        self.count -= 1
    }
}
