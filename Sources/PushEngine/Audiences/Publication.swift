import PushModel

extension AudienceOwner {
    /// A version that has been given its stamp, on its way from `state` to the partitions.
    struct Publication {
        enum Status {
            /// `state` is to have it first. To `told` when it does: whoever takes over writes the very same again.
            case written
            /// Partitions are told of it. To `done` when Kafka has that for all of them.
            case told
            /// Its event has its outcome. It is dropped once a newer one is told.
            case done
        }
        private(set) var version: Version
        /// Older content that outlives it: partitions keep it for those that it leaves unserved.
        private(set) var fallbacks: [Version]
        private(set) var status: Status
        /// Records of `routed` that Kafka has not acknowledged.
        private(set) var outstanding = 0
        /// Events merged into it.
        let mergedCount: UInt32

        init(version: Version, fallbacks: [Version] = [], status: Status = .written, mergedCount: UInt32 = 1) {
            self.version = version
            self.fallbacks = fallbacks
            self.status = status
            self.mergedCount = mergedCount
        }
        /// Its event has no outcome yet.
        var isOpen: Bool { self.status != .done }
        /// It may be told.
        var isDurable: Bool { self.status != .written }
        /// What partitions are told: the newest last.
        var versions: [Version] { self.fallbacks + [self.version] }

        /// It has been told to nobody, and is of another life than was thought.
        mutating func enterLife(_ life: Int64) {
            self.version.enterLife(life)
            for index in self.fallbacks.indices { self.fallbacks[index].enterLife(life) }
        }
        /// What it says of the audience's channels.
        mutating func declare(_ channels: AudienceChannels) {
            self.version.channels = channels.declared
            self.version.turn = channels.turn
        }
        /// `state` has it.
        mutating func stateWritten() { self.status = .told }
        /// So many partitions are told.
        mutating func leaves(to count: Int) { self.outstanding += count }
        /// Kafka has it for one of them.
        /// - Returns: whether it has it for all now.
        mutating func told() -> Bool {
            guard self.outstanding > 0 else { return false }
            self.outstanding -= 1
            return self.outstanding == 0
        }
        /// Its event has its outcome if all partitions have it.
        /// - Returns: whether that is so now, and was not before.
        mutating func finishes() -> Bool {
            guard self.status == .told, self.outstanding == 0 else { return false }
            self.status = .done
            return true
        }
    }
}
