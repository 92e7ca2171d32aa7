/// When what is counted of a version, or of a start, is told: to the audience's owner, and in a record of outcomes.
struct ReportTelling {
    /// What the audience's owner knows.
    enum Owner: UInt8 {
        /// All that is counted. To `toTell` when something is counted.
        case told
        /// All but the end: members were owed it when it was told. To `told` once the end is told, to `toTell` when something is counted.
        case toTellEnd
        /// Something has been counted since it was told. To `told` with the next report, to `toTellEnd` if members are owed it even then.
        case toTell
    }
    /// What the record of outcomes says.
    enum Record: UInt8 {
        /// All that the owner knows. To `toWrite` with the next report.
        case written
        /// Less than the owner knows. To `written` with the next record.
        case toWrite
    }
    /// The owner is told this often at most.
    static let everyMillis: Int64 = 1_000
    /// Once its round has ended, what late members change is written this often at most.
    static let recordEveryMillis: Int64 = 60_000

    private(set) var owner = Owner.told
    private(set) var record = Record.written
    private var lastMillis: Int64 = .min
    private var lastRecordMillis: Int64 = .min

    /// Something is to be told, or written.
    @inline(__always) var isOpen: Bool { self.owner != .told || self.record != .written }
    /// When the owner is told next, steady; `Int64.max`: it knows all.
    func dueMillis(nowMillis: Int64) -> Int64 {
        switch self.owner {
        case .told: .max
        case .toTellEnd, .toTell: self.lastMillis == .min ? nowMillis : self.lastMillis + Self.everyMillis
        }
    }
    /// When the next record is written, steady; `Int64.max`: the last one says all.
    func recordDueMillis(nowMillis: Int64) -> Int64 {
        switch self.record {
        case .written: .max
        case .toWrite:
            self.lastRecordMillis == .min ? nowMillis : self.lastRecordMillis + Self.recordEveryMillis
        }
    }

    // MARK: What happens
    /// Something is counted.
    @inline(__always) mutating func counted() { self.owner = .toTell }
    /// The owner is told what is counted.
    /// - Parameters:
    ///   - isEnd: nobody is owed it.
    ///   - isWritten: a record says it, too.
    mutating func told(isEnd: Bool, isWritten: Bool, nowMillis: Int64) {
        self.lastMillis = nowMillis
        self.record = isWritten ? .toWrite : .written
        self.owner = isEnd ? .told : .toTellEnd
    }
    /// A record is written.
    /// - Parameter isEnd: nobody is owed it. Otherwise the record of its end does not wait for the minute to pass.
    mutating func written(isEnd: Bool, nowMillis: Int64) {
        self.lastRecordMillis = isEnd ? nowMillis : .min
        self.record = .written
    }
    /// Another version is counted from here on.
    mutating func begin() {
        self.lastRecordMillis = .min
        self.record = .written
        self.owner = .told
    }
}
