/// Chooses which of a team's signing keys a route uses: the newest that APNs accepts. The type is pure: the caller
/// passes the keys and the answers of APNs.
///
/// A new key is tried at once, because the operator added it to be used. If APNs refuses the new key, the one that
/// worked before is used again. If APNs refuses a key that worked until now, that key was probably revoked, and the
/// next one is used. If all keys are refused, the current one stays. After `refusedMillis` a refused key may be tried
/// again. So a key is not excluded for good because the clock was wrong, or because Apple did not know the key yet.
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

    /// Least time before a refused key is tried again, milliseconds. A key that the operator wants again is tried at
    /// once.
    public static let refusedMillis: Int64 = 600_000

    private struct Candidate: Equatable, Sendable {
        let key: Int
        var acceptance = Acceptance.untried
    }
    /// The keys, beginning with the one that was last added or wanted; never empty.
    private var candidates: [Candidate]
    /// The number that identifies the key in use.
    public private(set) var current: Int

    /// - Parameter keys: numbers that identify keys, at least one. The first is used.
    public init(_ keys: [Int]) {
        precondition(!keys.isEmpty, "a choice among no keys")
        self.candidates = keys.map { Candidate(key: $0) }
        self.current = keys[0]
    }

    /// The numbers of the keys, beginning with the one that was last added or wanted.
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

    /// Uses one of the keys from now on, because the operator wants it. A refused key gets another chance. Returns
    /// `false` if there is no such key.
    @discardableResult public mutating func wanted(_ key: Int) -> Bool {
        guard let index = self.candidates.firstIndex(where: { $0.key == key }) else { return false }
        var candidate = self.candidates.remove(at: index)
        if case .refused = candidate.acceptance { candidate.acceptance = .untried }
        self.candidates.insert(candidate, at: 0)
        self.current = key
        return true
    }

    /// Removes a key. The current key is not removed.
    public mutating func forget(_ key: Int) {
        guard key != self.current else { return }
        self.candidates.removeAll { $0.key == key }
    }

    /// Marks the key as accepted: APNs took a push signed with it. Returns `true` if the acceptance is new.
    public mutating func accepted(_ key: Int) -> Bool {
        guard let index = self.candidates.firstIndex(where: { $0.key == key }),
            self.candidates[index].acceptance != .accepted
        else { return false }
        self.candidates[index].acceptance = .accepted
        return true
    }

    /// Marks the current key as refused by APNs. Returns `true` if another key is used from now on.
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
