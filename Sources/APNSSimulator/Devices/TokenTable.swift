import DeviceModel

/// Every device token the simulator knows, found by its bytes. Tokens are only added, so open addressing needs no
/// deletion and a token's index never changes. It takes about 90 bytes per token of 32 bytes.
struct TokenTable {
    /// Longest token, bytes. Apple says to assume no length; the longest seen has 80.
    static let tokenByteCountMax = 256

    /// One token. There may be a million, so each byte counts; rare values are stored elsewhere.
    struct Entry {
        /// When the last push was accepted, milliseconds since 1970.
        fileprivate(set) var lastPushMillis: Int64 = .min
        fileprivate var hash: UInt32
        /// Where the token's bytes begin: the block, and the offset in it.
        fileprivate var address: UInt32
        /// Index into `DeviceStore.devices`.
        var device: Int32
        /// The newest start record of a push-to-start token, or the record of the start that put up an update token's
        /// card; -1 for none.
        var start: Int32 = -1
        var accepted: UInt32 = 0
        var refused: UInt32 = 0
        /// The least time between two accepted pushes, milliseconds; `UInt32.max` before the second.
        fileprivate(set) var leastDistanceMillis: UInt32 = .max
        fileprivate var byteCount: UInt16
        /// Index into `DeviceStore.topics`; -1 before the first push.
        var topic: Int16 = -1
        /// Number of requests without an answer.
        private(set) var inFlight: UInt8 = 0
        /// Highest number of requests that were unanswered at once.
        private(set) var inFlightPeak: UInt8 = 0
        fileprivate(set) var state: TokenState
        var kind = TokenKind.any
        /// Whether the token was answered as dead or unknown before.
        var wasRefusedAsDead = false

        mutating func took() {
            self.inFlight = self.inFlight == .max ? .max : self.inFlight + 1
            self.inFlightPeak = max(self.inFlightPeak, self.inFlight)
        }

        mutating func answered() { self.inFlight = self.inFlight == 0 ? 0 : self.inFlight - 1 }
    }

    /// Number of pushes that a token may get before 429, at the time `asOfMillis`.
    struct Allowance {
        var pushes: Float
        /// The time for which `pushes` was computed, milliseconds since 1970.
        var asOfMillis: Int64
    }

    /// Binary logarithm of a block's size in bytes. A token's bytes are in one block.
    private static let blockByteCountLog2: UInt32 = 20
    private static let blocksMax = 1 << (32 - 20)

    private var entries = ChunkedArray<Entry>()
    private var blocks: [[UInt8]] = []
    /// Each slot has an index into `entries` plus one, or 0 if it is free. The number of slots is a power of two, and
    /// at most three quarters are used.
    private var slots: [UInt32] = Array(repeating: 0, count: 1_024)
    /// When a token's state began, milliseconds since 1970, if known.
    private var since: [Int32: Int64] = [:]
    /// Allowances of tokens that have used a part of theirs.
    var allowances: [Int32: Allowance] = [:]

    var count: Int { self.entries.count }

    subscript(index: Int) -> Entry {
        get { self.entries[index] }
        _modify { yield &self.entries[index] }
    }

    func find(_ token: Span<UInt8>, hash: UInt64) -> Int? {
        let mask = self.slots.count - 1
        let short = UInt32(truncatingIfNeeded: hash)
        var slot = Int(short) & mask
        while self.slots[slot] != 0 {
            let index = Int(self.slots[slot]) - 1
            if self.entries[index].hash == short, self.isEqual(index, token) { return index }
            slot = (slot + 1) & mask
        }
        return nil
    }

    /// Adds a token that `find` did not find. `nil` if there is no room for its bytes.
    mutating func insert(_ token: Span<UInt8>, hash: UInt64, device: Int32, status: TokenStatus) -> Int? {
        let blockByteCount = 1 << Int(Self.blockByteCountLog2)
        if self.blocks.isEmpty || self.blocks[self.blocks.count - 1].count + token.count > blockByteCount {
            guard self.blocks.count < Self.blocksMax else { return nil }
            self.blocks.append([])
        }
        if (self.entries.count + 1) * 4 > self.slots.count * 3 { self.grow() }
        let block = self.blocks.count - 1
        let address = UInt32(block) << Self.blockByteCountLog2 | UInt32(self.blocks[block].count)
        for index in token.indices { self.blocks[block].append(token[index]) }
        self.entries.append(
            Entry(
                hash: UInt32(truncatingIfNeeded: hash), address: address, device: device,
                byteCount: UInt16(token.count), state: status.state))
        let index = self.entries.count - 1
        self.setStatus(index, status)
        self.occupy(hash: UInt32(truncatingIfNeeded: hash), index: index)
        return index
    }

    /// The token's bytes.
    func token(_ index: Int) -> ArraySlice<UInt8> {
        let entry = self.entries[index]
        let (block, position) = Self.split(entry.address)
        return self.blocks[block][position..<position + Int(entry.byteCount)]
    }

    func status(_ index: Int) -> TokenStatus {
        TokenStatus(state: self.entries[index].state, sinceMillis: self.since[Int32(index)] ?? 0)
    }

    mutating func setStatus(_ index: Int, _ status: TokenStatus) {
        self.entries[index].state = status.state
        // The time is not needed for a valid token.
        let isDated = status.state != .alive && status.sinceMillis != 0
        if isDated { self.since[Int32(index)] = status.sinceMillis } else { self.since[Int32(index)] = nil }
    }

    /// Remembers the time of an accepted push. Returns the time since the previous one, milliseconds; `nil` for the
    /// first.
    @discardableResult
    mutating func pushed(_ index: Int, nowMillis: Int64) -> Int64? {
        let last = self.entries[index].lastPushMillis
        self.entries[index].lastPushMillis = nowMillis
        guard last != .min else { return nil }
        let least = self.entries[index].leastDistanceMillis
        // A clock that steps back gives a distance of zero.
        self.entries[index].leastDistanceMillis = min(least, UInt32(clamping: max(0, nowMillis - last)))
        return nowMillis - last
    }

    /// A hash that multiplies 8 bytes at a time. It is good enough for tokens, which are random.
    static func hash(_ token: Span<UInt8>) -> UInt64 {
        var hash: UInt64 = 0x9E37_79B9_7F4A_7C15 ^ UInt64(token.count)
        var word: UInt64 = 0
        for index in token.indices {
            word = word << 8 | UInt64(token[index])
            if index & 7 == 7 || index == token.count - 1 {
                hash = (hash ^ word) &* 0xBF58_476D_1CE4_E5B9
                hash ^= hash >> 29
                word = 0
            }
        }
        return hash
    }

    private func isEqual(_ index: Int, _ token: Span<UInt8>) -> Bool {
        let entry = self.entries[index]
        guard Int(entry.byteCount) == token.count else { return false }
        let (block, position) = Self.split(entry.address)
        return token.equals(self.blocks[block][position..<position + token.count])
    }

    private static func split(_ address: UInt32) -> (block: Int, position: Int) {
        (Int(address >> Self.blockByteCountLog2), Int(address & (1 << Self.blockByteCountLog2 - 1)))
    }

    private mutating func occupy(hash: UInt32, index: Int) {
        let mask = self.slots.count - 1
        var slot = Int(hash) & mask
        while self.slots[slot] != 0 { slot = (slot + 1) & mask }
        self.slots[slot] = UInt32(index + 1)
    }

    private mutating func grow() {
        self.slots = Array(repeating: 0, count: self.slots.count * 2)
        for index in 0..<self.entries.count { self.occupy(hash: self.entries[index].hash, index: index) }
    }
}

/// The kind of a token, as far as that is certain.
public enum TokenKind: UInt8, Sendable, CaseIterable {
    /// Not known: the token accepts every push.
    case any
    /// The token of one Live Activity, for `update` and `end`.
    case update
    /// The token of a phone and one type of activity, for `start`.
    case start
}
