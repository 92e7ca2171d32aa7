/// Many short runs of bytes, each under a 32-bit handle. A million slots would otherwise keep them in a million heap
/// blocks, with a header and a count each.
///
/// Blocks are multiples of eight bytes, cut from chunks that never move. A released block is used again for the same
/// size. The arena only grows.
@safe struct ByteArena: ~Copyable {
    /// Names a run of bytes.
    struct Handle: Equatable {
        fileprivate let rawValue: UInt32
    }
    static let none = Handle(rawValue: 0)
    /// Maximum number of bytes in a run.
    static var byteCountMax: Int { 2_048 }

    private static var granule: Int { 8 }
    private static var chunkByteCount: Int { 1 << 18 }

    private var chunks: [UnsafeMutableRawPointer] = unsafe []
    /// Number of bytes of the last chunk that were handed out.
    private var used = Self.chunkByteCount
    /// The first free block of each size, by size in granules. The block's first four bytes name the next free one.
    private var free: [Handle]

    init() { self.free = Array(repeating: Self.none, count: Self.byteCountMax / Self.granule + 1) }

    deinit {
        for index in unsafe self.chunks.indices { unsafe self.chunks[index].deallocate() }
    }

    /// Returns room for `byteCount` bytes, 1 to `byteCountMax`. Its content is undefined.
    mutating func allocate(_ byteCount: Int) -> Handle {
        precondition(byteCount > 0 && byteCount <= Self.byteCountMax, "a run has 1 to 2,048 bytes")
        let granules = Self.granules(byteCount)
        let reused = self.free[granules]
        if reused != Self.none {
            // A free block has at least eight bytes. The first four name the next free block.
            self.free[granules] = unsafe self.address(of: reused).load(as: Handle.self)
            return reused
        }
        let size = granules * Self.granule
        if self.used + size > Self.chunkByteCount {
            unsafe self.chunks.append(.allocate(byteCount: Self.chunkByteCount, alignment: Self.granule))
            self.used = 0
        }
        defer { self.used += size }
        let chunk = unsafe self.chunks.count - 1
        return Handle(
            rawValue: UInt32(chunk * (Self.chunkByteCount / Self.granule) + self.used / Self.granule + 1))
    }

    /// Gives a run back. `byteCount` is the number of bytes for which it was allocated. `none` is ignored.
    mutating func release(_ handle: Handle, byteCount: Int) {
        guard handle != Self.none else { return }
        let granules = Self.granules(byteCount)
        unsafe self.address(of: handle).storeBytes(of: self.free[granules], as: Handle.self)
        self.free[granules] = handle
    }

    /// Whether runs of `byteCount` and of `other` bytes take blocks of the same size. If so, a run of one can be used
    /// for the other.
    static func fits(_ byteCount: Int, _ other: Int) -> Bool { Self.granules(byteCount) == Self.granules(other) }

    /// The bytes of a run. Valid until the run is released. `byteCount` is at most the number of bytes for which the
    /// run was allocated.
    @unsafe func bytes(of handle: Handle, byteCount: Int) -> UnsafeMutableBufferPointer<UInt8> {
        guard handle != Self.none else { return unsafe UnsafeMutableBufferPointer(start: nil, count: 0) }
        return unsafe UnsafeMutableBufferPointer(
            start: self.address(of: handle).assumingMemoryBound(to: UInt8.self), count: byteCount)
    }

    /// Prefetches the run, which will be read soon.
    @inline(__always) func prefetch(_ handle: Handle, byteCount: Int) {
        guard handle != Self.none else { return }
        unsafe Prefetch.lines(from: self.address(of: handle), byteCount: byteCount)
    }

    private func address(of handle: Handle) -> UnsafeMutableRawPointer {
        let index = Int(handle.rawValue) - 1
        let perChunk = Self.chunkByteCount / Self.granule
        return unsafe self.chunks[index / perChunk] + index % perChunk * Self.granule
    }

    private static func granules(_ byteCount: Int) -> Int { (byteCount + Self.granule - 1) / Self.granule }
}
