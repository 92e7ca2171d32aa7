import PushModel

/// A slot's bytes: the id, followed by the raw device token.
extension SlotTable {
    /// The slot's id and token. Valid until the slot's token changes or the slot is removed.
    @inline(__always) @unsafe func identityBytes(_ slot: SlotID) -> UnsafeMutableBufferPointer<UInt8> {
        unsafe self.identities.bytes(
            of: self[slot].identity, byteCount: self[slot].identityByteCount)
    }

    /// The slot's id. Valid until the slot's token changes or the slot is removed.
    @inline(__always) @unsafe func idBytes(_ slot: SlotID) -> UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(
            self.identities.bytes(
                of: self[slot].identity, byteCount: self[slot].idByteCount))
    }

    /// The slot's token, empty without one. Valid until the slot's token changes or the slot is removed.
    @inline(__always) @unsafe func tokenBytes(_ slot: SlotID) -> UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(
            rebasing: self.identityBytes(slot).dropFirst(self[slot].idByteCount))
    }

    func hasID(_ id: Span<UInt8>, _ slot: SlotID) -> Bool {
        // The slot is live, so its bytes are valid.
        let bytes = unsafe self.idBytes(slot)
        return unsafe Span(_unsafeElements: bytes).holdsSameBytes(as: id)
    }

    func hasToken(_ token: Span<UInt8>, _ slot: SlotID) -> Bool {
        let bytes = unsafe self.tokenBytes(slot)
        return unsafe Span(_unsafeElements: bytes).holdsSameBytes(as: token)
    }

    /// Stores the id and token of a new slot.
    @inline(__always) mutating func setIdentity(id: Span<UInt8>, token: Span<UInt8>, _ slot: SlotID) {
        self[slot].identity = self.identities.allocate(id.count + token.count)
        self[slot].idLastIndex = UInt8(id.count - 1)
        self[slot].tokenByteCount = UInt16(token.count)
        // The buffer is as long as what was allocated.
        let bytes = unsafe self.identityBytes(slot)
        unsafe Self.copy(id, to: bytes, at: 0)
        unsafe Self.copy(token, to: bytes, at: id.count)
    }

    /// Copies bytes into the identity, beginning at `start`. `bytes` must have room for them.
    @inline(__always) @unsafe private static func copy(
        _ source: Span<UInt8>, to bytes: UnsafeMutableBufferPointer<UInt8>, at start: Int
    ) {
        guard !source.isEmpty else { return }
        unsafe source.withUnsafeBufferPointer { source in
            _ = unsafe UnsafeMutableBufferPointer(rebasing: bytes[start..<(start + source.count)])
                .update(fromContentsOf: source)
        }
    }

    /// Replaces the slot's token with another.
    mutating func setToken(_ token: Span<UInt8>, of slot: SlotID) {
        let idByteCount = self[slot].idByteCount
        let old = self[slot].identity
        let oldByteCount = self[slot].identityByteCount
        let byteCount = idByteCount + token.count
        if !ByteArena.fits(oldByteCount, byteCount) {
            let identity = self.identities.allocate(byteCount)
            // Both runs are at least as long as the id.
            let from = unsafe self.identities.bytes(of: old, byteCount: idByteCount)
            let to = unsafe self.identities.bytes(of: identity, byteCount: idByteCount)
            _ = unsafe to.update(fromContentsOf: from)
            self.identities.release(old, byteCount: oldByteCount)
            self[slot].identity = identity
        }
        self[slot].tokenByteCount = UInt16(token.count)
        self[slot].tokenGeneration &+= 1
        let bytes = unsafe self.identityBytes(slot)
        unsafe Self.copy(token, to: bytes, at: idByteCount)
    }

    /// Counts the token as new although its bytes are equal: a channel's id now names a channel in another environment.
    mutating func renewToken(of slot: SlotID) { self[slot].tokenGeneration &+= 1 }

    mutating func clearToken(of slot: SlotID) { self.setToken(Span(), of: slot) }

    /// Gives the slot's bytes back.
    mutating func releaseIdentity(_ slot: SlotID) {
        self.identities.release(
            self[slot].identity, byteCount: self[slot].identityByteCount)
        self[slot].identity = ByteArena.none
    }
}
