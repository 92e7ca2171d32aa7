import PushModel

/// What a restore has read of a crowd, until the restore is over. It says from where the crowd goes on. It is empty in
/// a crowd that lives.
struct CrowdRestore {
    /// The records read so far that name the audience.
    private enum Told {
        /// None: only members were read. To `progress` or `versions` with such a record.
        case nothing
        /// The progress of its passes. To `both` with versions, to `nothing` with the tombstone.
        indirect case progress(PassesRecord)
        /// Its versions, which the crowd already has. To `both` with progress, to `nothing` with the tombstone.
        case versions
        /// To `progress` or `versions` with the tombstone of the other.
        indirect case both(PassesRecord)
    }
    private var told = Told.nothing
    /// Members that may not have been served, in the order of their records.
    private var joins: [RestoredJoin] = []

    /// Whether a record has named the audience.
    var isNamed: Bool {
        switch self.told {
        case .nothing: false
        case .progress, .versions, .both: true
        }
    }

    // MARK: What is read
    mutating func read(_ join: RestoredJoin) { self.joins.append(join) }
    mutating func read(_ progress: PassesRecord) {
        switch self.told {
        case .nothing, .progress: self.told = .progress(progress)
        case .versions, .both: self.told = .both(progress)
        }
        self.joins.removeAll { $0.offset < progress.servedJoins }
    }
    mutating func readVersions() {
        switch self.told {
        case .nothing: self.told = .versions
        case .progress(let progress): self.told = .both(progress)
        case .versions, .both: break
        }
    }
    mutating func progressGone() {
        switch self.told {
        case .nothing, .versions: break
        case .progress: self.told = .nothing
        case .both: self.told = .versions
        }
    }
    mutating func versionsGone() {
        switch self.told {
        case .nothing, .progress: break
        case .versions: self.told = .nothing
        case .both(let progress): self.told = .progress(progress)
        }
    }

    // MARK: What follows
    /// The point from which a crowd goes on.
    struct Outcome {
        /// The progress of its passes.
        var progress = PassesRecord()
        /// Versions that the progress does not cover, the oldest first. They are taken as if they came just now.
        var newer: [Version] = []
        /// The newest version that was read.
        var newest: Version?
        /// The newest version's stamp, which may have expired since; 0: there was none.
        var stampSeconds: Int64 = 0
        /// All members that the progress does not cover.
        var joins: [RestoredJoin] = []
        /// Those of these members that are owed the alert of a version that is here.
        var owedJoins: [RestoredJoin] = []
        /// Those of these members that have joined since, and are owed the newest version.
        var lateJoins: [RestoredJoin] = []
    }
    /// Ends the restore when all records have been read. Versions that the progress covers stay, and the others are
    /// returned.
    func settle(_ versions: inout CrowdVersions) -> Outcome {
        var outcome = Outcome()
        var hasVersions = false
        switch self.told {
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

/// A member that a restore has read, and the offset of its record.
struct RestoredJoin {
    var member: MemberID
    /// Whether the member had been served when it joined. Declared here it fits into the padding: there may be a
    /// million of these.
    var isKnown = false
    var offset: Int64
    /// Stamp of the version whose alert the member is owed, by its record; 0: none.
    var owedAlertStampSeconds: Int64 = 0
}
