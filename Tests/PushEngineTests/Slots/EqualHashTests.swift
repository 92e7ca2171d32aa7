@testable import PushEngine
import PushModel
import Testing

/// Tests two activities whose ids have the same hash. Each is found, served and forgotten by itself.
@Suite struct EqualHashTests {
    private static let seed: UInt64 = 3

    /// An index with the same seed as the one in `ShardEngine`.
    private static func index() -> SlotIndex {
        var random = SplitMix64(seed: Self.seed)
        return SlotIndex(seed: random.next())
    }

    /// Two ids with the same hash. Any 160,000 ids contain about three such pairs, so 500,000 are enough.
    private static func pair() -> (String, String)? {
        let index = Self.index()
        var ids: [UInt32: Int] = [:]
        ids.reserveCapacity(500_000)
        for number in 0..<500_000 {
            let id = Array("activity-\(number)".utf8)
            let hash = index.hash(kind: SlotKind.activity.rawValue, id: id.span)
            if let other = ids.updateValue(number, forKey: hash) { return ("activity-\(other)", "activity-\(number)") }
        }
        return nil
    }

    @Test func eachHasItsOwnTokenContentAndLife() throws {
        let (first, second) = try #require(Self.pair())
        let h = EngineHarness(seed: Self.seed) { $0.settings.outcomePublication = .pushes }
        h.register(token: "aa01", of: first)
        h.register(token: "bb01", of: second)
        #expect(h.counters.slots == 2)
        for n in 0..<6 { h.update(n, of: n.isMultiple(of: 2) ? first : second) }
        #expect(h.counters.eventsMerged == 4)
        h.advance(1_000)
        let pushes = [h.deliver(), h.deliver()].compactMap { $0 }
        #expect(Set(pushes.map(\.token)) == ["aa01", "bb01"])
        for push in pushes { #expect(push.n == (push.token == "aa01" ? 4 : 5)) }
        // The first activity leaves memory. The second is still found, even after a restart.
        h.end(6, of: first)
        h.advance(2_000)
        h.deliver()
        h.advance(3_601_000)
        #expect(h.counters.slots == 1)
        h.update(7, of: second, priority: 10)
        #expect(h.deliver()?.token == "bb01")
        h.crash()
        h.update(8, of: second, priority: 10)
        h.advance(1_000)
        #expect(h.deliver()?.token == "bb01")
        #expect(h.counters.slots == 1)
        h.advance(1_000)
        #expect(h.isCommitted())
    }
}
