/// The steps that make Apple's list of channels and `state` agree again. The plan is pure: it depends on its inputs
/// alone.
///
/// A channel of ours without an owner is deleted. If a channel of ours is missing from the list, another is opened in
/// its place, or its record is forgotten. Channels of others are shown and never touched.
public struct ReconcilePlan: Sendable {
    /// One record of `state`, and whether its channel is wanted.
    public struct Kept: Equatable, Sendable {
        /// Number in the record's key.
        public var number: Int64
        /// The record's content in `state`.
        public var channel: KeptChannel
        /// Whether somebody wants the channel: its audience lives, or the pool of warm channels has room for it.
        public var hasOwner: Bool

        public init(number: Int64, channel: KeptChannel, hasOwner: Bool) {
            self.number = number
            self.channel = channel
            self.hasOwner = hasOwner
        }
    }
    /// One thing to do about a channel of ours.
    public enum Step: Equatable, Sendable {
        /// The channel is in the list, without an owner.
        case delete(number: Int64, id: [UInt8])
        /// The channel is missing from the list, and its audience still wants one.
        case openAgain(number: Int64, id: [UInt8])
        /// The channel is missing from the list, and nobody wants it.
        case forget(number: Int64, id: [UInt8])
    }

    /// The steps in the order of `kept`.
    public var steps: [Step] = []
    /// Channels of ours that are missing from the list, and so new that the list may not show them yet. Nothing is done
    /// about them.
    public var tooYoung: [(number: Int64, id: [UInt8])] = []
    /// Listed ids of records in phase `possiblyOurs`.
    public var possiblyOurs: [[UInt8]] = []
    /// Listed ids that no record has, in the list's order.
    public var unknown: [[UInt8]] = []

    /// - Parameters:
    ///   - kept: every record of the app and environment.
    ///   - listed: Apple's list.
    ///   - wallMillis: the present time.
    ///   - settleMillis: age up to which a channel may be missing from the list, because the list can lag.
    public init(kept: [Kept], listed: [[UInt8]], wallMillis: Int64, settleMillis: Int64) {
        let listedIDs = Set(listed)
        var known: Set<[UInt8]> = []
        for entry in kept where !entry.channel.id.isEmpty {
            let id = entry.channel.id
            known.insert(id)
            let isListed = listedIDs.contains(id)
            switch entry.channel.phase {
            case .possiblyOurs:
                if isListed { self.possiblyOurs.append(id) }
            case .open, .ended:
                // An ended channel counts as owned while it lingers, so that phones that were away still get the end.
                let hasOwner = entry.hasOwner || entry.channel.phase == .ended
                if isListed {
                    if !hasOwner { self.steps.append(.delete(number: entry.number, id: id)) }
                    continue
                }
                let age = wallMillis - entry.channel.openedMillis
                guard age < 0 || age >= settleMillis else {
                    self.tooYoung.append((entry.number, id))
                    continue
                }
                let isWanted = entry.hasOwner && entry.channel.phase == .open && entry.channel.owner != nil
                self.steps.append(
                    isWanted ? .openAgain(number: entry.number, id: id) : .forget(number: entry.number, id: id))
            case .wanted, .asked, .deleting, .deleted: break
            }
        }
        self.unknown = listed.filter { !known.contains($0) }
    }
}
