import PushModel

/// Writes and reads what became of a start, for its progress and reports. The refusals are not included; they are at
/// the end of a record.
extension StartReport {
    func write(to writer: inout ByteCursor) {
        writer.signed(self.life)
        writer.signed(self.stampSeconds)
        for field in Self.fields { writer.unsigned(self.counts[keyPath: field]) }
        writer.unsigned(self.returnedCount)
        writer.signed(self.firstAcceptedMillis)
        writer.signed(self.lastAcceptedMillis)
    }
    init(_ reader: inout StateReader) throws(StateError) {
        self.life = try StateCodec.readSeconds(&reader)
        self.stampSeconds = try StateCodec.readSeconds(&reader)
        for field in Self.fields {
            self.counts[keyPath: field] = UInt64(try reader.count(atMost: MemberCounters.countMax, "members"))
        }
        self.returnedCount = UInt64(try reader.count(atMost: MemberCounters.countMax, "members"))
        self.firstAcceptedMillis = try StateCodec.readMillis(&reader)
        self.lastAcceptedMillis = try StateCodec.readMillis(&reader)
    }
}
