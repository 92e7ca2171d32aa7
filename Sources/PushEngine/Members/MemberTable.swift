/// The tokens of one partition's audience members, found by token and walked ring by ring in an order that neither restarts nor growth
/// change.
///
/// A member is a row of `MemberRows`, an entry in a bucket of the index, and one in a bucket of its ring. Measured resident, with a million
/// update members of one ring: 20.7 bytes each beside the raw token; in 64 tables 21.7; in 50,000 rings of 20 members 23.9. It is the same
/// with tokens of 32 bytes and of 80. A start member takes 22, and its token, stored once for all its rings, 15 beside its bytes.
///
/// Nothing that is done to one member takes longer when there are a million. Only tokens that were prepared for one place in a ring, which
/// takes 2^n attempts each for n bits of a position, make the walk through their own bucket longer.
@safe struct MemberTable: ~Copyable {
    /// A ring: its members by position.
    struct Ring {
        var kind: MemberKind
        var members = RowBuckets()
    }

    /// The longest token; the shortest has one byte.
    static var tokenByteCountMax: Int { 1_024 }
    /// Rings that a start token can be in.
    static var ringsOfStartTokenMax: Int { 64 }
    /// Rings at a time.
    static var ringsMax: Int { 1 << Self.ringBits - 1 }

    private static var ringBits: Int { UInt32.bitWidth - MemberFlags.bitCount }

    // The extensions of this type, and nobody else, look at these.
    var rows: MemberRows
    /// Of the index and all rings.
    var blocks = RowBlocks()
    var rings = ChunkedStore<RingID, Ring>()
    private var freeRings: [RingID] = []
    /// Update members and start tokens.
    var index = RowBuckets()
    let indexing: RowSpreading

    /// Members in rings, of both kinds.
    var count = 0
    /// Start tokens that are stored.
    var startTokenCount = 0

    /// - Parameter seed: of the index; random and secret, so that nobody can prepare colliding tokens. The order of rings is not its matter.
    /// - Parameter chunksMax: of its rows, fewer for tests.
    init(seed: UInt64, chunksMax: Int = MemberRows.chunksMax) {
        self.rows = MemberRows(chunksMax: chunksMax)
        self.indexing = .index(TokenHash(seed: seed))
    }

    deinit {
        self.index.deallocate()
        for ring in self.rings.identifiers { self.rings[ring].members.deallocate() }
    }

    /// What rows, index and rings have taken of the memory.
    var allocatedByteCount: Int {
        var sum = self.rows.allocatedByteCount + self.blocks.allocatedByteCount + self.index.allocatedByteCount
        for ring in self.rings.identifiers {
            sum += MemoryLayout<Ring>.stride + self.rings[ring].members.allocatedByteCount
        }
        return sum
    }

    // MARK: Rings

    /// A new ring, empty; `none`: there are `ringsMax`.
    mutating func makeRing(of kind: MemberKind) -> RingID {
        if let ring = self.freeRings.popLast() {
            self.rings[ring].kind = kind
            return ring
        }
        guard self.rings.count < Self.ringsMax else { return .none }
        return self.rings.append(Ring(kind: kind))
    }

    /// Whether `makeRing` would find one.
    var hasRoomForRing: Bool { !self.freeRings.isEmpty || self.rings.count < Self.ringsMax }

    /// The ring is empty. Its number is used again.
    mutating func removeRing(_ ring: RingID) {
        precondition(self.rings[ring].members.count == 0, "ring \(ring) has members")
        // Heads of buckets may be left of those it had.
        self.rings[ring].members.deallocate()
        self.rings[ring].members = RowBuckets()
        self.freeRings.append(ring)
    }

    func count(of ring: RingID) -> Int { Int(self.rings[ring].members.count) }

    func kind(of ring: RingID) -> MemberKind { self.rings[ring].kind }

    /// Buckets of the index and of a ring, for tests.
    var indexBucketCount: Int { self.index.headCount }
    func bucketCount(of ring: RingID) -> Int { self.rings[ring].members.headCount }

    // MARK: What is known of a member

    func kind(of member: MemberID) -> MemberKind {
        self.rows.kind(of: member.row) == .startMember ? .start : .update
    }

    /// The ring it is in; `none`: it was unlinked.
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

    /// Where it stands in its ring. Reckoned from its token.
    func position(of member: MemberID) -> UInt64 {
        // The row lives, so its token does.
        unsafe RingPosition.of(self.rows.token(member.row))
    }

    /// Its raw token.
    @_lifetime(borrow self)
    func token(of member: MemberID) -> Span<UInt8> {
        // The row stays where it is and has its token as long as nobody changes the table.
        let span = unsafe Span(_unsafeElements: self.tokenBytes(member))
        return unsafe _overrideLifetime(span, borrowing: self)
    }

    /// The same. Valid until the member is freed.
    @inline(__always) @unsafe func tokenBytes(_ member: MemberID) -> UnsafeBufferPointer<UInt8> {
        unsafe self.rows.token(member.row).assumingMemoryBound(to: UInt8.self)
    }

    /// The member will be looked at soon; of an update member, that is the token, too.
    @inline(__always) func prefetch(_ member: MemberID) { self.rows.prefetch(member.row) }

    /// Its token will be looked at soon. Looks at a start member, whose token lies elsewhere.
    @inline(__always) func prefetchToken(_ member: MemberID) { self.rows.prefetch(self.rows.rowOfToken(member.row)) }
}

extension MemberID {
    @inline(__always) init(_ row: RowID) { self.init(rawValue: row.rawValue) }

    @inline(__always) var row: RowID { RowID(rawValue: self.rawValue) }
}
