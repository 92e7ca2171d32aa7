/// Pushes of one round that have no answer yet: a list that lies in the store of pushes, and its length.
struct PushesInFlight {
    private(set) var count = 0
    /// The newest; each names the next, which is older.
    private(set) var first = MemberPushID.none

    /// A push has left.
    mutating func left(_ push: MemberPushID, in store: inout MemberPushStore) {
        store.link(push, into: &self.first)
        self.count += 1
    }
    /// It has been answered, and is still in the store.
    mutating func answered(_ push: MemberPushID, in store: inout MemberPushStore) {
        store.unlink(push, from: &self.first)
        self.count -= 1
    }
}
