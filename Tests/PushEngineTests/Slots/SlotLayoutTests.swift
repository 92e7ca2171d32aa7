import Testing

@testable import PushEngine

/// What is asked for ahead is what will be looked at.
@Suite struct SlotLayoutTests {
    @Test func whatEachEventLooksAtLiesInFront() {
        #expect(MemoryLayout<Slot>.offset(of: \.registeredWallMillis) == Slot.ofEachEventByteCount)
    }

    /// A million of them lie in memory: whoever needs more bytes says so here.
    @Test func aSlotIsNoLargerThanItHasToBe() { #expect(MemoryLayout<Slot>.stride == 176) }
}
