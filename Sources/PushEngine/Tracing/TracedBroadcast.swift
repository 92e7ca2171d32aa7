import APNSProtocol
public import PushModel

/// What is told of a broadcast that brings an audience's version to those who listen on a channel: one request, whatever becomes of it.
public struct TracedBroadcast: Sendable, Equatable {
    /// The event that speaks for the version.
    public var source: SourcePosition
    /// Index into `EngineConfiguration.apps`.
    public var app: UInt16
    /// The audience's id, UTF-8.
    public var audience: [UInt8]
    /// The channel's id, as APNs has given it.
    public var channel: [UInt8]
    /// Of the audience.
    public var life: Int64
    /// Names the version within the life.
    public var stampSeconds: Int64
    /// How many events went into the version; 0: nobody knows any more.
    public var mergedCount: UInt32
    /// The way to APNs that it takes.
    public var route: UInt16
    /// With which it left.
    public var priority: PushPriority
    /// `apns-id`: the UUID's two halves, big-endian order.
    public var apnsIDHigh: UInt64
    /// See `apnsIDHigh`.
    public var apnsIDLow: UInt64
    /// When it left, steady.
    public var sentMillis: Int64
    /// Of the span that made the version, or of whoever published its event: what the broadcast is below.
    public var parent: TraceContext
}

extension ShardEngine {
    /// A broadcast leaves. Beacons, which say an end once more, are not told.
    /// - Returns: `nil`: nobody has sampled the event of its version, or too long ago.
    @inline(never) mutating func tracedBroadcast(
        _ errand: ChannelErrand, _ version: Version, of slot: SlotID, now: EngineTime
    ) -> TracedBroadcast? {
        guard let parent = PassTraces.parent(of: version.layer, now: now) else { return nil }
        let merged = self.memory.owners[slot].publications.first {
            $0.version.life == version.life && $0.version.stampSeconds == version.stampSeconds
        }
        // The slot lives, so its bytes do.
        let idBytes = unsafe self.memory.slots.idBytes(slot)
        var audience: [UInt8] = []
        audience.append(copying: unsafe Span(_unsafeElements: idBytes))
        return TracedBroadcast(
            source: version.layer.source, app: errand.app, audience: audience, channel: errand.target,
            life: version.life, stampSeconds: version.stampSeconds, mergedCount: merged?.mergedCount ?? 0,
            route: .max, priority: errand.priority, apnsIDHigh: 0, apnsIDLow: 0, sentMillis: now.steadyMillis,
            parent: parent)
    }
}
