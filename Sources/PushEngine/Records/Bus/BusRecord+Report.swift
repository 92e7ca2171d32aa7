import PushModel

extension BusRecord {
    /// A partition's report to the owner of an audience on how far its members have been served. The key is the
    /// audience's id.
    struct Report: Equatable {
        var bundleID: [UInt8] = []
        var partition: Int32 = 0
        var life: Int64 = 0
        /// Stamp up to which this partition no longer sends versions with priority 10.
        var doneStampSeconds: Int64 = 0
        /// Whether no member of this partition is owed the version that `counts` is about. A report on a start leaves
        /// it `false`.
        var isFinished = false
        var counts = CrowdReport()
        /// Report on a start; `nil`: the report is on a version.
        var starts: StartReport?

        func write(to writer: inout ByteCursor) {
            BusRecord.writeHead(self.bundleID, to: &writer)
            writer.signed(Int64(self.partition))
            writer.signed(self.life)
            writer.signed(self.doneStampSeconds)
            let hasListeners = !self.counts.listeners.isZero
            writer.byte((self.isFinished ? 1 : 0) | (self.starts == nil ? 0 : 2) | (hasListeners ? 4 : 0))
            self.counts.write(to: &writer)
            if hasListeners { self.counts.listeners.write(to: &writer) }
            self.starts?.write(to: &writer)
            self.starts?.refusals.write(to: &writer)
        }
    }
}

extension BusRecord.Report {
    init(_ value: Span<UInt8>) throws(StateError) {
        var reader = StateReader(value)
        self.bundleID = try BusRecord.readHead(&reader)
        self.partition = try StateCodec.readPartition(&reader)
        self.life = try StateCodec.readSeconds(&reader)
        self.doneStampSeconds = try StateCodec.readSeconds(&reader)
        let flags = try reader.byte()
        guard flags < 8 else { throw .malformed("flags \(flags) of a report") }
        self.isFinished = flags & 1 != 0
        self.counts = try CrowdReport(&reader)
        if flags & 4 != 0 { self.counts.listeners = try ListenerCounts(&reader) }
        if flags & 2 != 0 {
            self.starts = try StartReport(&reader)
            self.starts?.refusals = try RefusalCounts(&reader)
        }
        try reader.checkEnd(behind: "a report")
    }
}
