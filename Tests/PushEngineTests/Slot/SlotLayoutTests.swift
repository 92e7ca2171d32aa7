import Testing

@testable import PushEngine

/// What is asked for ahead is what will be looked at.
@Suite struct SlotLayoutTests {
    @Test func whatEachEventLooksAtLiesInFront() {
        #expect(MemoryLayout<Slot>.offset(of: \.registeredWallMillis) == Slot.ofEachEventByteCount)
    }
}
