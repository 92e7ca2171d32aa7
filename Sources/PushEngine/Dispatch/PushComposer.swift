import APNSProtocol
import PushModel

/// The request of a push: token, headers and payload of what a slot has in flight.
enum PushComposer {
    /// Fills `request` with what the slot sends now, and notes the hash of the token it goes to.
    static func fill(_ request: inout PushRequest, update: UpdateID, in memory: inout ShardMemory, now: EngineTime) {
        let slot = memory.updates[update].slot
        let kind: EventKind =
            memory.updates[update].isStart ? .start : memory.updates[update].isEnd ? .end : .update
        request.id = memory.updates.pushID(of: update)
        request.kind = memory.slots[slot].kind == .channel ? .broadcast : .device
        request.app = memory.slots[slot].app
        request.priority = memory.updates[update].sentPriority
        request.apnsID = memory.updates[update].apnsID
        request.expirationSeconds =
            memory.updates[update].start.first?.expiresSeconds ?? memory.updates[update].top.expirationHeaderSeconds
            ?? now.wallSeconds + EventRules.expirationSeconds(of: kind)
        if request.kind == .broadcast {
            request.expirationSeconds = Self.broadcastExpirationSeconds(
                request.expirationSeconds, storage: memory.slots[slot].storage, now: now)
        }
        request.target.removeAll(keepingCapacity: true)
        request.body.removeAll(keepingCapacity: true)
        let stamp = memory.updates[update].stampSeconds ?? 0
        if let start = memory.updates[update].start.first {
            memory.updates[update].tokenHash = Self.hash(ofToken: start.token.span)
            Hex.append(start.token.span, to: &request.target)
            let (blob, content) = memory.updates[update].top.combined(with: start)
            PayloadWriter.append(
                kind: .start, stampSeconds: stamp, content: content, source: blob.span,
                alert: blob.span.extracting(memory.updates[update].top.alert.range), to: &request.body)
        } else {
            Self.fillTarget(&request, update: update, slot: slot, in: &memory)
            let content = memory.updates[update].top.content
            let alert = memory.updates[update].top.alert.range
            PayloadWriter.append(
                kind: kind, stampSeconds: stamp, content: content, source: memory.updates[update].top.blob.span,
                alert: memory.updates[update].top.blob.span.extracting(alert), to: &request.body)
        }
    }

    /// A phone's token, or the channel's id as it is.
    @inline(__always) private static func fillTarget(
        _ request: inout PushRequest, update: UpdateID, slot: SlotID, in memory: inout ShardMemory
    ) {
        // Nothing here changes the slot's id and token.
        guard request.kind == .device else {
            let idBytes = unsafe memory.slots.idBytes(slot)
            let id = unsafe Span(_unsafeElements: idBytes)
            memory.updates[update].tokenHash = Self.hash(ofToken: id)
            return request.target.append(copying: id)
        }
        let tokenBytes = unsafe memory.slots.tokenBytes(slot)
        let token = unsafe Span(_unsafeElements: tokenBytes)
        memory.updates[update].tokenHash = Self.hash(ofToken: token)
        memory.updates[update].isToFormerToken = memory.slots[slot].tokenStanding == .former
        Hex.append(token, to: &request.target)
    }

    /// A channel that stores nothing takes 0 alone, and one of which nobody knows takes it too; a storing one keeps a message up to 8 h (Apple:
    /// "Sending broadcast push notification requests to APNs").
    static func broadcastExpirationSeconds(_ wanted: Int64, storage: ChannelStorage, now: EngineTime) -> Int64 {
        storage == .mostRecent ? min(wanted, now.wallSeconds + EventRules.broadcastStoredSecondsMax) : 0
    }

    /// The question what a channel keeps.
    static func fillQuestion(_ request: inout PushRequest, id: PushID, slot: SlotID, in memory: borrowing ShardMemory) {
        request.id = id
        request.kind = .readChannel
        request.app = memory.slots[slot].app
        request.priority = .low
        request.expirationSeconds = 0
        request.body.removeAll(keepingCapacity: true)
        request.target.removeAll(keepingCapacity: true)
        // The slot lives, so its bytes do.
        let idBytes = unsafe memory.slots.idBytes(slot)
        request.target.append(copying: unsafe Span(_unsafeElements: idBytes))
    }

    /// 64 bits of FNV-1a over the token: enough to tell tokens apart in a log, useless for sending.
    static func hash(ofToken token: Span<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for index in token.indices { hash = (hash ^ UInt64(token[index])) &* 0x0000_0100_0000_01b3 }
        return hash
    }
}
