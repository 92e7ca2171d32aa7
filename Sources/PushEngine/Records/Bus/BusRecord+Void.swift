import PushModel

extension BusRecord {
    /// The message by which an audience's owner informs a partition that a life of the audience is over. The key is the
    /// audience's id.
    struct Void: Equatable {
        var bundleID: [UInt8] = []
        var life: Int64 = 0
        /// Whether the life was ended by an event. If not, the audience is forgotten because nothing has arrived for a
        /// long time.
        var isEnded = false

        func write(to writer: inout ByteCursor) {
            BusRecord.writeHead(self.bundleID, to: &writer)
            writer.signed(self.life)
            writer.byte(self.isEnded ? 1 : 0)
        }
    }
}

extension BusRecord.Void {
    init(_ value: Span<UInt8>) throws(StateError) {
        var reader = StateReader(value)
        self.bundleID = try BusRecord.readHead(&reader)
        self.life = try StateCodec.readSeconds(&reader)
        self.isEnded = try reader.byte() != 0
        try reader.checkEnd(behind: "a void")
    }
}
