/// The tokens of one partition's audience members. They are found by token, and walked ring by ring in an order that
/// neither restarts nor growth change.
///
/// An update member is a row of `MemberRows`, an entry in a bucket of the index, and an entry in a bucket of its ring.
/// For a start member, the index has the row of its token. Measured resident memory of an update member without its raw
/// token: 20.7 bytes with a million in one ring; 21.7 in 64 tables; 23.9 in 50,000 rings of 20 members. Tokens of 32
/// and of 80 bytes give the same figures. A start member takes 22 bytes. Its token is stored once for all its rings,
/// and takes 15 bytes more than its own length.
///
/// An operation on one member takes no more steps in a table of a million members than in a small one. A stranger can
/// slow a ring only with tokens that are prepared for one position. Preparing one takes about 2^n attempts for n bits
/// of the position, and only that position's bucket becomes slower.
@safe struct MemberTable: ~Copyable {
    /// A ring: its members in the order of their positions.
    struct Ring {
        var kind: MemberKind
        var members = RowBuckets()
    }

    /// Length of the longest token in bytes. The shortest has one byte.
    static var tokenByteCountMax: Int { 1_024 }
    /// Maximum number of rings that a start token can be in.
    static var ringsOfStartTokenMax: Int { 64 }
    /// Maximum number of rings that exist at a time.
    static var ringsMax: Int { 1 << Self.ringBits - 1 }

    private static var ringBits: Int { UInt32.bitWidth - MemberFlags.bitCount }

    // Only the extensions of this type look at the following properties.
    var rows: MemberRows
    /// Blocks of the index and of all rings.
    var blocks = RowBlocks()
    var rings = ChunkedStore<RingID, Ring>()
    private var freeRings: [RingID] = []
    /// The index of update members and start tokens.
    var index = RowBuckets()
    let indexing: RowSpreading

    /// Number of members in rings, of both kinds.
    var count = 0
    /// Number of start tokens that are stored.
    var startTokenCount = 0

    /// Creates an empty table.
    /// - Parameter seed: key of the index; random and secret, so that nobody can prepare colliding tokens. The order of
    ///   members in a ring does not depend on the seed.
    /// - Parameter chunksMax: maximum number of chunks of the table's rows; fewer in tests.
    init(seed: UInt64, chunksMax: Int = MemberRows.chunksMax) {
        self.rows = MemberRows(chunksMax: chunksMax)
        self.indexing = .index(TokenHash(seed: seed))
    }

    deinit {
        self.index.deallocate()
        for ring in self.rings.identifiers { self.rings[ring].members.deallocate() }
    }

    /// Bytes of memory that rows, index and rings have taken.
    var allocatedByteCount: Int {
        var sum = self.rows.allocatedByteCount + self.blocks.allocatedByteCount + self.index.allocatedByteCount
        for ring in self.rings.identifiers {
            sum += MemoryLayout<Ring>.stride + self.rings[ring].members.allocatedByteCount
        }
        return sum
    }

    // MARK: Rings

    /// Returns a new empty ring. `none`: there are `ringsMax` already.
    mutating func makeRing(of kind: MemberKind) -> RingID {
        if let ring = self.freeRings.popLast() {
            self.rings[ring].kind = kind
            return ring
        }
        guard self.rings.count < Self.ringsMax else { return .none }
        return self.rings.append(Ring(kind: kind))
    }

    /// Whether `makeRing` would find a number.
    var hasRoomForRing: Bool { !self.freeRings.isEmpty || self.rings.count < Self.ringsMax }

    /// Removes an empty ring. Its number is used again.
    mutating func removeRing(_ ring: RingID) {
        precondition(self.rings[ring].members.count == 0, "ring \(ring) has members")
        // An empty ring may still have buckets from the members that it had.
        self.rings[ring].members.deallocate()
        self.rings[ring].members = RowBuckets()
        self.freeRings.append(ring)
    }

    func count(of ring: RingID) -> Int { Int(self.rings[ring].members.count) }

    func kind(of ring: RingID) -> MemberKind { self.rings[ring].kind }

    /// Number of buckets of the index, for tests.
    var indexBucketCount: Int { self.index.headCount }
    /// Number of buckets of a ring, for tests.
    func bucketCount(of ring: RingID) -> Int { self.rings[ring].members.headCount }

    // MARK: What is known of a member

    func kind(of member: MemberID) -> MemberKind {
        self.rows.kind(of: member.row) == .startMember ? .start : .update
    }

    /// The member's ring; `none`: the member was unlinked.
    @inline(__always) func ring(of member: MemberID) -> RingID {
        let number = self.rows[member.row, .ringAndFlags] >> UInt32(MemberFlags.bitCount)
        return number == Self.ringsMax ? .none : RingID(rawValue: Int32(number))
    }

    @inline(__always) func flags(of member: MemberID) -> MemberFlags {
        MemberFlags(rawValue: UInt16(truncatingIfNeeded: self.rows[member.row, .ringAndFlags]))
    }

    @inline(__always) mutating func setFlags(_ flags: MemberFlags, of member: MemberID) {
        self.setRingAndFlags(self.ring(of: member), flags, of: member)
    }

    @inline(__always) mutating func setRingAndFlags(_ ring: RingID, _ flags: MemberFlags, of member: MemberID) {
        let number = ring.isNone ? UInt32(Self.ringsMax) : UInt32(ring.rawValue)
        self.rows[member.row, .ringAndFlags] = number << UInt32(MemberFlags.bitCount) | UInt32(flags.rawValue)
    }

    func joinedSeconds(of member: MemberID) -> UInt32 { self.rows[member.row, .joinedSeconds] }

    mutating func setJoinedSeconds(_ seconds: UInt32, of member: MemberID) {
        self.rows[member.row, .joinedSeconds] = seconds
    }

    /// The member's position in its ring, computed from its token.
    func position(of member: MemberID) -> UInt64 {
        // The row is in use, so its token is valid.
        unsafe RingPosition.of(self.rows.token(member.row))
    }

    /// The member's raw token.
    @_lifetime(borrow self)
    func token(of member: MemberID) -> Span<UInt8> {
        // The row does not move, and keeps its token, while the table does not change.
        let span = unsafe Span(_unsafeElements: self.tokenBytes(member))
        return unsafe _overrideLifetime(span, borrowing: self)
    }

    /// The member's raw token. Valid until the member is freed.
    @inline(__always) @unsafe func tokenBytes(_ member: MemberID) -> UnsafeBufferPointer<UInt8> {
        unsafe self.rows.token(member.row).assumingMemoryBound(to: UInt8.self)
    }

    /// Prefetches the member, which will be read soon. For an update member that includes the token.
    @inline(__always) func prefetch(_ member: MemberID) { self.rows.prefetch(member.row) }

    /// Prefetches the member's token. For a start member this reads the row, because the token is stored elsewhere.
    @inline(__always) func prefetchToken(_ member: MemberID) { self.rows.prefetch(self.rows.rowOfToken(member.row)) }
}

extension MemberID {
    @inline(__always) init(_ row: RowID) { self.init(rawValue: row.rawValue) }

    @inline(__always) var row: RowID { RowID(rawValue: self.rawValue) }
}
