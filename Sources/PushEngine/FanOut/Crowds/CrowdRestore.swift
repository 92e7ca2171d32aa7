import PushModel

/// What a restore has read of a crowd. It determines from where the crowd continues, and is empty after the restore.
struct CrowdRestore {
    /// Which records that name the audience have been read so far.
    private enum Named {
        /// None. Records of members may have been read, but do not have the name. Becomes `progress` or `versions`
        /// when a record of that kind is read.
        case nothing
        /// The progress of the passes. Becomes `both` with a record of versions, or `nothing` with the progress's
        /// tombstone.
        indirect case progress(PassesRecord)
        /// The versions, which the crowd already has. Becomes `both` with a record of progress, or `nothing` with the
        /// versions' tombstone.
        case versions
        /// Both records. Becomes `progress` with the versions' tombstone, or `versions` with the progress's tombstone.
        indirect case both(PassesRecord)
    }
    private var named = Named.nothing
    /// Joins that the progress read so far does not cover, in the order of their records.
    private var joins: [RestoredJoin] = []

    /// Whether a record has named the audience.
    var isNamed: Bool {
        switch self.named {
        case .nothing: false
        case .progress, .versions, .both: true
        }
    }

    // MARK: Reading
    mutating func read(_ join: RestoredJoin) { self.joins.append(join) }
    mutating func read(_ progress: PassesRecord) {
        switch self.named {
        case .nothing, .progress: self.named = .progress(progress)
        case .versions, .both: self.named = .both(progress)
        }
        self.joins.removeAll { $0.offset < progress.servedJoins }
    }
    mutating func readVersions() {
        switch self.named {
        case .nothing: self.named = .versions
        case .progress(let progress): self.named = .both(progress)
        case .versions, .both: break
        }
    }
    mutating func progressGone() {
        switch self.named {
        case .nothing, .versions: break
        case .progress: self.named = .nothing
        case .both: self.named = .versions
        }
    }
    mutating func versionsGone() {
        switch self.named {
        case .nothing, .progress: break
        case .versions: self.named = .nothing
        case .both(let progress): self.named = .progress(progress)
        }
    }

    // MARK: The end of a restore
    /// The point from which a crowd continues.
    struct Outcome {
        /// The progress of the crowd's passes.
        var progress = PassesRecord()
        /// Versions that the progress does not cover, the oldest first. They are taken as if they had just arrived.
        var newer: [Version] = []
        /// The newest version that was read.
        var newest: Version?
        /// Stamp of the newest version, even if that has expired since; 0: there was none.
        var stampSeconds: Int64 = 0
        /// Joins that the progress does not cover, as far as the restore needs them.
        var joins: [RestoredJoin] = []
        /// Those of `joins` whose members are owed the alert of a version that was read.
        var owedJoins: [RestoredJoin] = []
        /// Those of `joins` that make their members late. These members are owed the newest version, without the alert.
        var lateJoins: [RestoredJoin] = []
    }
    /// Ends the restore when all records have been read. Versions that the progress covers are kept in `versions`; the
    /// others are returned.
    func settle(_ versions: inout CrowdVersions) -> Outcome {
        var outcome = Outcome()
        var hasVersions = false
        switch self.named {
        case .nothing: break
        case .progress(let progress): outcome.progress = progress
        case .versions: hasVersions = true
        case .both(let progress): (outcome.progress, hasVersions) = (progress, true)
        }
        outcome.newest = versions.newest
        outcome.stampSeconds = versions.stampSeconds
        let stamps = versions.alertStamps
        outcome.joins = self.joins
        outcome.owedJoins = self.joins.filter { stamps.contains($0.owedAlertStampSeconds) }
        outcome.lateJoins = self.joins.filter { !stamps.contains($0.owedAlertStampSeconds) && !$0.isKnown }
        outcome.newer = versions.resume(from: outcome.progress, hasRecord: hasVersions)
        return outcome
    }
}

/// A member's join that a restore has read, with the offset of its record.
struct RestoredJoin {
    var member: MemberID
    /// Whether a takeover must not count the join as a late one: see `FanOut.JoinRecord.isKnown`. The property is
    /// declared here to fit into the padding: there may be a million joins.
    var isKnown = false
    var offset: Int64
    /// Stamp of the version whose alert the member is owed, as its record says; 0: none.
    var owedAlertStampSeconds: Int64 = 0
}
