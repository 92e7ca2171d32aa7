/// Pushes of one round that have no answer yet: a list in the store of pushes, and its length.
struct PushesInFlight {
    private(set) var count = 0
    /// The newest push. Each names the next, which is older.
    private(set) var first = MemberPushID.none

    /// Adds a push that has left.
    mutating func left(_ push: MemberPushID, in store: inout MemberPushStore) {
        store.link(push, into: &self.first)
        self.count += 1
    }
    /// Removes a push that has been answered. The store still has it.
    mutating func answered(_ push: MemberPushID, in store: inout MemberPushStore) {
        store.unlink(push, from: &self.first)
        self.count -= 1
    }
}
