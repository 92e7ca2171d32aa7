import PushModel

extension AudienceOwner {
    /// A version with its stamp, on its way from `state` to the partitions.
    struct Publication {
        enum Status {
            /// The version's record is on its way to `state`. The status becomes `sent` when Kafka has the record. A
            /// new owner that reads the record begins with `sent`.
            case written
            /// Partitions are being sent the version. The status becomes `done` when Kafka has the version for all of
            /// them.
            case sent
            /// The version's event has its outcome. The publication is dropped when `state` has a newer one.
            case done
        }
        private(set) var version: Version
        /// Older versions that expire later than this one. Partitions keep them for members that have not got this
        /// version when it expires.
        private(set) var fallbacks: [Version]
        private(set) var status: Status
        /// Number of records with this version that Kafka has not acknowledged. They are written to `routed`.
        private(set) var outstanding = 0
        /// Number of events merged into the version.
        let mergedCount: UInt32

        init(version: Version, fallbacks: [Version] = [], status: Status = .written, mergedCount: UInt32 = 1) {
            self.version = version
            self.fallbacks = fallbacks
            self.status = status
            self.mergedCount = mergedCount
        }
        /// Whether the version's event has no outcome yet.
        var isOpen: Bool { self.status != .done }
        /// Whether the version may be sent to partitions.
        var isDurable: Bool { self.status != .written }
        /// What partitions are sent, the newest last.
        var versions: [Version] { self.fallbacks + [self.version] }

        /// Moves the version to another life. The version must not have been sent to any partition.
        mutating func enterLife(_ life: Int64) {
            self.version.enterLife(life)
            for index in self.fallbacks.indices { self.fallbacks[index].enterLife(life) }
        }
        /// States the audience's channels in the version.
        mutating func declare(_ channels: AudienceChannels) {
            self.version.channels = channels.declared
            self.version.channelRevision = channels.revision
        }
        /// Marks the version as sent, because `state` has it.
        mutating func stateWritten() { self.status = .sent }
        /// Counts one record with the version for each partition to which it leaves.
        mutating func leaves(to count: Int) { self.outstanding += count }
        /// Counts Kafka's acknowledgement of the version for one partition.
        /// - Returns: whether Kafka now has the version for all partitions.
        mutating func acknowledged() -> Bool {
            guard self.outstanding > 0 else { return false }
            self.outstanding -= 1
            return self.outstanding == 0
        }
        /// Marks the version's event as done, if all partitions have the version.
        /// - Returns: whether the event has become done by this call.
        mutating func finishes() -> Bool {
            guard self.status == .sent, self.outstanding == 0 else { return false }
            self.status = .done
            return true
        }
    }
}
