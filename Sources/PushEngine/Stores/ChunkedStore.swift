/// Elements by identifier, in chunks that never move. Adding an element never copies the others. With a million
/// activities in one array, such a copy would stop the loop for a tenth of a second. Writes do not check for a shared
/// copy either, as an array would do several times per push.
///
/// The store only grows. Its user keeps a list of free numbers beside it.
@safe struct ChunkedStore<ID: Identifier, Element: ~Copyable>: ~Copyable {
    private static var chunkBits: Int { 10 }
    private static var chunkCount: Int { 1 << Self.chunkBits }

    /// The chunks, of `chunkCount` elements each. The first `count` elements are initialised.
    private var chunks: UnsafeMutablePointer<UnsafeMutablePointer<Element>>
    private var chunkCapacity = 16
    private(set) var count = 0

    init() { unsafe self.chunks = .allocate(capacity: 16) }

    deinit {
        var left = self.count
        var chunk = 0
        while left > 0 {
            let here = min(left, Self.chunkCount)
            unsafe self.chunks[chunk].deinitialize(count: here)
            unsafe self.chunks[chunk].deallocate()
            left -= here
            chunk += 1
        }
        unsafe self.chunks.deallocate()
    }

    /// The identifiers of all elements, in order.
    var identifiers: IdentifierSequence<ID> { IdentifierSequence(count: self.count) }

    func contains(_ id: ID) -> Bool { id.isSome && id.index < self.count }

    /// Appends an element.
    /// - Returns: the new element's identifier.
    @discardableResult mutating func append(_ element: consuming Element) -> ID {
        let chunk = self.count >> Self.chunkBits
        if self.count & (Self.chunkCount - 1) == 0 {
            if chunk == self.chunkCapacity { self.growDirectory() }
            // The directory has room for the chunk, and nothing is stored there yet.
            unsafe (self.chunks + chunk).initialize(to: .allocate(capacity: Self.chunkCount))
        }
        // The address is in a chunk, and nothing is stored there yet.
        unsafe (self.chunks[chunk] + (self.count & (Self.chunkCount - 1))).initialize(to: element)
        self.count += 1
        return ID(index: self.count - 1)
    }

    subscript(_ id: ID) -> Element {
        unsafeAddress { unsafe self.address(of: id) }
        unsafeMutableAddress { unsafe self.mutableAddress(of: id) }
    }

    /// Prefetches the element's first `byteCount` bytes, or all of it, which will be read soon.
    @inline(__always) func prefetch(_ id: ID, byteCount: Int = MemoryLayout<Element>.size) {
        unsafe Prefetch.lines(from: self.address(of: id), byteCount: byteCount)
    }

    /// Calls `body` with the element's address.
    @inline(__always) @unsafe func withAddress<Result>(of id: ID, _ body: (UnsafeRawPointer) -> Result) -> Result {
        unsafe body(UnsafeRawPointer(self.address(of: id)))
    }

    /// The element's address. It is valid while the store exists.
    @unsafe func address(of id: ID) -> UnsafePointer<Element> { unsafe UnsafePointer(self.mutableAddress(of: id)) }

    /// The element's address, for changes. It is valid while the store exists.
    @unsafe func mutableAddress(of id: ID) -> UnsafeMutablePointer<Element> {
        let index = id.index
        precondition(UInt(bitPattern: index) < UInt(bitPattern: self.count), "no such element")
        // Every element below `count` is initialised.
        return unsafe self.chunks[index >> Self.chunkBits] + (index & (Self.chunkCount - 1))
    }

    private mutating func growDirectory() {
        let larger = UnsafeMutablePointer<UnsafeMutablePointer<Element>>.allocate(
            capacity: 2 * self.chunkCapacity)
        unsafe larger.moveInitialize(from: self.chunks, count: self.chunkCapacity)
        unsafe self.chunks.deallocate()
        unsafe self.chunks = larger
        self.chunkCapacity *= 2
    }
}

extension ChunkedStore where Element: Copyable {
    /// Creates a store of `count` copies.
    init(repeating element: Element, count: Int) {
        self.init()
        for _ in 0..<count { self.append(element) }
    }
}
