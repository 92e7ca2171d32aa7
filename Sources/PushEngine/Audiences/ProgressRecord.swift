/// Where a record stands that is written again and again, one at a time: between what happens, what it tells, and what Kafka has.
struct ProgressRecord {
    enum State: UInt8 {
        /// The last record tells all. To `toWrite` when something happens.
        case written
        /// Something has happened that no record tells. To `underWay` when one is written.
        case toWrite
        /// The last record tells all, and Kafka has not acknowledged it. To `written` then, to `toWriteAgain` if something happens before.
        case underWay
        /// Something has happened that the last record does not tell, and Kafka has not acknowledged that. To `toWrite` then, to `underWay` if one is
        /// written before.
        case toWriteAgain
    }

    private(set) var state = State.written
    /// Number of the record that was written last; counted from 1.
    private(set) var number: UInt32 = 0
    /// When that was, steady; `Int64.min`: there was none.
    private(set) var writtenMillis: Int64 = .min

    /// A record has not been acknowledged.
    @inline(__always) var isUnderWay: Bool { self.state == .underWay || self.state == .toWriteAgain }
    /// Something has happened that no record tells.
    @inline(__always) var isDue: Bool { self.state == .toWrite || self.state == .toWriteAgain }
    /// The time so long after the last record, steady; now if there was none.
    @inline(__always) func millis(after millis: Int64, nowMillis: Int64) -> Int64 {
        self.writtenMillis == .min ? nowMillis : self.writtenMillis + millis
    }
    /// When the next one is due, steady; `Int64.max`: none is, or the one before has to be acknowledged first.
    func dueMillis(every millis: Int64, nowMillis: Int64) -> Int64 {
        switch self.state {
        case .written, .underWay, .toWriteAgain: .max
        case .toWrite: self.millis(after: millis, nowMillis: nowMillis)
        }
    }

    // MARK: What happens

    /// Something that a record tells of.
    @inline(__always) mutating func progressed() {
        switch self.state {
        case .written: self.state = .toWrite
        case .underWay: self.state = .toWriteAgain
        case .toWrite, .toWriteAgain: break
        }
    }
    /// A restore is over.
    /// - Parameter isTold: by the records that it has read.
    mutating func restored(isTold: Bool) {
        switch self.state {
        case .written, .toWrite: self.state = isTold ? .written : .toWrite
        case .underWay, .toWriteAgain: self.state = isTold ? .underWay : .toWriteAgain
        }
    }
    /// A record is written that tells all.
    mutating func written(nowMillis: Int64) {
        self.number &+= 1
        self.writtenMillis = nowMillis
        self.state = .underWay
    }
    /// Kafka has a record.
    /// - Returns: whether it is the last one.
    mutating func acknowledged(_ number: UInt32) -> Bool {
        guard number == self.number else { return false }
        self.forgetUnderWay()
        return true
    }
    /// Nobody waits for the record that is under way.
    mutating func forgetUnderWay() {
        switch self.state {
        case .underWay: self.state = .written
        case .toWriteAgain: self.state = .toWrite
        case .written, .toWrite: break
        }
    }
}
