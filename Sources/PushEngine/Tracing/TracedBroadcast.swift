import APNSProtocol
public import PushModel

/// What is reported of a broadcast that brings an audience's version to the listeners of a channel. Each attempt to
/// send the broadcast is reported separately.
public struct TracedBroadcast: Sendable, Equatable {
    /// The event whose content the version has.
    public var source: SourcePosition
    /// Index into `EngineConfiguration.apps`.
    public var app: UInt16
    /// The audience's id, UTF-8.
    public var audience: [UInt8]
    /// The channel's id as APNs spells it.
    public var channel: [UInt8]
    /// The audience's life.
    public var life: Int64
    /// Stamp that names the version within the life.
    public var stampSeconds: Int64
    /// Number of events that went into the version; 0: not known.
    public var mergedCount: UInt32
    /// The route to APNs that the broadcast takes.
    public var route: UInt16
    /// The priority with which the broadcast left.
    public var priority: PushPriority
    /// The upper half of the UUID in `apns-id`, big-endian.
    public var apnsIDHigh: UInt64
    /// The lower half of the UUID in `apns-id`, big-endian.
    public var apnsIDLow: UInt64
    /// When the broadcast left (steady clock).
    public var sentMillis: Int64
    /// Context of the span that made the version, or of the event's publisher. The broadcast's span is its child.
    public var parent: TraceContext
}

extension AudiencePublisher {
    /// Describes a broadcast that leaves. Beacons, which repeat an end, are not reported.
    /// - Returns: `nil`: the version's event is not sampled, or is too old.
    @inline(never) mutating func tracedBroadcast(
        _ errand: ChannelErrand, _ version: Version, of slot: SlotID, in core: borrowing ShardCore, now: EngineTime
    ) -> TracedBroadcast? {
        guard let parent = PassTraces.parent(of: version.layer, now: now) else { return nil }
        let merged = core.memory.owners[slot].publications.first {
            $0.version.life == version.life && $0.version.stampSeconds == version.stampSeconds
        }
        // The slot is live, so its bytes are valid.
        let idBytes = unsafe core.memory.slots.idBytes(slot)
        var audience: [UInt8] = []
        audience.append(copying: unsafe Span(_unsafeElements: idBytes))
        return TracedBroadcast(
            source: version.layer.source, app: errand.app, audience: audience, channel: errand.target,
            life: version.life, stampSeconds: version.stampSeconds, mergedCount: merged?.mergedCount ?? 0,
            route: .max, priority: errand.priority, apnsIDHigh: 0, apnsIDLow: 0, sentMillis: now.steadyMillis,
            parent: parent)
    }
}
