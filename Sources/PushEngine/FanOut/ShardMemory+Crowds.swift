/// Settings for a crowd from its app's configuration, and the state of its partition.
extension ShardMemory {
    /// Whether the crowd's partition is running: see `PartitionState.sends`. A free element of the crowd table has no
    /// partition.
    @inline(__always) func sends(_ crowd: borrowing Crowd) -> Bool {
        crowd.partition.isSome && self.partitions[crowd.partition].sends
    }
    /// Whether the crowd's partition lets pushes to members leave.
    @inline(__always) func mayPush(_ crowd: borrowing Crowd) -> Bool {
        self.partitions[crowd.partition].sends && self.partitions[crowd.partition].mayPush
    }
    /// Whether starts to the crowd's members may leave. The crowd must let them leave (`Crowd.mayStart`), and so must
    /// the partition (`mayPush`).
    func mayStart(_ crowd: borrowing Crowd) -> Bool { crowd.mayStart && self.mayPush(crowd) }
    /// Whether records about the crowd's start may be written.
    func mayWriteStarts(_ crowd: borrowing Crowd) -> Bool {
        self.partitions[crowd.partition].mayPush && crowd.records.isDurable
    }
    /// Number of starts that a member may get in any rolling hour.
    func startsPerHour(_ crowd: borrowing Crowd) -> Int { self.configuration.apps[Int(crowd.app)].startsPerHour }
    /// The least time between two pushes to a member, milliseconds.
    @inline(__always) func distanceMillis(_ crowd: borrowing Crowd) -> Int64 {
        self.configuration.apps[Int(crowd.app)].minimumDistanceMillis
    }
    /// Epoch of the owner of the crowd's partition.
    func epoch(_ crowd: borrowing Crowd) -> Int64 { self.partitions[crowd.partition].epoch }
    /// Offset that the next record in the `state` of the crowd's partition will have.
    func nextStateOffset(_ crowd: borrowing Crowd) -> Int64 { self.partitions[crowd.partition].nextStateOffset }
    /// Number of the crowd's partition.
    func partitionNumber(_ crowd: borrowing Crowd) -> Int32 { self.partitions[crowd.partition].number }
    /// How long an audience is remembered after its end, milliseconds.
    func retentionAfterEndMillis(_ crowd: borrowing Crowd) -> Int64 {
        self.configuration.apps[Int(crowd.app)].retentionAfterEndMillis
    }
    /// Whether the crowd's audience may have channels.
    func hasChannels(_ crowd: borrowing Crowd) -> Bool {
        self.configuration.apps[Int(crowd.app)].audienceChannel == .auto
    }
    /// How long start members stay without joining again, milliseconds.
    func startMemberLifeMillis(_ crowd: borrowing Crowd) -> Int64 {
        self.configuration.apps[Int(crowd.app)].startMemberLifeMillis
    }
    func startTerms(_ crowd: borrowing Crowd) -> StartTerms {
        let app = Int(crowd.app)
        return StartTerms(
            resends: self.configuration.apps[app].startOnUnknown == .resend,
            spreadMillis: self.configuration.apps[app].audienceSpreadMillis)
    }
}
