import APNSProtocol
import PushModel

extension PushRequest {
    /// Fills every field of the request. The request's buffers keep their memory.
    /// - Parameters:
    ///   - target: appends the token or the channel's id.
    ///   - body: appends the payload.
    @inline(__always) mutating func fill(
        _ kind: RequestKind, id: PushID, app: UInt16, priority: PushPriority, expirationSeconds: Int64,
        apnsID: (UInt64, UInt64), target: (inout [UInt8]) -> Void, body: (inout [UInt8]) -> Void
    ) {
        self.id = id
        self.kind = kind
        self.app = app
        self.priority = priority
        self.expirationSeconds = expirationSeconds
        self.apnsID = apnsID
        self.target.removeAll(keepingCapacity: true)
        target(&self.target)
        self.body.removeAll(keepingCapacity: true)
        body(&self.body)
    }
}

/// Composes the request of a push: token, headers and payload of what a slot has in flight.
enum PushComposer {
    /// Fills `request` with what the slot sends now, and remembers the hash of the token or of the channel's id.
    static func fill(_ request: inout PushRequest, update: UpdateID, in memory: inout ShardMemory, now: EngineTime) {
        let slot = memory.updates[update].slot
        let kind: EventKind =
            memory.updates[update].isStart ? .start : memory.updates[update].isEnd ? .end : .update
        let isBroadcast = memory.slots[slot].kind == .channel
        var expirationSeconds =
            memory.updates[update].start.first?.expiresSeconds ?? memory.updates[update].top.expirationHeaderSeconds
            ?? now.wallSeconds + EventRules.expirationSeconds(of: kind)
        if isBroadcast {
            expirationSeconds = Self.broadcastExpirationSeconds(
                expirationSeconds, storage: memory.slots[slot].storage, now: now)
        }
        request.fill(
            isBroadcast ? .broadcast : .device, id: memory.updates.pushID(of: update), app: memory.slots[slot].app,
            priority: memory.updates[update].sentPriority, expirationSeconds: expirationSeconds,
            apnsID: memory.updates[update].apnsID
        ) { target in
            Self.appendTarget(of: update, slot: slot, in: &memory, to: &target)
        } body: { body in
            Self.appendBody(of: update, kind: kind, in: memory, to: &body)
        }
    }

    @inline(__always) private static func appendBody(
        of update: UpdateID, kind: EventKind, in memory: borrowing ShardMemory, to body: inout [UInt8]
    ) {
        let stamp = memory.updates[update].stampSeconds ?? 0
        guard let start = memory.updates[update].start.first else {
            let content = memory.updates[update].top.content
            let alert = memory.updates[update].top.alert.range
            return PayloadWriter.append(
                kind: kind, stampSeconds: stamp, content: content, source: memory.updates[update].top.blob.span,
                alert: memory.updates[update].top.blob.span.extracting(alert), to: &body)
        }
        let (blob, content) = memory.updates[update].top.combined(with: start)
        PayloadWriter.append(
            kind: .start, stampSeconds: stamp, content: content, source: blob.span,
            alert: blob.span.extracting(memory.updates[update].top.alert.range), to: &body)
    }

    /// Appends a phone's token in hex, or a channel's id as it is. Remembers the hash of the token or id.
    @inline(__always) private static func appendTarget(
        of update: UpdateID, slot: SlotID, in memory: inout ShardMemory, to target: inout [UInt8]
    ) {
        if let start = memory.updates[update].start.first {
            memory.updates[update].tokenHash = Self.hash(ofToken: start.token.span)
            return Hex.append(start.token.span, to: &target)
        }
        // Nothing here changes the slot's id and token.
        guard memory.slots[slot].kind != .channel else {
            let idBytes = unsafe memory.slots.idBytes(slot)
            let id = unsafe Span(_unsafeElements: idBytes)
            memory.updates[update].tokenHash = Self.hash(ofToken: id)
            return target.append(copying: id)
        }
        let tokenBytes = unsafe memory.slots.tokenBytes(slot)
        let token = unsafe Span(_unsafeElements: tokenBytes)
        memory.updates[update].tokenHash = Self.hash(ofToken: token)
        memory.updates[update].isToFormerToken = memory.slots[slot].tokenStanding == .former
        Hex.append(token, to: &target)
    }

    /// The expiration that a broadcast leaves with. A channel that stores nothing accepts only 0, and 0 is also used
    /// while the policy is unknown. A storing channel keeps a message up to 8 h (Apple: "Sending broadcast push
    /// notification requests to APNs").
    static func broadcastExpirationSeconds(_ wanted: Int64, storage: StoragePolicy, now: EngineTime) -> Int64 {
        storage == .mostRecent ? min(wanted, now.wallSeconds + EventRules.broadcastStoredSecondsMax) : 0
    }

    /// Fills `request` with the question about what a channel stores.
    static func fillQuestion(
        _ request: inout PushRequest, id: PushID, apnsID: (UInt64, UInt64), slot: SlotID,
        in memory: borrowing ShardMemory
    ) {
        request.fill(
            .readChannel, id: id, app: memory.slots[slot].app, priority: .low, expirationSeconds: 0, apnsID: apnsID
        ) { target in
            // The slot is live, so its bytes are valid.
            let idBytes = unsafe memory.slots.idBytes(slot)
            target.append(copying: unsafe Span(_unsafeElements: idBytes))
        } body: { _ in
        }
    }

    /// FNV-1a over a token or a channel's id, 64 bits. The hash distinguishes tokens in a log, and is useless for
    /// sending.
    static func hash(ofToken token: Span<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for index in token.indices { hash = (hash ^ UInt64(token[index])) &* 0x0000_0100_0000_01b3 }
        return hash
    }
}
