import PushModel

extension AudienceOwner {
    /// A version with its stamp, on its way from `state` to the partitions.
    struct Publication {
        enum Status {
            /// `state` must have it first. To `told` when it does. A successor writes it again unchanged.
            case written
            /// Partitions are sent the version. To `done` when Kafka has it for all of them.
            case told
            /// The version's event has its outcome. The publication is dropped once a newer one is sent.
            case done
        }
        private(set) var version: Version
        /// Older content that outlives the version. Partitions keep it for members that the version leaves unserved.
        private(set) var fallbacks: [Version]
        private(set) var status: Status
        /// Number of records of `routed` that Kafka has not acknowledged.
        private(set) var outstanding = 0
        /// Number of events merged into the version.
        let mergedCount: UInt32

        init(version: Version, fallbacks: [Version] = [], status: Status = .written, mergedCount: UInt32 = 1) {
            self.version = version
            self.fallbacks = fallbacks
            self.status = status
            self.mergedCount = mergedCount
        }
        /// Whether its event has no outcome yet.
        var isOpen: Bool { self.status != .done }
        /// Whether it may be sent to partitions.
        var isDurable: Bool { self.status != .written }
        /// What partitions are sent, the newest last.
        var versions: [Version] { self.fallbacks + [self.version] }

        /// Moves the version to another life. Nobody has been sent it yet.
        mutating func enterLife(_ life: Int64) {
            self.version.enterLife(life)
            for index in self.fallbacks.indices { self.fallbacks[index].enterLife(life) }
        }
        /// Writes into the version what it says of the audience's channels.
        mutating func declare(_ channels: AudienceChannels) {
            self.version.channels = channels.declared
            self.version.turn = channels.turn
        }
        /// Notes that `state` has the version.
        mutating func stateWritten() { self.status = .told }
        /// Notes that the version leaves to this many partitions.
        mutating func leaves(to count: Int) { self.outstanding += count }
        /// Notes that Kafka has the version for one partition.
        /// - Returns: whether it now has it for all.
        mutating func told() -> Bool {
            guard self.outstanding > 0 else { return false }
            self.outstanding -= 1
            return self.outstanding == 0
        }
        /// Gives its event its outcome if all partitions have the version.
        /// - Returns: whether that is so now, and was not before.
        mutating func finishes() -> Bool {
            guard self.status == .told, self.outstanding == 0 else { return false }
            self.status = .done
            return true
        }
    }
}
