import PushModel

@testable import PushEngine

/// Random tokens with the length of real ones, or any length.
struct MemberTokens {
    var random: SplitMix64

    init(seed: UInt64) { self.random = SplitMix64(seed: seed) }

    mutating func next(byteCount: Int) -> [UInt8] {
        (0..<byteCount).map { _ in UInt8.random(in: 0...255, using: &self.random) }
    }

    /// A token of 1 to 160 bytes. Very short ones repeat.
    mutating func next() -> [UInt8] { self.next(byteCount: Int.random(in: 1...160, using: &self.random)) }
}

extension MemberTable {
    /// All members of the ring, in order.
    func members(of ring: RingID, limit: Int = 64) -> [RingEntry] {
        var entries: [RingEntry] = []
        var position: UInt64 = 0
        while position < RingPosition.end { position = self.fill(ring, from: position, limit: limit, into: &entries) }
        return entries
    }

    func bytes(of member: MemberID) -> [UInt8] { Array(self.tokenBytes(member)) }
}
