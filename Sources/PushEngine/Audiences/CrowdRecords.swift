import PushModel

/// What of a crowd lies in `state`, and what is to be written there: its versions, and how far its passes are. It decides; its owner writes the records, and
/// tells it which of them Kafka has.
struct CrowdRecords {
    /// What Kafka has to have before the newest version is brought to anybody.
    enum Durability: UInt8 {
        /// It has all. To `awaitsVersions`, and on to `awaitsBoth`, when a version comes.
        case durable
        /// Not the versions. To `durable` with them.
        case awaitsVersions
        /// Not the progress that the version began. To `durable` with that.
        case awaitsProgress
        /// Neither. To `awaitsVersions` or `awaitsProgress`, when the other is acknowledged.
        case awaitsBoth
    }
    /// Where passes stand is written down this often.
    static let progressMillis: Int64 = 1_000
    /// Members that a pass may meet at priority 10 at first, before its next record.
    static let horizonCountMin = 4_096

    /// The record of progress; counted per crowd.
    private(set) var progress = ProgressRecord()
    private(set) var durability = Durability.durable
    /// Number of the record of versions that was written last; counted per crowd.
    private(set) var versionsNumber: UInt32 = 0
    /// Members that the last record allowed to be met at priority 10.
    private(set) var horizonCount = 0
    /// Number of the progress record that has to be acknowledged before the newest version is durable.
    private var requiredProgress: UInt32 = 0
    /// Members met since the last progress record.
    private var metSinceProgress = 0

    /// Whether `state` has the newest version, and what it began: members may be met.
    @inline(__always) var isDurable: Bool { self.durability == .durable }
    /// Whether a progress record is unacknowledged.
    @inline(__always) var isProgressUnderWay: Bool { self.progress.isUnderWay }
    /// Whether there is progress that no record covers.
    @inline(__always) var isProgressDue: Bool { self.progress.isDue }
    /// Whether half of what the last record allows has been used.
    @inline(__always) var isHorizonNear: Bool { self.metSinceProgress * 2 >= self.horizonCount }

    /// When the next progress record is due, steady; `Int64.max`: none is, or the one before has to be acknowledged
    /// first.
    func progressDueMillis(nowMillis: Int64) -> Int64 {
        self.progress.dueMillis(every: Self.progressMillis, nowMillis: nowMillis)
    }
    /// The earliest time of the next record once the last is acknowledged; steady.
    @inline(__always) var nextProgressMillis: Int64 { self.progress.writtenMillis + Self.progressMillis }

    // MARK: What happens

    /// Notes something that a progress record covers.
    @inline(__always) mutating func progressed() { self.progress.progressed() }
    /// Notes that a member was met.
    @inline(__always) mutating func met() {
        self.metSinceProgress += 1
        self.progressed()
    }
    /// Ends a restore.
    /// - Parameter isTold: whether the records that were read already say so.
    mutating func restored(isTold: Bool) { self.progress.restored(isTold: isTold) }
    /// Notes that a record of versions is written.
    mutating func versionsWritten() { self.versionsNumber &+= 1 }
    /// Serves nobody until Kafka has the last record of versions, which has a new one.
    mutating func awaitVersions() {
        switch self.durability {
        case .durable: self.durability = .awaitsVersions
        case .awaitsProgress: self.durability = .awaitsBoth
        case .awaitsVersions, .awaitsBoth: break
        }
    }
    /// Serves nobody until Kafka has the last progress record, or a later one. It says where a new version begins.
    mutating func awaitProgress() {
        self.requiredProgress = self.progress.number
        switch self.durability {
        case .durable: self.durability = .awaitsProgress
        case .awaitsVersions: self.durability = .awaitsBoth
        case .awaitsProgress, .awaitsBoth: break
        }
    }
    /// Notes that a progress record is written.
    mutating func progressWritten(nowMillis: Int64) {
        self.progress.written(nowMillis: nowMillis)
        self.horizonCount = max(Self.horizonCountMin, 2 * self.metSinceProgress)
        self.metSinceProgress = 0
    }
    /// Notes that Kafka has a record of versions.
    /// - Returns: whether it is the last one.
    mutating func versionsAcknowledged(_ number: UInt32) -> Bool {
        guard number == self.versionsNumber else { return false }
        switch self.durability {
        case .awaitsVersions: self.durability = .durable
        case .awaitsBoth: self.durability = .awaitsProgress
        case .durable, .awaitsProgress: break
        }
        return true
    }
    /// Notes that Kafka has a progress record.
    /// - Returns: whether it is the last one.
    mutating func progressAcknowledged(_ number: UInt32) -> Bool {
        // A later record says it, too.
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
