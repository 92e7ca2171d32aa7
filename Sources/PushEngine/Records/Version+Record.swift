import PushModel

/// Writes and reads a version, for records of `state` and of `routed`.
extension Version {
    /// Maximum number of versions in one record: the kept ones, and one whose alert is owed.
    private static let countMax = 16
    /// Maximum size of the part of a record that lists an audience's channels, bytes. The part has ids by environment,
    /// and an alert.
    static let channelsByteCountMax = 16_384

    func write(topicHashes: [UInt32], to writer: inout ByteCursor) {
        writer.signed(self.life)
        writer.signed(self.stampSeconds)
        let hasChannels = self.channelRevision != 0 || !self.channels.isEmpty
        writer.byte(
            (self.isHigh ? 1 : 0) | (self.isFrequentHigh ? 2 : 0) | (self.withdrawsAlert ? 4 : 0)
                | (self.starts.isEmpty ? 0 : 8) | (hasChannels ? 16 : 0))
        Layer.write(self.layer, topicHashes: topicHashes, to: &writer)
        self.start?.write(topicHashes: topicHashes, to: &writer)
        guard hasChannels else { return }
        writer.run { run in
            run.unsigned(UInt64(self.channelRevision))
            run.unsigned(UInt64(self.channels.count))
            for channel in self.channels { channel.write(to: &run) }
        }
    }
    init(_ reader: inout StateReader, topicHashes: [UInt32], now: EngineTime) throws(StateError) {
        self.life = try StateCodec.readSeconds(&reader)
        self.stampSeconds = try StateCodec.readSeconds(&reader)
        let flags = try reader.byte()
        guard flags < 32 else { throw .malformed("version flags \(flags)") }
        self.isHigh = flags & 1 != 0
        self.isFrequentHigh = flags & 2 != 0
        self.withdrawsAlert = flags & 4 != 0
        self.layer = try Layer(&reader, topicHashes: topicHashes, now: now)
        if flags & 8 != 0 {
            self.starts = [try StartOrder(&reader, life: self.life, topicHashes: topicHashes, now: now)]
        }
        guard flags & 16 != 0 else { return }
        let bytes = try reader.run(byteCountMax: Self.channelsByteCountMax)
        var run = StateReader(bytes.span)
        self.channelRevision = try AudienceChannels.readRevision(&run)
        let count = try run.unsigned()
        guard count <= VersionChannel.countMax else { throw .malformed("a version on \(count) channels") }
        for _ in 0..<count { self.channels.append(try VersionChannel(&run)) }
        try run.checkEnd(behind: "a version's channels")
    }

    // MARK: Several versions

    /// Writes several versions, the newest last.
    static func write(_ versions: [Version], topicHashes: [UInt32], to writer: inout ByteCursor) {
        writer.unsigned(UInt64(versions.count))
        for version in versions { version.write(topicHashes: topicHashes, to: &writer) }
    }
    static func read(
        _ reader: inout StateReader, topicHashes: [UInt32], now: EngineTime
    ) throws(StateError) -> [Version] {
        var versions: [Version] = []
        for _ in 0..<(try reader.count(atMost: Self.countMax, "versions")) {
            versions.append(try Version(&reader, topicHashes: topicHashes, now: now))
        }
        return versions
    }
}

extension VersionChannel {
    /// Maximum length of an id, which has to fit into a header field.
    static let idByteCountMax = 2_048
    /// Maximum number of channels: one in each environment.
    fileprivate static let countMax: UInt64 = 2

    fileprivate func write(to writer: inout ByteCursor) {
        writer.byte((self.environment == .development ? 1 : 0) | (self.serves ? 2 : 0) | (self.isOpen ? 4 : 0))
        writer.run(self.id.span)
        writer.signed(self.takenStampSeconds)
        writer.signed(self.takenAlertStampSeconds)
    }
    fileprivate init(_ reader: inout StateReader) throws(StateError) {
        let flags = try reader.byte()
        guard flags < 8 else { throw .malformed("flags \(flags) of a version's channel") }
        self.environment = flags & 1 == 0 ? .production : .development
        self.id = try reader.run(byteCountMax: Self.idByteCountMax)
        self.serves = flags & 2 != 0
        self.isOpen = flags & 4 != 0
        self.takenStampSeconds = try StateCodec.readSeconds(&reader)
        self.takenAlertStampSeconds = try StateCodec.readSeconds(&reader)
    }
}
