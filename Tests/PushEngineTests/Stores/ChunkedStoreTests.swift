@testable import PushEngine
import Testing

@Suite struct ChunkedStoreTests {
    /// An object that counts how many of its kind are alive.
    private final class Witness {
        static func make(_ counter: Counter) -> Witness { Witness(counter) }
        let counter: Counter
        init(_ counter: Counter) {
            self.counter = counter
            counter.alive += 1
        }
        deinit { self.counter.alive -= 1 }
    }
    private final class Counter { var alive = 0 }

    /// Tests counts around the size of a chunk and of the first directory.
    @Test(arguments: [0, 1, 1_023, 1_024, 1_025, 16 * 1_024, 40_000])
    func holdsWhatAnArrayHolds(count: Int) {
        var store = ChunkedStore<SlotID, Int>()
        for number in 0..<count { store.append(number) }
        let stored = store.count
        #expect(stored == count)
        for id in store.identifiers { store[id] += 7 }
        var wrong = 0
        for number in 0..<count where store[SlotID(index: number)] != number + 7 { wrong += 1 }
        #expect(wrong == 0)
    }

    @Test func letsGoOfEveryElementOnce() {
        let counter = Counter()
        do {
            var store = ChunkedStore<SlotID, [Witness]>()
            for _ in 0..<3_000 { store.append([Witness(counter)]) }
            store[1_500] = []
            #expect(counter.alive == 2_999)
            let kept = store.count
            #expect(kept == 3_000)
        }
        #expect(counter.alive == 0)
    }
}
