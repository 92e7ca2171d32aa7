import PushModel

extension AudienceChannels {
    private enum Flag {
        static let serves: UInt8 = 4
        static let isEndTold: UInt8 = 8
        static let isDevelopment: UInt8 = 16
    }
    var byteCountMax: Int {
        var count = 4 * ByteCursor.leb128ByteCountMax
        for channel in self.all { count += 6 * ByteCursor.leb128ByteCountMax + channel.id.count }
        for alert in self.alerts { count += AudienceCodec.byteCountMax(alert) }
        return count
    }
    func write(topicHashes: [UInt32], to writer: inout ByteCursor) {
        writer.signed(self.life)
        writer.unsigned(UInt64(self.turn))
        writer.byte(self.environments)
        writer.byte(UInt8(self.all.count) | (self.alerts.isEmpty ? 0 : 4))
        for channel in self.all {
            writer.byte(
                channel.standing.rawValue | (channel.serves ? Flag.serves : 0)
                    | (channel.isEndTold ? Flag.isEndTold : 0)
                    | (channel.environment == .development ? Flag.isDevelopment : 0))
            writer.run(channel.id.span)
            writer.signed(channel.takenStampSeconds)
            writer.signed(channel.takenAlertStampSeconds)
            writer.signed(channel.byTokenUntilMillis)
        }
        if let alert = self.alert { AudienceCodec.write(alert, topicHashes: topicHashes, to: &writer) }
    }
    init(_ reader: inout StateReader, topicHashes: [UInt32], now: EngineTime) throws(StateError) {
        let life = try StateCodec.readSeconds(&reader)
        let turn = try Self.readTurn(&reader)
        let environments = try reader.byte()
        guard environments < 4 else { throw .malformed("environments \(environments) of an audience") }
        let head = try reader.byte()
        guard head & 3 <= 2, head < 8 else { throw .malformed("\(head) channels of an audience") }
        var all: [Channel] = []
        for _ in 0..<(head & 3) {
            let flags = try reader.byte()
            guard flags < 32, let standing = Standing(rawValue: flags & 3) else {
                throw .malformed("flags \(flags) of an audience's channel")
            }
            all.append(
                Channel(
                    environment: flags & Flag.isDevelopment == 0 ? .production : .development, standing: standing,
                    id: try reader.run(byteCountMax: VersionChannel.idByteCountMax),
                    serves: flags & Flag.serves != 0, takenStampSeconds: try StateCodec.readSeconds(&reader),
                    takenAlertStampSeconds: try StateCodec.readSeconds(&reader),
                    byTokenUntilMillis: try StateCodec.readMillis(&reader), isEndTold: flags & Flag.isEndTold != 0))
        }
        let alert =
            head & 4 != 0 ? try AudienceCodec.readVersion(&reader, topicHashes: topicHashes, now: now) : nil
        guard reader.isAtEnd else { throw .malformed("bytes behind an audience's channels") }
        self.init(life: life, turn: turn, environments: environments, all: all, alert: alert)
    }
    static func readTurn(_ reader: inout StateReader) throws(StateError) -> UInt32 {
        guard let turn = UInt32(exactly: try reader.unsigned()) else { throw .malformed("a turn over 32 bits") }
        return turn
    }
}

extension VersionChannel {
    /// A header field has to hold it.
    static let idByteCountMax = 2_048
    /// One in each environment.
    static let countMax: UInt64 = 2

    static func byteCountMax(_ channels: [VersionChannel]) -> Int {
        channels.reduce(3 * ByteCursor.leb128ByteCountMax) {
            $0 + $1.id.count + 4 * ByteCursor.leb128ByteCountMax
        }
    }
    static func write(_ channels: [VersionChannel], turn: UInt32, to writer: inout ByteCursor) {
        writer.unsigned(UInt64(turn))
        writer.unsigned(UInt64(channels.count))
        for channel in channels {
            writer.byte(
                (channel.environment == .development ? 1 : 0) | (channel.serves ? 2 : 0) | (channel.isOpen ? 4 : 0))
            writer.run(channel.id.span)
            writer.signed(channel.takenStampSeconds)
            writer.signed(channel.takenAlertStampSeconds)
        }
    }
    static func read(_ reader: inout StateReader) throws(StateError) -> (turn: UInt32, channels: [VersionChannel]) {
        let turn = try AudienceChannels.readTurn(&reader)
        let count = try reader.unsigned()
        guard count <= Self.countMax else { throw .malformed("a version on \(count) channels") }
        var channels: [VersionChannel] = []
        for _ in 0..<count {
            let flags = try reader.byte()
            guard flags < 8 else { throw .malformed("flags \(flags) of a version's channel") }
            channels.append(
                VersionChannel(
                    environment: flags & 1 == 0 ? .production : .development,
                    id: try reader.run(byteCountMax: Self.idByteCountMax), serves: flags & 2 != 0,
                    isOpen: flags & 4 != 0, takenStampSeconds: try StateCodec.readSeconds(&reader),
                    takenAlertStampSeconds: try StateCodec.readSeconds(&reader)))
        }
        guard reader.isAtEnd else { throw .malformed("bytes behind a version's channels") }
        return (turn, channels)
    }
}
