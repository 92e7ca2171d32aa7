/// The status of a record that is written again and again: whether the last one covers all that has happened, and
/// whether Kafka has it.
struct ProgressRecord {
    enum State: UInt8 {
        /// The last record covers everything. Becomes `toWrite` when something happens.
        case written
        /// Something has happened that no record covers. Becomes `underWay` when one is written.
        case toWrite
        /// The last record covers everything, and Kafka has not acknowledged it. Becomes `written` when Kafka does, or
        /// `toWriteAgain` if something happens before.
        case underWay
        /// Something has happened that the last record does not cover, and Kafka has not acknowledged that record.
        /// Becomes `toWrite` when Kafka does, or `underWay` if another is written before.
        case toWriteAgain
    }

    private(set) var state = State.written
    /// Number of the record that was written last; counted from 1.
    private(set) var number: UInt32 = 0
    /// When the last record was written (steady clock); `Int64.min`: none has been written.
    private(set) var writtenMillis: Int64 = .min

    /// Whether the last record is still unacknowledged.
    @inline(__always) var isUnderWay: Bool { self.state == .underWay || self.state == .toWriteAgain }
    /// Whether something has happened that no record covers.
    @inline(__always) var isDue: Bool { self.state == .toWrite || self.state == .toWriteAgain }
    /// The time `millis` after the last record (steady clock); the present time if there was no record.
    @inline(__always) func millis(after millis: Int64, nowMillis: Int64) -> Int64 {
        self.writtenMillis == .min ? nowMillis : self.writtenMillis + millis
    }
    /// When the next record is due (steady clock); `Int64.max`: none is, or the previous one has to be acknowledged
    /// first.
    /// - Parameter millis: the least time between two records.
    func dueMillis(every millis: Int64, nowMillis: Int64) -> Int64 {
        switch self.state {
        case .written, .underWay, .toWriteAgain: .max
        case .toWrite: self.millis(after: millis, nowMillis: nowMillis)
        }
    }

    // MARK: What happens

    /// Makes a record due: something has happened that no record covers yet.
    @inline(__always) mutating func progressed() {
        switch self.state {
        case .written: self.state = .toWrite
        case .underWay: self.state = .toWriteAgain
        case .toWrite, .toWriteAgain: break
        }
    }
    /// Ends a restore.
    /// - Parameter isWritten: whether the records that were read cover everything, so that none has to be written.
    mutating func restored(isWritten: Bool) {
        switch self.state {
        case .written, .toWrite: self.state = isWritten ? .written : .toWrite
        case .underWay, .toWriteAgain: self.state = isWritten ? .underWay : .toWriteAgain
        }
    }
    /// Counts a record that is written and covers everything.
    mutating func written(nowMillis: Int64) {
        self.number &+= 1
        self.writtenMillis = nowMillis
        self.state = .underWay
    }
    /// Takes Kafka's acknowledgement of a record.
    /// - Returns: whether it is the last one written.
    mutating func acknowledged(_ number: UInt32) -> Bool {
        guard number == self.number else { return false }
        self.forgetUnderWay()
        return true
    }
    /// Treats the record that is under way as acknowledged.
    mutating func forgetUnderWay() {
        switch self.state {
        case .underWay: self.state = .written
        case .toWriteAgain: self.state = .toWrite
        case .written, .toWrite: break
        }
    }
}
