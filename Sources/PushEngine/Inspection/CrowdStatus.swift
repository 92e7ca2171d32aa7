import PushModel

/// What one partition knows of an audience's members. The status contains neither tokens nor content.
public struct CrowdStatus: Sendable, Equatable, Encodable {
    /// How far the newest version has been sent to the members of one ring.
    public struct Ring: Sendable, Equatable, Encodable {
        /// `production` or `development`.
        public var environment: String
        /// Whether the ring's members listen on a channel.
        public var listens: Bool
        /// Number of members.
        public var members: Int
        /// Share of the round that is done, 0 to 1.
        public var progress: Double
        /// Number of members that are owed something, including those whose push is unanswered.
        public var waiting: Int
        /// Number of members whose push is unanswered.
        public var inFlight: Int
        /// Number of members that wait for another attempt.
        public var retrying: Int
    }

    /// The app's bundle identifier.
    public var app: String
    /// Number of the partition that has these members.
    public var partition: Int32
    /// Whether the audience is over, and its members are being removed.
    public var isLeaving: Bool
    /// Whether an operator has stopped the pushes to these members.
    public var isPaused: Bool
    /// Stamp of the newest version in this partition; 0: none.
    public var stampSeconds: Int64
    /// Number of update members.
    public var members: Int
    /// Number of push-to-start members.
    public var startMembers: Int
    /// Number of push-to-start members that a start has not reached yet.
    public var startsWaiting: Int
    /// Rings by environment, and by whether their members listen on a channel.
    public var rings: [Ring]
}

extension Crowd {
    /// Describes the crowd for an operator.
    /// - Parameters:
    ///   - bundleID: bundle identifier of its app.
    ///   - partition: number of its partition.
    ///   - members: members of that partition; `nil`: the partition never had members.
    func status(bundleID: String, partition: Int32, members: CrowdTable.Members?) -> CrowdStatus {
        let rings = self.passes.map { pass in
            CrowdStatus.Ring(
                environment: "\(pass.environment)", listens: pass.channelNumber != nil,
                members: members?.table.count(of: pass.ring) ?? 0, progress: pass.progress,
                waiting: pass.waitingCount, inFlight: pass.inFlight.count, retrying: pass.apart.retries.count)
        }
        return CrowdStatus(
            app: bundleID, partition: partition, isLeaving: self.standing.isOver, isPaused: self.isPaused,
            stampSeconds: self.versions.stampSeconds, members: rings.reduce(0) { $0 + $1.members },
            startMembers: members.map { self.starts.memberCount(in: $0.table) } ?? 0,
            startsWaiting: self.starts.waitingCount, rings: rings)
    }
}

extension Pass {
    /// Share of the newest version's round that is done, 0 to 1.
    fileprivate var progress: Double {
        let left = max(0, (self.course.targets.last?.until ?? 0) - self.course.position)
        return 1 - min(1, Double(left) / Double(Self.circle))
    }
}
