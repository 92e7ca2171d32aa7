/// Chooses which of a team's signing keys a route uses: the newest that APNs accepts. It is pure: the caller passes the
/// keys and what APNs said about them.
///
/// A key that appears is tried at once, as its owner put it there to be used. If APNs refuses it, the one that worked
/// is used again. A key that worked until now and is refused was probably revoked, and the next one is used. When all
/// are refused the current one stays. Each of the others gets another chance after `refusedMillis`, so that a wrong
/// clock or a slow Apple does not exclude it for good.
public struct ProviderKeyChoice: Equatable, Sendable {
    /// What APNs has said about a key.
    public enum Acceptance: Equatable, Sendable {
        /// APNs has not answered yet.
        case untried
        /// APNs accepted a push signed with the key.
        case accepted
        /// APNs refused a push signed with the key.
        case refused(sinceMillis: Int64)
    }

    /// How long a refused key is not tried again, unless it has changed.
    public static let refusedMillis: Int64 = 600_000

    private struct Candidate: Equatable, Sendable {
        let key: Int
        var acceptance = Acceptance.untried
    }
    /// The keys, newest first; never empty.
    private var candidates: [Candidate]
    /// The number of the key in use.
    public private(set) var current: Int

    /// - Parameter keys: numbers that identify keys, at least one. The first is used.
    public init(_ keys: [Int]) {
        precondition(!keys.isEmpty, "a choice among no keys")
        self.candidates = keys.map { Candidate(key: $0) }
        self.current = keys[0]
    }

    /// The numbers of the keys, newest first.
    public var keys: [Int] { self.candidates.map(\.key) }

    /// What APNs has said about a key; `nil` if there is no such key.
    public func acceptance(_ key: Int) -> Acceptance? { self.candidates.first { $0.key == key }?.acceptance }

    /// Whether APNs has not accepted the current key yet, and there is another to return to.
    public var isOnTrial: Bool { self.acceptance(self.current) == .untried && self.candidates.count > 1 }

    /// Adds a new key, newer than all others, and uses it from now on.
    public mutating func appeared(_ key: Int) {
        self.candidates.insert(Candidate(key: key), at: 0)
        self.current = key
    }

    /// Uses one of the keys from now on, because its owner wants that. A refused one gets another chance. Returns
    /// `false` if there is no such key.
    @discardableResult public mutating func wanted(_ key: Int) -> Bool {
        guard let index = self.candidates.firstIndex(where: { $0.key == key }) else { return false }
        var candidate = self.candidates.remove(at: index)
        if case .refused = candidate.acceptance { candidate.acceptance = .untried }
        self.candidates.insert(candidate, at: 0)
        self.current = key
        return true
    }

    /// Removes a key, which must not be the current one.
    public mutating func forget(_ key: Int) {
        guard key != self.current else { return }
        self.candidates.removeAll { $0.key == key }
    }

    /// Marks the key as accepted: APNs took a push signed with it. Returns `true` if that was not known.
    public mutating func accepted(_ key: Int) -> Bool {
        guard let index = self.candidates.firstIndex(where: { $0.key == key }),
            self.candidates[index].acceptance != .accepted
        else { return false }
        self.candidates[index].acceptance = .accepted
        return true
    }

    /// Marks the current key as refused by APNs. Returns `true` if another is used from now on.
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
