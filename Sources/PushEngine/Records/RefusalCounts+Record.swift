import PushModel

/// Writes and reads how often APNs gave each reason, in progress records and in reports.
extension RefusalCounts {
    func write(to writer: inout ByteCursor) {
        writer.unsigned(UInt64(self.all.count))
        for refusal in self.all {
            writer.unsigned(UInt64(refusal.status))
            writer.byte(refusal.isOfMessage ? 1 : 0)
            writer.unsigned(refusal.count)
            let reason = Array(refusal.reason.utf8)
            writer.run(reason.span)
        }
    }
    init(_ reader: inout StateReader) throws(StateError) {
        var all: [Refusal] = []
        for _ in 0..<(try reader.count(atMost: Self.reasonsMax, "reasons")) {
            guard let status = UInt16(exactly: try reader.unsigned()) else { throw .malformed("a status") }
            let isOfMessage = try reader.byte() != 0
            let count = try reader.count(atMost: MemberCounters.countMax, "members")
            let reason = Self.clipped(try reader.run(byteCountMax: Self.reasonByteCountMax))
            all.append(Refusal(status: status, reason: reason, isOfMessage: isOfMessage, count: UInt64(count)))
        }
        self.init(all: all)
    }
}
