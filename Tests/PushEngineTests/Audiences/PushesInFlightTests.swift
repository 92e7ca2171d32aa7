import PushModel
import Testing

@testable import PushEngine

@Suite struct PushesInFlightTests {
    @Test("Pushes leave and are answered in any order", arguments: 0..<20 as Range<UInt64>)
    func areAsAList(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var store = MemberPushStore()
        var rounds = [PushesInFlight(), PushesInFlight()]
        var lists: [[MemberPushID]] = [[], []]
        for _ in 0..<200 {
            let round = Int.random(in: 0..<2, using: &random)
            if lists[round].isEmpty || Bool.random(using: &random) {
                let push = store.make()
                rounds[round].left(push, in: &store)
                lists[round].insert(push, at: 0)
            } else {
                let push = lists[round].remove(at: Int.random(in: 0..<lists[round].count, using: &random))
                rounds[round].answered(push, in: &store)
                store.release(push)
            }
            for (round, list) in zip(rounds, lists) {
                var found: [MemberPushID] = []
                var push = round.first
                while push.isSome {
                    found.append(push)
                    push = store[push].next
                }
                #expect(found == list && round.count == list.count)
            }
        }
        #expect(store.liveCount == lists[0].count + lists[1].count)
    }
}
