import PushModel

/// The status of a crowd's two records in `state`: its versions, and the progress of its passes. This type decides what
/// has to be written and waited for. The engine writes the records, and says which of them Kafka has.
struct CrowdRecords {
    /// What Kafka must have before the newest version goes to anybody.
    enum Durability: UInt8 {
        /// Kafka has everything. Becomes `awaitsVersions`, and then `awaitsBoth`, when a version or its new channels
        /// arrive.
        case durable
        /// Kafka does not have the versions yet. Becomes `durable` when Kafka has them, or `awaitsBoth` when progress
        /// is written for them.
        case awaitsVersions
        /// Kafka does not have the progress record that says where the version's rounds begin. Becomes `durable` when
        /// Kafka has it, or `awaitsBoth` when newer versions are written.
        case awaitsProgress
        /// Kafka has neither record. Becomes `awaitsVersions` when Kafka has the progress, or `awaitsProgress` when
        /// Kafka has the versions.
        case awaitsBoth
    }
    /// Least time between two progress records, milliseconds.
    static let progressMillis: Int64 = 1_000
    /// The least value that a progress record gives `horizonCount`.
    static let horizonCountMin = 4_096

    /// The status of the progress record. Each crowd numbers its own records.
    private(set) var progress = ProgressRecord()
    private(set) var durability = Durability.durable
    /// Number of the record of versions that was written last; counted from 1 for each crowd.
    private(set) var versionsNumber: UInt32 = 0
    /// About how many members each pass may meet at priority 10 after the last progress record.
    private(set) var horizonCount = 0
    /// Number of the progress record that has to be acknowledged before the newest version is durable.
    private var requiredProgress: UInt32 = 0
    /// Number of members that the crowd's passes have sent a push since the last progress record.
    private var metSinceProgress = 0

    /// Whether `state` has the newest version, and the progress record written when its round began. Only then may
    /// members be met.
    @inline(__always) var isDurable: Bool { self.durability == .durable }
    /// Whether a progress record is unacknowledged.
    @inline(__always) var isProgressUnderWay: Bool { self.progress.isUnderWay }
    /// Whether there is progress that no record covers.
    @inline(__always) var isProgressDue: Bool { self.progress.isDue }
    /// Whether at least half as many members as `horizonCount` have been sent a push since the last progress record.
    @inline(__always) var isHorizonNear: Bool { self.metSinceProgress * 2 >= self.horizonCount }

    /// When the next progress record is due (steady clock); `Int64.max`: none is, or the previous one has to be
    /// acknowledged first.
    func progressDueMillis(nowMillis: Int64) -> Int64 {
        self.progress.dueMillis(every: Self.progressMillis, nowMillis: nowMillis)
    }
    /// The earliest time of the next progress record, once the last one is acknowledged (steady clock).
    @inline(__always) var nextProgressMillis: Int64 { self.progress.writtenMillis + Self.progressMillis }

    // MARK: What happens

    /// Makes a progress record due: something has happened that no record covers yet.
    @inline(__always) mutating func progressed() { self.progress.progressed() }
    /// Counts a member that was sent a push.
    @inline(__always) mutating func met() {
        self.metSinceProgress += 1
        self.progressed()
    }
    /// Ends a restore.
    /// - Parameter isWritten: whether the records that were read cover everything, so that no progress has to be
    ///   written.
    mutating func restored(isWritten: Bool) { self.progress.restored(isWritten: isWritten) }
    /// Counts a record of versions that is written.
    mutating func versionsWritten() { self.versionsNumber &+= 1 }
    /// Serves nobody until Kafka has the last record of versions.
    mutating func awaitVersions() {
        switch self.durability {
        case .durable: self.durability = .awaitsVersions
        case .awaitsProgress: self.durability = .awaitsBoth
        case .awaitsVersions, .awaitsBoth: break
        }
    }
    /// Serves nobody until Kafka has the last progress record, or a later one. The record says where the newest
    /// version's rounds begin.
    mutating func awaitProgress() {
        self.requiredProgress = self.progress.number
        switch self.durability {
        case .durable: self.durability = .awaitsProgress
        case .awaitsVersions: self.durability = .awaitsBoth
        case .awaitsProgress, .awaitsBoth: break
        }
    }
    /// Counts a progress record that is written, and sets `horizonCount`.
    mutating func progressWritten(nowMillis: Int64) {
        self.progress.written(nowMillis: nowMillis)
        self.horizonCount = max(Self.horizonCountMin, 2 * self.metSinceProgress)
        self.metSinceProgress = 0
    }
    /// Takes Kafka's acknowledgement of a record of versions.
    /// - Returns: whether it is the last one written.
    mutating func versionsAcknowledged(_ number: UInt32) -> Bool {
        guard number == self.versionsNumber else { return false }
        switch self.durability {
        case .awaitsVersions: self.durability = .durable
        case .awaitsBoth: self.durability = .awaitsProgress
        case .durable, .awaitsProgress: break
        }
        return true
    }
    /// Takes Kafka's acknowledgement of a progress record.
    /// - Returns: whether it is the last one written.
    mutating func progressAcknowledged(_ number: UInt32) -> Bool {
        // A record later than the required one is enough, too.
        if Int32(bitPattern: number &- self.requiredProgress) >= 0 {
            switch self.durability {
            case .awaitsProgress: self.durability = .durable
            case .awaitsBoth: self.durability = .awaitsVersions
            case .durable, .awaitsVersions: break
            }
        }
        return self.progress.acknowledged(number)
    }
}
