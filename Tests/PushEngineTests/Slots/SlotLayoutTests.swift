import Testing

@testable import PushEngine

/// What is asked for ahead is what will be looked at.
@Suite struct SlotLayoutTests {
    @Test func whatEachEventLooksAtLiesInFront() {
        #expect(MemoryLayout<Slot>.offset(of: \.registeredWallMillis) == Slot.ofEachEventByteCount)
    }

    /// The size of a slot. A million of them are in memory: a change that needs more bytes says so here.
    @Test func aSlotIsNoLargerThanItHasToBe() { #expect(MemoryLayout<Slot>.stride == 176) }
}
