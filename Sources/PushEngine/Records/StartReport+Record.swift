import PushModel

/// Writes and reads what became of a start, in progress records and in reports. The refusals are written separately, at
/// the end of a record.
extension StartReport {
    func write(to writer: inout ByteCursor) {
        writer.signed(self.life)
        writer.signed(self.stampSeconds)
        self.counts.write(ofStarts: true, to: &writer)
        writer.unsigned(self.returnedCount)
        writer.signed(self.firstAcceptedMillis)
        writer.signed(self.lastAcceptedMillis)
    }
    init(_ reader: inout StateReader) throws(StateError) {
        self.life = try StateCodec.readSeconds(&reader)
        self.stampSeconds = try StateCodec.readSeconds(&reader)
        self.counts = try MemberCounters(ofStarts: true, &reader)
        self.returnedCount = UInt64(try reader.count(atMost: MemberCounters.countMax, "members"))
        self.firstAcceptedMillis = try StateCodec.readMillis(&reader)
        self.lastAcceptedMillis = try StateCodec.readMillis(&reader)
    }
}
