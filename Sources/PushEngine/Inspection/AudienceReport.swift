public import PushModel

/// What an audience's owner knows of the audience, for an operator. The report contains neither tokens nor content.
public struct AudienceReport: Sendable, Equatable, Encodable {
    /// A version that has been given its stamp.
    public struct PublishedVersion: Sendable, Equatable, Encodable {
        /// `aps.timestamp` of the pushes that bring the version.
        public var stampSeconds: Int64
        /// `update` or `end`.
        public var event: String
        /// `high` if some members may get the version at high priority, otherwise `low`.
        public var priority: String
        /// Whether the version has an alert.
        public var hasAlert: Bool
        /// Number of events merged into the version.
        public var merged: Int
        /// Whether `state` has the version, so that it may be sent to partitions.
        public var isDurable: Bool
        /// Number of records of `routed` with the version that Kafka has not acknowledged.
        public var recordsOutstanding: Int
        /// When the version's event was written, milliseconds since 1970.
        public var recordMillis: Int64
    }
    /// One of the two ledgers of versions with priority 10.
    public struct Budget: Sendable, Equatable, Encodable {
        /// Number of versions allowed in any rolling hour.
        public var perHour: Int
        /// Units kept for alerts and ends.
        public var reserve: Int
        /// Number of units spent and not returned.
        public var out: Int
        /// Number of units that may be spent now on alerts and ends.
        public var left: Int
        /// Seconds until each unit returns, in ascending order. Units of versions whose rounds are not over are not
        /// included.
        public var returnsInSeconds: [Int64]
    }
    /// A broadcast channel of the audience.
    public struct Channel: Sendable, Equatable, Encodable {
        /// `production` or `development`.
        public var environment: String
        /// The channel's id as APNs spells it; empty: no channel has been opened yet.
        public var id: String
        /// `wanted`, `open` or `dead`.
        public var standing: String
        /// Whether members that listen get the newest version by broadcast.
        public var serves: Bool
        /// Stamp of the newest version that APNs has accepted on the channel; 0: none.
        public var takenStampSeconds: Int64
    }
    /// What partitions have reported on a version.
    public struct RollUp: Sendable, Equatable, Encodable {
        /// Stamp of the version.
        public var stampSeconds: Int64
        /// Partitions that were sent the version.
        public var asked: [Int32]
        /// Partitions among `asked` that have sent no report.
        public var missing: [Int32]
        /// Partitions that have reported that members are still owed the version.
        public var unfinished: [Int32]
        /// Number of members to which the version was due.
        public var due: UInt64
        /// Number of members whose push APNs has accepted.
        public var accepted: UInt64
        /// Number of members that are still owed the version.
        public var waiting: UInt64
        /// Number of members whose token was dead.
        public var gone: UInt64
        /// Number of members for whom APNs refused the version for good.
        public var failed: UInt64
        /// When APNs first accepted a push of the version, milliseconds since 1970; 0: not yet.
        public var firstAcceptedMillis: Int64
        /// When APNs last accepted a push of the version, milliseconds since 1970; 0: not yet.
        public var lastAcceptedMillis: Int64
    }

    /// The app's bundle identifier.
    public var app: String
    /// Number of the owner's partition, where versions are made.
    public var partition: Int32
    /// Whether an `end` was accepted, or is on its way.
    public var hasEnded: Bool
    /// The audience's life, seconds since 1970; 0: it has had no version.
    public var life: Int64
    /// Partitions that have or had members, and have asked for versions.
    public var askedPartitions: [Int32]
    /// Published versions, the oldest first.
    public var versions: [PublishedVersion]
    /// Number of events that wait to become a version.
    public var eventsPending: Int
    /// Budget for members without `frequent-updates`.
    public var budget: Budget
    /// Budget for members with `frequent-updates`.
    public var frequentBudget: Budget
    /// Channels on which phones may listen.
    public var channels: [Channel]
    /// Reports by version, the oldest first.
    public var rollUps: [RollUp]
}

extension ShardEngine {
    /// What the audience's owner knows, if the owner is in this shard; `nil`: the audience is not in memory.
    /// - Parameters:
    ///   - app: index into `EngineConfiguration.apps`.
    ///   - id: the audience, as the record's key names it.
    ///   - now: the time for which returning units are computed.
    public func audienceReport(app: UInt16, id: Span<UInt8>, now: EngineTime) -> AudienceReport? {
        let key = SlotKey(kind: .audience, app: app, id: id)
        for partition in self.core.memory.partitions.identifiers
        where self.core.memory.partitions[partition].phase != .gone {
            guard let slot = self.core.memory.slots.find(key, partition: partition) else { continue }
            return self.audienceReport(of: slot, now: now)
        }
        return nil
    }

    private func audienceReport(of slot: SlotID, now: EngineTime) -> AudienceReport {
        let app = self.core.memory.app(of: slot)
        let owner = self.core.memory.owners[slot]
        let rollUps = owner.rollUps.all.filter { !$0.isOfOutliving }
        return AudienceReport(
            app: app.bundleID, partition: self.core.memory.partitions[self.core.memory.slots[slot].partition].number,
            hasEnded: self.core.memory.slots[slot].life == .ending || self.core.memory.slots[slot].life == .ended,
            life: owner.life, askedPartitions: owner.asked,
            versions: owner.publications.map { AudienceReport.PublishedVersion($0) },
            eventsPending: self.core.memory.eventCount(of: slot),
            budget: owner.budget.ledger.budget(
                perHour: app.budgetAudiencePerHour, reserve: app.budgetReserve, nowMillis: now.steadyMillis),
            frequentBudget: owner.budget.frequentLedger.budget(
                perHour: app.budgetAudienceFrequentPerHour, reserve: app.budgetReserve, nowMillis: now.steadyMillis),
            channels: owner.channels.all.map { AudienceReport.Channel($0) },
            rollUps: rollUps.map { AudienceReport.RollUp($0) })
    }

    /// What the partitions of this shard know of the audience's members: one element for each partition that has a
    /// crowd of the audience.
    /// - Parameter app: index into `EngineConfiguration.apps`.
    /// - Parameter id: the audience, as the record's key names it.
    public func crowdStatuses(app: UInt16, id: Span<UInt8>) -> [CrowdStatus] {
        let bundleID = self.core.memory.configuration.apps[Int(app)].bundleID
        let reference = CrowdTable.reference(bundleID: Array(bundleID.utf8).span, id: id)
        var found: [CrowdStatus] = []
        for partition in self.core.memory.partitions.identifiers
        where self.core.memory.partitions[partition].phase != .gone {
            guard let crowd = self.fanOut.crowds.find(reference: reference, partition: partition) else { continue }
            let members = self.fanOut.crowds.membersIfAny(of: partition)
            found.append(
                self.fanOut.crowds[crowd].status(
                    bundleID: bundleID, partition: self.core.memory.partitions[partition].number, members: members))
        }
        return found.sorted { $0.partition < $1.partition }
    }
}

extension AudienceReport.PublishedVersion {
    fileprivate init(_ publication: AudienceOwner.Publication) {
        self.init(
            stampSeconds: publication.version.stampSeconds, event: publication.version.isEnd ? "end" : "update",
            priority: publication.version.isHigh || publication.version.isFrequentHigh ? "high" : "low",
            hasAlert: publication.version.hasAlert, merged: Int(publication.mergedCount),
            isDurable: publication.isDurable, recordsOutstanding: publication.outstanding,
            recordMillis: publication.version.layer.recordMillis)
    }
}

extension AudienceReport.Channel {
    fileprivate init(_ channel: AudienceChannels.Channel) {
        let standing =
            switch channel.standing {
            case .wanted: "wanted"
            case .open: "open"
            case .dead: "dead"
            }
        self.init(
            environment: "\(channel.environment)", id: String(decoding: channel.id, as: UTF8.self),
            standing: standing, serves: channel.serves, takenStampSeconds: channel.takenStampSeconds)
    }
}

extension AudienceReport.RollUp {
    fileprivate init(_ rollUp: PushEngine.RollUp) {
        let sum = rollUp.sum
        self.init(
            stampSeconds: rollUp.version.stampSeconds, asked: rollUp.asked, missing: rollUp.missing,
            unfinished: rollUp.unfinished, due: sum.counts.due, accepted: sum.counts.accepted,
            waiting: sum.waitingCount, gone: sum.counts.gone, failed: sum.counts.failed,
            firstAcceptedMillis: sum.firstAcceptedMillis, lastAcceptedMillis: sum.lastAcceptedMillis)
    }
}

extension VersionLedger {
    fileprivate func budget(perHour: Int, reserve: Int, nowMillis: Int64) -> AudienceReport.Budget {
        let returns = self.returning.map { $0 + RollingBudget.windowMillis - nowMillis }.filter { $0 > 0 }
        let out = self.open.count + returns.count
        return AudienceReport.Budget(
            perHour: perHour, reserve: reserve, out: out, left: max(0, perHour - out),
            returnsInSeconds: returns.map { ($0 + 999) / 1_000 })
    }
}
