/// Lets devices with equal content share its bytes: a million phones of one audience hold one content.
///
/// It remembers a limited number of recent contents. A forgotten content is still held by the devices that show it, and
/// gets a second copy when it is pushed again.
public struct ContentPool: Sendable {
    private var contents: [CardContent?]
    private var alerts: [ShownAlerts?]
    private var origins: [CardOrigin?]

    /// - Parameter slotCount: maximum number of remembered contents, and also of alerts and of origins. It is a power
    ///   of two. With 0 nothing is shared.
    public init(slotCount: Int = 0) {
        precondition(slotCount & (slotCount - 1) == 0, "not a power of two")
        self.contents = Array(repeating: nil, count: slotCount)
        self.alerts = Array(repeating: nil, count: slotCount)
        self.origins = Array(repeating: nil, count: slotCount)
    }

    /// The content of a push.
    mutating func content(_ pushed: PushContent, body: Span<UInt8>) -> CardContent {
        let hash = ContentHash.of(body, pushed.contentState)
        let (stale, dismissal) = (pushed.staleDateSeconds ?? .min, pushed.dismissalDateSeconds ?? .min)
        let relevance = pushed.relevanceScore ?? .nan
        return Self.share(&self.contents, ContentHash.combine(hash, UInt64(bitPattern: pushed.stampSeconds))) { known in
            known.hash == hash && known.stampSeconds == pushed.stampSeconds && known.staleDate == stale
                && known.dismissalDate == dismissal && known.relevance.bitPattern == relevance.bitPattern
                && Bytes.equal(known.contentState, body, pushed.contentState)
        } make: {
            CardContent(
                contentState: Bytes.copy(body, pushed.contentState), stampSeconds: pushed.stampSeconds,
                staleDate: stale, dismissalDate: dismissal, relevance: relevance, hash: hash)
        }
    }

    /// The shown content with other dates. Devices with equal content and dates share it.
    mutating func content(
        of shown: CardContent?, stampSeconds: Int64, staleDate: Int64, dismissalDate: Int64, relevance: Double
    ) -> CardContent {
        let hash = shown?.hash ?? ContentHash.empty
        let contentState = shown?.contentState ?? []
        let mark = UInt64(bitPattern: stampSeconds) ^ UInt64(bitPattern: dismissalDate)
        return Self.share(&self.contents, ContentHash.combine(hash, mark)) { known in
            known.hash == hash && known.stampSeconds == stampSeconds && known.staleDate == staleDate
                && known.dismissalDate == dismissalDate && known.relevance.bitPattern == relevance.bitPattern
                && known.contentState == contentState
        } make: {
            CardContent(
                contentState: contentState, stampSeconds: stampSeconds, staleDate: staleDate,
                dismissalDate: dismissalDate, relevance: relevance, hash: hash)
        }
    }

    /// Adds an alert to those shown so far, and keeps the last `keptMax`.
    mutating func alerts(
        _ shown: ShownAlerts?, and alert: Range<Int>, of body: Span<UInt8>, keptMax: Int
    ) -> ShownAlerts {
        let hash = ContentHash.combine(shown?.hash ?? ContentHash.empty, ContentHash.of(body, alert))
        let count = (shown?.count ?? 0) &+ 1
        return Self.share(&self.alerts, hash) { known in
            known.hash == hash && known.count == count && Bytes.equal(known.newest.last ?? [], body, alert)
        } make: {
            var newest = shown?.newest ?? []
            if newest.count >= keptMax { newest.removeFirst(newest.count - keptMax + 1) }
            newest.append(Bytes.copy(body, alert))
            return ShownAlerts(newest: newest, count: count, hash: hash)
        }
    }

    /// What a `start` says about its activity.
    mutating func origin(_ pushed: PushContent, body: Span<UInt8>) -> CardOrigin {
        let hash = ContentHash.combine(
            ContentHash.of(body, pushed.attributesType), ContentHash.of(body, pushed.attributes))
        return Self.share(&self.origins, hash) { known in
            known.hash == hash && Bytes.equal(known.attributesType, body, pushed.attributesType)
                && Bytes.equal(known.attributes, body, pushed.attributes)
        } make: {
            CardOrigin(
                attributesType: Bytes.copy(body, pushed.attributesType),
                attributes: Bytes.copy(body, pushed.attributes), hash: hash)
        }
    }

    private static func share<Shared: AnyObject>(
        _ slots: inout [Shared?], _ hash: UInt64, isThis: (Shared) -> Bool, make: () -> Shared
    ) -> Shared {
        guard !slots.isEmpty else { return make() }
        let slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        if let known = slots[slot], isThis(known) { return known }
        let made = make()
        slots[slot] = made
        return made
    }
}
