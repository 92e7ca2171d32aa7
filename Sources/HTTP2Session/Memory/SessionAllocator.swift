import CNGHTTP2
import Glibc

/// The memory allocator of one nghttp2 session. It keeps freed blocks by size and reuses them. nghttp2 allocates and
/// frees about five small blocks per request, for up to a thousand streams. That is more than malloc's cache per thread
/// holds. The allocator is confined to the session's thread.
///
/// The 16 bytes before a block hold its size class. No more blocks are kept than were once in use at the same time.
struct SessionAllocator {
    /// Difference between two size classes, bytes. Blocks up to 1 KiB are kept, and larger ones are returned to malloc.
    static let classByteCount = 64
    static let classCount = 17
    private static let headerByteCount = 16

    private var free: UnsafeMutablePointer<UnsafeMutableRawPointer?>

    static func make() -> UnsafeMutablePointer<SessionAllocator> {
        let allocator = UnsafeMutablePointer<SessionAllocator>.allocate(capacity: 1)
        let lists = UnsafeMutablePointer<UnsafeMutableRawPointer?>.allocate(capacity: Self.classCount)
        lists.initialize(repeating: nil, count: Self.classCount)
        allocator.initialize(to: SessionAllocator(free: lists))
        return allocator
    }

    /// Frees the allocator and its blocks. Call it after `nghttp2_session_del`, when all blocks have been returned.
    static func destroy(_ allocator: UnsafeMutablePointer<SessionAllocator>) {
        for index in 0..<Self.classCount {
            var next = allocator.pointee.free[index]
            while let block = next {
                next = block.load(as: UnsafeMutableRawPointer?.self)
                Glibc.free(block)
            }
        }
        allocator.pointee.free.deallocate()
        allocator.deallocate()
    }

    @inline(__always)
    private func allocate(_ byteCount: Int) -> UnsafeMutableRawPointer? {
        let index = (byteCount + Self.classByteCount - 1) / Self.classByteCount
        if index < Self.classCount, let block = self.free[index] {
            self.free[index] = block.load(as: UnsafeMutableRawPointer?.self)
            block.storeBytes(of: index, as: Int.self)
            return block + Self.headerByteCount
        }
        let room = index < Self.classCount ? index * Self.classByteCount : byteCount
        guard let block = malloc(room + Self.headerByteCount) else { return nil }
        block.storeBytes(of: index, as: Int.self)
        (block + 8).storeBytes(of: byteCount, as: Int.self)
        return block + Self.headerByteCount
    }

    @inline(__always)
    private func release(_ pointer: UnsafeMutableRawPointer) {
        let block = pointer - Self.headerByteCount
        let index = block.load(as: Int.self)
        guard index < Self.classCount else { return Glibc.free(block) }
        block.storeBytes(of: self.free[index], as: UnsafeMutableRawPointer?.self)
        self.free[index] = block
    }

    private func room(of pointer: UnsafeMutableRawPointer) -> Int {
        let block = pointer - Self.headerByteCount
        let index = block.load(as: Int.self)
        return index < Self.classCount ? index * Self.classByteCount : (block + 8).load(as: Int.self)
    }

    /// The functions by which nghttp2 uses the allocator. nghttp2 copies the struct. The allocator must exist longer
    /// than the session.
    static func functions(_ allocator: UnsafeMutablePointer<SessionAllocator>) -> nghttp2_mem {
        nghttp2_mem(
            mem_user_data: allocator,
            malloc: { byteCount, context in
                context!.assumingMemoryBound(to: SessionAllocator.self).pointee.allocate(byteCount)
            },
            free: { pointer, context in
                guard let pointer else { return }
                context!.assumingMemoryBound(to: SessionAllocator.self).pointee.release(pointer)
            },
            calloc: { count, size, context in
                let (byteCount, overflow) = count.multipliedReportingOverflow(by: size)
                guard !overflow else { return nil }
                let pointer = context!.assumingMemoryBound(to: SessionAllocator.self).pointee.allocate(byteCount)
                if let pointer { memset(pointer, 0, byteCount) }
                return pointer
            },
            realloc: { pointer, byteCount, context in
                let allocator = context!.assumingMemoryBound(to: SessionAllocator.self)
                guard let pointer else { return allocator.pointee.allocate(byteCount) }
                let room = allocator.pointee.room(of: pointer)
                guard byteCount > room else { return pointer }
                guard let moved = allocator.pointee.allocate(byteCount) else { return nil }
                memcpy(moved, pointer, room)
                allocator.pointee.release(pointer)
                return moved
            })
    }
}
