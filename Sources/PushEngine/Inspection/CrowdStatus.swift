import PushModel

/// What one partition knows of an audience's members. Neither tokens nor content.
public struct CrowdStatus: Sendable, Equatable, Encodable {
    /// How far the newest version has come to the members of one ring.
    public struct Ring: Sendable, Equatable, Encodable {
        /// `production` or `development`.
        public var environment: String
        /// Its members listen on a channel.
        public var listens: Bool
        /// How many there are.
        public var members: Int
        /// How much of the round is done, 0 to 1.
        public var progress: Double
        /// Members that are owed something, those without an answer included.
        public var waiting: Int
        /// Members without an answer.
        public var inFlight: Int
        /// Members that wait to be tried again.
        public var retrying: Int
    }

    /// The app's bundle identifier.
    public var app: String
    /// Where these members lie.
    public var partition: Int32
    /// The audience is over: its members are being removed.
    public var isLeaving: Bool
    /// An operator has stopped it.
    public var isPaused: Bool
    /// The newest version here; 0: there was none.
    public var stampSeconds: Int64
    /// Update members.
    public var members: Int
    /// Push-to-start members.
    public var startMembers: Int
    /// Push-to-start members that a start still comes to.
    public var startsWaiting: Int
    /// By environment and way.
    public var rings: [Ring]
}

extension Crowd {
    /// - Parameters:
    ///   - bundleID: of its app.
    ///   - partition: the number of its own.
    ///   - members: of that; `nil`: it never had any.
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
    /// How much of the newest version's round is done, 0 to 1.
    fileprivate var progress: Double {
        let left = max(0, (self.course.targets.last?.until ?? 0) - self.course.position)
        return 1 - min(1, Double(left) / Double(Self.circle))
    }
}
