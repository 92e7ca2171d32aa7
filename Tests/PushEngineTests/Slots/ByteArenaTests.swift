import PushModel
import Testing

@testable import PushEngine

@Suite struct ByteArenaTests {
    /// Runs of every size are taken and given back in random order. No two of them overlap.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func runsNeverOverlap(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var arena = ByteArena()
        var held: [(handle: ByteArena.Handle, bytes: [UInt8])] = []
        for _ in 0..<20_000 {
            if held.isEmpty || Int.random(in: 0..<5, using: &random) < 3 {
                let byteCount =
                    Int.random(in: 0..<10, using: &random) == 0
                    ? Int.random(in: 1...ByteArena.byteCountMax, using: &random)
                    : Int.random(in: 1...100, using: &random)
                let bytes = (0..<byteCount).map { _ in UInt8.random(in: 0...255, using: &random) }
                let handle = arena.allocate(byteCount)
                #expect(handle != ByteArena.none)
                let run = arena.bytes(of: handle, byteCount: byteCount)
                for index in bytes.indices { run[index] = bytes[index] }
                held.append((handle, bytes))
            } else {
                let (handle, bytes) = held.swapRemove(at: Int.random(in: 0..<held.count, using: &random))
                let stored = Array(arena.bytes(of: handle, byteCount: bytes.count))
                if stored != bytes { Issue.record("a run changed, seed \(seed)") }
                arena.release(handle, byteCount: bytes.count)
            }
        }
        for (handle, bytes) in held {
            let stored = Array(arena.bytes(of: handle, byteCount: bytes.count))
            if stored != bytes { Issue.record("a run changed, seed \(seed)") }
        }
    }

    @Test func aReleasedRunIsUsedAgain() {
        var arena = ByteArena()
        let first = arena.allocate(68)
        let second = arena.allocate(68)
        arena.release(first, byteCount: 68)
        let other = arena.allocate(80)
        let again = arena.allocate(72)
        #expect(again == first && other != first && second != first)
    }

    @Test func noneIsNothing() {
        var arena = ByteArena()
        arena.release(ByteArena.none, byteCount: 10)
        let count = arena.bytes(of: ByteArena.none, byteCount: 0).count
        #expect(count == 0)
    }
}

extension Array {
    fileprivate mutating func swapRemove(at index: Int) -> Element {
        self.swapAt(index, self.count - 1)
        return self.removeLast()
    }
}
