import CProcessor

/// Begins to load memory into the processor's cache, and does not wait until it is there. An ordinary read would stall
/// the code after it once the processor has a few hundred instructions queued; a prefetch does not.
enum Prefetch {
    static var lineByteCount: Int { 64 }

    /// Prefetches every cache line of `byteCount` bytes, at least one, from `address` on. Nothing is read, so the
    /// memory need not be ours.
    @inline(__always) @unsafe static func lines(from address: UnsafeRawPointer, byteCount: Int) {
        var offset = 0
        while offset < byteCount {
            unsafe mailboat_prefetch(address + offset)
            offset &+= Self.lineByteCount
        }
        unsafe mailboat_prefetch(address + (byteCount &- 1))
    }
}
