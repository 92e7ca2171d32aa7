import DeviceModel

/// Every device token the simulator knows, found by its bytes. Tokens are only added, so open addressing needs no deletion and a token's
/// place never changes. About 90 bytes per token of 32 bytes.
struct TokenTable {
    /// Longest token, bytes. Apple says to assume no length; the longest seen has 80.
    static let tokenByteCountMax = 256

    struct Entry {
        var hash: UInt64
        fileprivate var start: Int
        fileprivate var byteCount: Int32
        /// Index into `DeviceStore.topics`; -1: none yet.
        var topic: Int32 = -1
        /// Index into `DeviceStore.devices`.
        var device: Int32
        var accepted: UInt32 = 0
        var refused: UInt32 = 0
        /// It was answered as dead or unknown before.
        var wasRefusedAsDead = false
        var standing: TokenStanding
        /// When the last push was accepted, milliseconds since 1970.
        var lastPushMillis: Int64 = .min
        /// Pushes left before 429, as of `allowanceMillis`.
        var allowance: Float = 0
        var allowanceMillis: Int64 = .min
    }

    private(set) var entries: [Entry] = []
    private var bytes: [UInt8] = []
    /// Index into `entries` plus one; 0: free. A power of two, at most three quarters full.
    private var slots: [UInt32] = Array(repeating: 0, count: 1_024)

    var count: Int { self.entries.count }

    subscript(index: Int) -> Entry {
        get { self.entries[index] }
        _modify { yield &self.entries[index] }
    }

    func find(_ token: Span<UInt8>, hash: UInt64) -> Int? {
        let mask = self.slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while self.slots[slot] != 0 {
            let index = Int(self.slots[slot]) - 1
            if self.entries[index].hash == hash, self.isEqual(index, token) { return index }
            slot = (slot + 1) & mask
        }
        return nil
    }

    /// Adds a token that `find` did not find.
    mutating func insert(_ token: Span<UInt8>, hash: UInt64, device: Int32, standing: TokenStanding) -> Int {
        if (self.entries.count + 1) * 4 > self.slots.count * 3 { self.grow() }
        let start = self.bytes.count
        for index in token.indices { self.bytes.append(token[index]) }
        self.entries.append(
            Entry(hash: hash, start: start, byteCount: Int32(token.count), device: device, standing: standing))
        self.occupy(hash: hash, index: self.entries.count - 1)
        return self.entries.count - 1
    }

    /// The token's bytes.
    func token(_ index: Int) -> ArraySlice<UInt8> {
        self.bytes[self.entries[index].start..<self.entries[index].start + Int(self.entries[index].byteCount)]
    }

    /// Multiplies in 8 bytes at a time; good enough for tokens, which are random.
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
        for offset in token.indices where self.bytes[entry.start + offset] != token[offset] { return false }
        return true
    }

    private mutating func occupy(hash: UInt64, index: Int) {
        let mask = self.slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while self.slots[slot] != 0 { slot = (slot + 1) & mask }
        self.slots[slot] = UInt32(index + 1)
    }

    private mutating func grow() {
        self.slots = Array(repeating: 0, count: self.slots.count * 2)
        for index in self.entries.indices { self.occupy(hash: self.entries[index].hash, index: index) }
    }
}
