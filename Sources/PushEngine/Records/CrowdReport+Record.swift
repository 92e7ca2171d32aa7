import PushModel

/// Writes and reads what became of the members of a version, in progress records and in reports. Only reports have the
/// number of listeners, after the counts.
extension CrowdReport {
    func write(to writer: inout ByteCursor) {
        writer.signed(self.stampSeconds)
        self.counts.write(ofStarts: false, to: &writer)
        writer.signed(self.firstAcceptedMillis)
        writer.signed(self.lastAcceptedMillis)
        self.refusals.write(to: &writer)
    }
    init(_ reader: inout StateReader) throws(StateError) {
        self.stampSeconds = try StateCodec.readSeconds(&reader)
        self.counts = try MemberCounters(ofStarts: false, &reader)
        self.firstAcceptedMillis = try StateCodec.readMillis(&reader)
        self.lastAcceptedMillis = try StateCodec.readMillis(&reader)
        self.refusals = try RefusalCounts(&reader)
    }

    var described: [String: UInt64] { self.counts.described(ofStarts: false, waitingCount: self.waitingCount) }
}

extension MemberCounters {
    /// Largest count that a record may have, so that the sums over all partitions do not overflow.
    static let countMax = 1 << 40

    func write(ofStarts: Bool, to writer: inout ByteCursor) {
        for field in Self.fields(ofStarts: ofStarts) { writer.unsigned(self[keyPath: field.path]) }
    }
    init(ofStarts: Bool, _ reader: inout StateReader) throws(StateError) {
        self.init()
        for field in Self.fields(ofStarts: ofStarts) {
            self[keyPath: field.path] = UInt64(try reader.count(atMost: Self.countMax, "members"))
        }
    }
}

extension ListenerCounts {
    func write(to writer: inout ByteCursor) {
        writer.unsigned(self[.production])
        writer.unsigned(self[.development])
    }
    init(_ reader: inout StateReader) throws(StateError) {
        self[.production] = UInt64(try reader.count(atMost: MemberCounters.countMax, "listeners"))
        self[.development] = UInt64(try reader.count(atMost: MemberCounters.countMax, "listeners"))
    }
}
