import CProcessor

/// Begins to bring memory close to the processor, and waits for nothing: whoever soon reads it finds it there. A read ahead would hold up
/// what comes after it once the processor has a few hundred instructions behind it; this does not.
enum Prefetch {
    static var lineByteCount: Int { 64 }

    /// Every line of `byteCount` bytes, at least one, from `address` on. Nothing is read: it need not be memory of ours.
    @inline(__always) @unsafe static func lines(from address: UnsafeRawPointer, byteCount: Int) {
        var offset = 0
        while offset < byteCount {
            unsafe mailboat_prefetch(address + offset)
            offset &+= Self.lineByteCount
        }
        unsafe mailboat_prefetch(address + (byteCount &- 1))
    }
}
