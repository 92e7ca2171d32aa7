import PushModel

/// A slot's bytes: the activity id, and behind it the raw token.
extension ShardEngine {
    /// Valid until the slot's token changes or the slot is removed.
    @unsafe func identityBytes(_ slot: SlotID) -> UnsafeMutableBufferPointer<UInt8> {
        unsafe self.identities.bytes(
            of: self.slots[slot].identity, byteCount: self.slots[slot].identityByteCount)
    }

    /// The same of the id alone.
    @unsafe func idBytes(_ slot: SlotID) -> UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(
            self.identities.bytes(
                of: self.slots[slot].identity, byteCount: Int(self.slots[slot].idByteCount)))
    }

    /// The same of the token alone; empty without one.
    @unsafe func tokenBytes(_ slot: SlotID) -> UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(
            rebasing: self.identityBytes(slot).dropFirst(Int(self.slots[slot].idByteCount)))
    }

    func idEquals(_ id: Span<UInt8>, slot: SlotID) -> Bool {
        // The slot lives, so its bytes do.
        let bytes = unsafe self.idBytes(slot)
        return unsafe Span(_unsafeElements: bytes).holdsSameBytes(as: id)
    }

    func tokenEquals(_ token: Span<UInt8>, slot: SlotID) -> Bool {
        let bytes = unsafe self.tokenBytes(slot)
        return unsafe Span(_unsafeElements: bytes).holdsSameBytes(as: token)
    }

    /// A new slot's id.
    mutating func setID(_ id: Span<UInt8>, slot: SlotID) {
        self.slots[slot].identity = self.identities.allocate(max(1, id.count))
        self.slots[slot].idByteCount = UInt16(id.count)
        self.slots[slot].tokenByteCount = 0
        // As long as what was allocated.
        let bytes = unsafe self.identityBytes(slot)
        unsafe Self.copy(id, to: bytes, at: 0)
    }

    /// The same with its token, which nothing has been said of.
    mutating func setID(_ id: Span<UInt8>, token: Span<UInt8>, slot: SlotID) {
        self.slots[slot].identity = self.identities.allocate(max(1, id.count + token.count))
        self.slots[slot].idByteCount = UInt16(id.count)
        self.slots[slot].tokenByteCount = UInt16(token.count)
        // As long as what was allocated.
        let bytes = unsafe self.identityBytes(slot)
        unsafe Self.copy(id, to: bytes, at: 0)
        unsafe Self.copy(token, to: bytes, at: id.count)
    }

    /// `bytes` has room for all of it from `start` on.
    @unsafe private static func copy(_ source: Span<UInt8>, to bytes: UnsafeMutableBufferPointer<UInt8>, at start: Int)
    {
        guard !source.isEmpty else { return }
        unsafe source.withUnsafeBufferPointer { source in
            _ = unsafe UnsafeMutableBufferPointer(rebasing: bytes[start..<(start + source.count)])
                .update(fromContentsOf: source)
        }
    }

    /// The token is another one from here on, alive as far as is known.
    mutating func setToken(_ token: Span<UInt8>, slot: SlotID) {
        let idByteCount = Int(self.slots[slot].idByteCount)
        let old = self.slots[slot].identity
        let oldByteCount = self.slots[slot].identityByteCount
        let byteCount = idByteCount + token.count
        if !ByteArena.fits(max(1, oldByteCount), max(1, byteCount)) {
            let identity = self.identities.allocate(max(1, byteCount))
            // Both are at least as long as the id.
            let from = unsafe self.identities.bytes(of: old, byteCount: idByteCount)
            let to = unsafe self.identities.bytes(of: identity, byteCount: idByteCount)
            _ = unsafe to.update(fromContentsOf: from)
            self.identities.release(old, byteCount: max(1, oldByteCount))
            self.slots[slot].identity = identity
        }
        self.slots[slot].tokenByteCount = UInt16(token.count)
        self.slots[slot].tokenStanding = .usable
        self.slots[slot].tokenGeneration &+= 1
        let bytes = unsafe self.identityBytes(slot)
        unsafe Self.copy(token, to: bytes, at: idByteCount)
    }

    mutating func clearToken(slot: SlotID) { self.setToken([UInt8]().span, slot: slot) }

    /// The slot's bytes are given back.
    mutating func releaseIdentity(slot: SlotID) {
        self.identities.release(
            self.slots[slot].identity, byteCount: max(1, self.slots[slot].identityByteCount))
        self.slots[slot].identity = ByteArena.none
    }
}
