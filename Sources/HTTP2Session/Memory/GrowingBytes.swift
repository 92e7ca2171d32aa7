/// A growing buffer of bytes with memory of its own. It keeps its capacity, and its memory moves only when it grows.
/// The owner calls `free`.
///
/// It replaces an array where C code reads or writes by pointer. It also replaces one where an array's checks and
/// reference counts would cost too much per push.
struct GrowingBytes {
    private(set) var base: UnsafeMutableRawPointer?
    private(set) var count = 0
    private(set) var capacity = 0

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: self.base, count: self.count) }

    /// Makes room for `byteCount` bytes in total, keeping the content.
    mutating func reserve(_ byteCount: Int) {
        guard byteCount > self.capacity else { return }
        // The capacity grows by at least half, or to a multiple of 256. A slightly longer message then does not move
        // the bytes again.
        let capacity = max((byteCount + 255) & ~255, self.capacity * 3 / 2)
        let base = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
        if let old = self.base {
            base.copyMemory(from: old, byteCount: self.count)
            old.deallocate()
        }
        self.base = base
        self.capacity = capacity
    }

    mutating func append(_ source: UnsafeRawPointer, _ byteCount: Int) {
        self.reserve(self.count + byteCount)
        guard byteCount > 0, let base = self.base else { return }
        (base + self.count).copyMemory(from: source, byteCount: byteCount)
        self.count += byteCount
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if let base = bytes.baseAddress { self.append(base, bytes.count) }
    }

    /// Adds `byteCount` bytes that were written after the end, into reserved memory.
    mutating func commit(_ byteCount: Int) { self.count += byteCount }

    mutating func removeAll() { self.count = 0 }

    /// Frees the memory.
    mutating func free() {
        self.base?.deallocate()
        self.base = nil
        self.count = 0
        self.capacity = 0
    }
}

extension Array where Element == UInt8 {
    /// Appends bytes, and returns their range in the array.
    mutating func appendRange(_ bytes: UnsafeRawBufferPointer) -> Range<Int> {
        let start = self.count
        self.append(contentsOf: bytes)
        return start..<self.count
    }
}
