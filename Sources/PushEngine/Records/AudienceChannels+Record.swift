import PushModel

/// Writes and reads the channels of an audience, at the end of its owner's book.
extension AudienceChannels {
    func write(topicHashes: [UInt32], to writer: inout ByteCursor) {
        writer.signed(self.life)
        writer.unsigned(UInt64(self.revision))
        writer.byte(self.environments)
        writer.byte(UInt8(self.all.count) | (self.alerts.isEmpty ? 0 : 4))
        for channel in self.all { channel.write(to: &writer) }
        self.alert?.write(topicHashes: topicHashes, to: &writer)
    }
    init(_ reader: inout StateReader, topicHashes: [UInt32], now: EngineTime) throws(StateError) {
        let life = try StateCodec.readSeconds(&reader)
        let revision = try Self.readRevision(&reader)
        let environments = try reader.byte()
        guard environments < 4 else { throw .malformed("environments \(environments) of an audience") }
        let head = try reader.byte()
        guard head & 3 <= 2, head < 8 else { throw .malformed("\(head) channels of an audience") }
        var all: [Channel] = []
        for _ in 0..<(head & 3) { all.append(try Channel(&reader)) }
        let alert = head & 4 != 0 ? try Version(&reader, topicHashes: topicHashes, now: now) : nil
        try reader.checkEnd(behind: "an audience's channels")
        self.init(life: life, revision: revision, environments: environments, all: all, alert: alert)
    }
    static func readRevision(_ reader: inout StateReader) throws(StateError) -> UInt32 {
        guard let revision = UInt32(exactly: try reader.unsigned()) else { throw .malformed("a revision over 32 bits") }
        return revision
    }
}

extension AudienceChannels.Channel {
    fileprivate func write(to writer: inout ByteCursor) {
        writer.byte(
            self.standing.rawValue | (self.serves ? 4 : 0) | (self.isEndReported ? 8 : 0)
                | (self.environment == .development ? 16 : 0))
        writer.run(self.id.span)
        writer.signed(self.takenStampSeconds)
        writer.signed(self.takenAlertStampSeconds)
        writer.signed(self.byTokenUntilMillis)
    }
    fileprivate init(_ reader: inout StateReader) throws(StateError) {
        let flags = try reader.byte()
        guard flags < 32, let standing = AudienceChannels.Standing(rawValue: flags & 3) else {
            throw .malformed("flags \(flags) of an audience's channel")
        }
        self.init(
            environment: flags & 16 == 0 ? .production : .development, standing: standing,
            id: try reader.run(byteCountMax: VersionChannel.idByteCountMax), serves: flags & 4 != 0,
            takenStampSeconds: try StateCodec.readSeconds(&reader),
            takenAlertStampSeconds: try StateCodec.readSeconds(&reader),
            byTokenUntilMillis: try StateCodec.readMillis(&reader), isEndReported: flags & 8 != 0)
    }

    var described: StateRecordDescription.Book.Channel {
        .init(
            environment: "\(self.environment)", standing: "\(self.standing)",
            id: self.id.isEmpty ? nil : String(decoding: self.id, as: UTF8.self), serves: self.serves,
            takenStampSeconds: self.takenStampSeconds > 0 ? self.takenStampSeconds : nil)
    }
}
