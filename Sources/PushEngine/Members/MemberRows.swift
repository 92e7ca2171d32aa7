import PushModel

/// Names an element of `MemberRows`.
struct RowID: Identifier { let rawValue: Int32 }

/// What a row describes.
enum RowKind: UInt8 {
    case updateMember
    /// A start token in one ring.
    case startMember
    /// What the memberships of one start token share.
    case startToken
}

/// A value of a row, named by its offset.
struct RowField<Value: BitwiseCopyable> {
    let offset: Int
    init(at offset: Int) { self.offset = offset }
}

/// Rows of members and of start tokens. The raw token is at the end of the row that stores it, often in the same cache
/// line as the row's other fields.
///
/// | from byte | update member | start member | start token |
/// |---|---|---|---|
/// | 0 | ring and flags | the same | its first membership |
/// | 4 | joined | the same | number of memberships, and of linked ones |
/// | 8 | the token | the start token's row | the token |
/// | 12 | | the token's next membership | |
///
/// Rows of one kind and one token length share chunks, so no row stores its kind or length. Chunks never move. A
/// released row is used again for the same kind and length. The store only grows, up to `2^idBits` rows. It holds fewer
/// rows if many are long, or if chunks of rare kinds and lengths are mostly empty.
@safe struct MemberRows: ~Copyable {
    @safe private struct Chunk {
        let rows: UnsafeMutableRawPointer
        let stride: UInt16
        let tokenByteCount: UInt16
        let kind: RowKind
        let tokenOffset: UInt8
        /// Index of the chunk's class in `classes`.
        let classNumber: UInt16
    }

    /// The rows of one kind and token length.
    private struct Class {
        let kind: RowKind
        let tokenByteCount: Int
        /// The row that was given back last. Its `nextFree` names the row that was given back before.
        var free = RowID.none
        /// Rows of the class's newest chunk that were never used.
        var fresh = 0..<0
    }

    /// Number of bits of a row's number. The rest of a 32-bit word is free for other things.
    static var idBits: Int { 24 }
    private static var rowBits: Int { 9 }
    static var chunksMax: Int { 1 << (Self.idBits - Self.rowBits) }
    private static var chunkByteCountMax: Int { 1 << 16 }

    private var chunks: UnsafeMutablePointer<Chunk>
    private var chunkCount = 0
    private var chunkCapacity = 16
    private var classes: [Class] = []
    /// Indices into `classes`, sorted by kind and length.
    private var sortedClasses: [UInt16] = []
    private var chunkByteCount = 0

    private let chunksMax: Int

    /// Creates a store without rows.
    /// - Parameter chunksMax: maximum number of chunks. Tests use fewer than `Self.chunksMax`.
    init(chunksMax: Int = Self.chunksMax) {
        unsafe self.chunks = .allocate(capacity: 16)
        self.chunksMax = chunksMax
    }

    deinit {
        for chunk in 0..<self.chunkCount { unsafe self.chunks[chunk].rows.deallocate() }
        unsafe self.chunks.deallocate()
    }

    var allocatedByteCount: Int { self.chunkByteCount + self.chunkCapacity * MemoryLayout<Chunk>.stride }

    // MARK: Rows

    /// Returns a new row for a token of this length; 0: a row without a token. The row's fields have no defined values
    /// yet. `none`: all rows are in use.
    mutating func allocate(_ kind: RowKind, tokenByteCount: Int) -> RowID {
        let number = self.classNumber(kind, tokenByteCount: tokenByteCount)
        let free = self.classes[number].free
        if free.isSome {
            self.classes[number].free = self[free, .nextFree]
            return free
        }
        if self.classes[number].fresh.isEmpty {
            guard self.chunkCount < self.chunksMax else { return .none }
            self.appendChunk(classNumber: number)
        }
        return RowID(index: self.classes[number].fresh.removeFirst())
    }

    /// Whether `allocate` would find a row.
    func hasRoom(for kind: RowKind, tokenByteCount: Int) -> Bool {
        self.chunkCount < self.chunksMax
            || self.classes.contains {
                $0.kind == kind && $0.tokenByteCount == tokenByteCount && ($0.free.isSome || !$0.fresh.isEmpty)
            }
    }

    /// Gives a row back.
    mutating func release(_ row: RowID) {
        let number = Int(unsafe self.chunk(of: row).classNumber)
        self[row, .nextFree] = self.classes[number].free
        self.classes[number].free = row
    }

    @inline(__always) func kind(of row: RowID) -> RowKind { unsafe self.chunk(of: row).kind }

    subscript<Value>(_ row: RowID, _ field: RowField<Value>) -> Value {
        // The field's bytes are within the row: a row is asked only for fields of its kind.
        @inline(__always) get { unsafe self.address(of: row).load(fromByteOffset: field.offset, as: Value.self) }
        @inline(__always) set {
            unsafe self.address(of: row).storeBytes(of: newValue, toByteOffset: field.offset, as: Value.self)
        }
    }

    /// The token stored in the row itself. Empty for a start member.
    @inline(__always) @unsafe func ownToken(_ row: RowID) -> UnsafeMutableRawBufferPointer {
        let chunk = unsafe self.chunk(of: row)
        return unsafe UnsafeMutableRawBufferPointer(
            start: self.address(of: row) + Int(chunk.tokenOffset), count: Int(chunk.tokenByteCount))
    }

    /// The token of a row of any kind. Valid until the row that stores the token is released.
    @inline(__always) @unsafe func token(_ row: RowID) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(self.ownToken(self.rowOfToken(row)))
    }

    /// The row in which the token is stored: this row; for a start member, the row of its start token.
    @inline(__always) func rowOfToken(_ row: RowID) -> RowID {
        self.kind(of: row) == .startMember ? self[row, .startToken] : row
    }

    @inline(__always) func holds(_ row: RowID, _ token: Span<UInt8>) -> Bool {
        guard unsafe Int(self.chunk(of: row).tokenByteCount) == token.count else { return false }
        // The row is in use, so its bytes are valid.
        let bytes = unsafe self.ownToken(row).assumingMemoryBound(to: UInt8.self)
        return unsafe Span(_unsafeElements: UnsafeBufferPointer(bytes)).holdsSameBytes(as: token)
    }

    /// Prefetches the row and its token, which will be read soon.
    @inline(__always) func prefetch(_ row: RowID) {
        unsafe Prefetch.lines(from: self.address(of: row), byteCount: Int(self.chunk(of: row).stride))
    }

    // MARK: Chunks

    @inline(__always) @unsafe private func chunk(of row: RowID) -> Chunk {
        let number = row.index >> Self.rowBits
        precondition(UInt(bitPattern: number) < UInt(bitPattern: self.chunkCount), "no such row")
        return unsafe self.chunks[number]
    }

    @inline(__always) @unsafe private func address(of row: RowID) -> UnsafeMutableRawPointer {
        let chunk = unsafe self.chunk(of: row)
        return unsafe chunk.rows + (row.index & (1 << Self.rowBits - 1)) &* Int(chunk.stride)
    }

    private static func tokenOffset(of kind: RowKind) -> Int {
        switch kind {
        case .updateMember, .startToken: 8
        case .startMember: 16
        }
    }

    private mutating func appendChunk(classNumber: Int) {
        let kind = self.classes[classNumber].kind
        let tokenByteCount = self.classes[classNumber].tokenByteCount
        // Each row begins at a multiple of four bytes, because the largest fields take four bytes.
        let stride = (Self.tokenOffset(of: kind) + tokenByteCount + 3) & ~3
        let rowCount = min(1 << Self.rowBits, Self.chunkByteCountMax / stride)
        if self.chunkCount == self.chunkCapacity { self.growDirectory() }
        // The directory has room for the chunk, and nothing is stored at that index yet.
        unsafe (self.chunks + self.chunkCount).initialize(
            to: Chunk(
                rows: .allocate(byteCount: rowCount * stride, alignment: 8), stride: UInt16(stride),
                tokenByteCount: UInt16(tokenByteCount), kind: kind, tokenOffset: UInt8(Self.tokenOffset(of: kind)),
                classNumber: UInt16(classNumber)))
        self.classes[classNumber].fresh = self.chunkCount << Self.rowBits..<self.chunkCount << Self.rowBits + rowCount
        self.chunkCount += 1
        self.chunkByteCount += rowCount * stride
    }

    private mutating func growDirectory() {
        let larger = UnsafeMutablePointer<Chunk>.allocate(capacity: 2 * self.chunkCapacity)
        unsafe larger.moveInitialize(from: self.chunks, count: self.chunkCount)
        unsafe self.chunks.deallocate()
        unsafe self.chunks = larger
        self.chunkCapacity *= 2
    }

    /// The class of rows of this kind and token length. Real tokens have few different lengths, but publishers may send
    /// any length.
    private mutating func classNumber(_ kind: RowKind, tokenByteCount: Int) -> Int {
        func order(_ kind: RowKind, _ tokenByteCount: Int) -> Int { Int(kind.rawValue) << 16 | tokenByteCount }
        let wanted = order(kind, tokenByteCount)
        var range = 0..<self.sortedClasses.count
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            let number = Int(self.sortedClasses[middle])
            let found = order(self.classes[number].kind, self.classes[number].tokenByteCount)
            if found == wanted { return number }
            range = found < wanted ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        self.classes.append(Class(kind: kind, tokenByteCount: tokenByteCount))
        self.sortedClasses.insert(UInt16(self.classes.count - 1), at: range.lowerBound)
        return self.classes.count - 1
    }
}

extension RowField where Value == RowID {
    static var firstMembership: Self { Self(at: 0) }
    static var startToken: Self { Self(at: 8) }
    static var nextMembership: Self { Self(at: 12) }
    fileprivate static var nextFree: Self { Self(at: 0) }
}

extension RowField where Value == UInt32 {
    /// The ring's number and, in the lower bits, the flags.
    static var ringAndFlags: Self { Self(at: 0) }
    static var joinedSeconds: Self { Self(at: 4) }
}

extension RowField where Value == UInt16 {
    /// Number of members that name this start token, linked or not.
    static var membershipCount: Self { Self(at: 4) }
    /// Number of linked members that name this start token. They are in rings.
    static var linkedMembershipCount: Self { Self(at: 6) }
}
