import PushModel

/// What became of the members of a version, in records of progress and reports. Only reports have listeners, after the
/// counts.
extension CrowdReport {
    func write(to writer: inout ByteCursor) {
        writer.signed(self.stampSeconds)
        for field in Self.fields { writer.unsigned(self.counts[keyPath: field]) }
        writer.signed(self.firstAcceptedMillis)
        writer.signed(self.lastAcceptedMillis)
        self.refusals.write(to: &writer)
    }
    init(_ reader: inout StateReader) throws(StateError) {
        self.stampSeconds = try StateCodec.readSeconds(&reader)
        for field in Self.fields {
            self.counts[keyPath: field] = UInt64(try reader.count(atMost: MemberCounters.countMax, "members"))
        }
        self.firstAcceptedMillis = try StateCodec.readMillis(&reader)
        self.lastAcceptedMillis = try StateCodec.readMillis(&reader)
        self.refusals = try RefusalCounts(&reader)
    }

    var described: [String: UInt64] {
        [
            "members": self.counts.due, "accepted": self.counts.accepted, "superseded": self.counts.superseded,
            "expired": self.counts.expired, "gone": self.counts.gone, "failed": self.counts.failed,
            "left": self.counts.left, "waiting": self.waitingCount, "retried": self.counts.repeated,
        ]
    }
}

extension MemberCounters {
    /// Maximum of a count in a record, so that the sums over all partitions stay in range.
    static let countMax = 1 << 40
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
