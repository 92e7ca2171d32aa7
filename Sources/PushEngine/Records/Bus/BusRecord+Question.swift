import PushModel

extension BusRecord {
    /// A partition's question to the owner of an audience. The key is the audience's id.
    struct Question: Equatable {
        var bundleID: [UInt8] = []
        var partition: Int32 = 0
        /// The newest life that the partition knows; 0: none.
        var life: Int64 = 0
        /// When the partition's newest update member joined, seconds since 1970; 0: none has.
        var lastJoinSeconds: Int64 = 0
        /// Time until which the partition keeps start members, seconds since 1970; 0: it has none.
        var startsUntilSeconds: Int64 = 0
        /// Environments in which the partition has members, by `AudienceChannels.bit`; 0: not stated, because the app's
        /// audiences have no channels.
        var environments: UInt8 = 0

        /// Whether the partition's newest update member had joined when the version's event was written. The owner may
        /// read the event before this question, although the join was earlier. Times of joins are in whole seconds.
        func hasMembers(before version: Version) -> Bool {
            self.lastJoinSeconds > 0 && self.lastJoinSeconds <= version.layer.recordMillis / 1_000
        }

        func write(to writer: inout ByteCursor) {
            BusRecord.writeHead(self.bundleID, to: &writer)
            writer.signed(Int64(self.partition))
            writer.signed(self.life)
            writer.signed(self.lastJoinSeconds)
            writer.signed(self.startsUntilSeconds)
            if self.environments != 0 { writer.byte(self.environments) }
        }
    }
}

extension BusRecord.Question {
    init(_ value: Span<UInt8>) throws(StateError) {
        var reader = StateReader(value)
        self.bundleID = try BusRecord.readHead(&reader)
        self.partition = try StateCodec.readPartition(&reader)
        self.life = try StateCodec.readSeconds(&reader)
        self.lastJoinSeconds = try StateCodec.readSeconds(&reader)
        self.startsUntilSeconds = try StateCodec.readSeconds(&reader)
        if !reader.isAtEnd {
            self.environments = try reader.byte()
            guard self.environments < 4 else { throw .malformed("environments \(self.environments) of a question") }
        }
        try reader.checkEnd(behind: "a question")
    }
}
