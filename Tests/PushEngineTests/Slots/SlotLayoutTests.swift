import Testing

@testable import PushEngine

/// Tests the layout of a slot in memory. Its first bytes, which are prefetched, must be those that every event uses.
@Suite struct SlotLayoutTests {
    @Test func whatEachEventLooksAtLiesInFront() {
        #expect(MemoryLayout<Slot>.offset(of: \.registeredWallMillis) == Slot.ofEachEventByteCount)
    }

    /// A worker may hold a million slots, so a slot must stay small.
    @Test func aSlotIsNoLargerThanItHasToBe() { #expect(MemoryLayout<Slot>.stride == 176) }
}
