/// Which of a team's signing keys speaks on a route: the newest that APNs takes. Pure: told which keys there are and what
/// APNs said of them.
///
/// A key that appears is tried at once, as its owner put it there to be used. If APNs refuses it, the one that worked is
/// used again. A key that worked until now and is refused was probably revoked: the next one is used. When all are
/// refused the current one stays, and each of the others gets another chance after `refusedMillis`, so that a wrong
/// clock or a slow Apple does not settle the matter for good.
public struct ProviderKeyChoice: Equatable, Sendable {
    /// What APNs said of a key.
    public enum Acceptance: Equatable, Sendable {
        /// Nothing yet.
        case untried
        /// It took a push signed with it.
        case accepted
        /// It refused one.
        case refused(sinceMillis: Int64)
    }

    /// How long a refused key is not tried again, while it has not changed.
    public static let refusedMillis: Int64 = 600_000

    private struct Candidate: Equatable, Sendable {
        let key: Int
        var acceptance = Acceptance.untried
    }
    /// Newest first; never empty.
    private var candidates: [Candidate]
    /// The key in use.
    public private(set) var current: Int

    /// - Parameter keys: numbers that tell keys apart, at least one; the first is used.
    public init(_ keys: [Int]) {
        precondition(!keys.isEmpty, "a choice among no keys")
        self.candidates = keys.map { Candidate(key: $0) }
        self.current = keys[0]
    }

    /// Newest first.
    public var keys: [Int] { self.candidates.map(\.key) }

    /// `nil`: there is no such key.
    public func acceptance(_ key: Int) -> Acceptance? { self.candidates.first { $0.key == key }?.acceptance }

    /// The current key has not shown yet that APNs takes it, and there is another that may be gone back to.
    public var isOnTrial: Bool { self.acceptance(self.current) == .untried && self.candidates.count > 1 }

    /// A new key, newer than all others: it is used from here on.
    public mutating func appeared(_ key: Int) {
        self.candidates.insert(Candidate(key: key), at: 0)
        self.current = key
    }

    /// Its owner wants this one of the keys used from here on. One that was refused gets another chance. `false`: there is no such key.
    @discardableResult public mutating func wanted(_ key: Int) -> Bool {
        guard let index = self.candidates.firstIndex(where: { $0.key == key }) else { return false }
        var candidate = self.candidates.remove(at: index)
        if case .refused = candidate.acceptance { candidate.acceptance = .untried }
        self.candidates.insert(candidate, at: 0)
        self.current = key
        return true
    }

    /// Never used again. Not for the current one.
    public mutating func forget(_ key: Int) {
        guard key != self.current else { return }
        self.candidates.removeAll { $0.key == key }
    }

    /// APNs took a push signed with this key. `true`: nobody knew.
    public mutating func accepted(_ key: Int) -> Bool {
        guard let index = self.candidates.firstIndex(where: { $0.key == key }),
            self.candidates[index].acceptance != .accepted
        else { return false }
        self.candidates[index].acceptance = .accepted
        return true
    }

    /// APNs refused the current key. `true`: another is used from here on.
    public mutating func currentRefused(nowMillis: Int64) -> Bool {
        for index in self.candidates.indices where self.candidates[index].key == self.current {
            self.candidates[index].acceptance = .refused(sinceMillis: nowMillis)
        }
        let others = self.candidates.filter { $0.key != self.current }
        let next =
            others.first { $0.acceptance == .accepted } ?? others.first { $0.acceptance == .untried }
            ?? others.first { candidate in
                guard case .refused(let since) = candidate.acceptance else { return false }
                return nowMillis >= since + Self.refusedMillis
            }
        guard let next else { return false }
        self.current = next.key
        return true
    }
}
