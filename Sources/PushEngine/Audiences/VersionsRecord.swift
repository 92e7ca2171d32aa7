import PushModel

/// What `state` says about the versions that a partition brings its members to, under the key `v/` (see `AudienceCodec`).
struct VersionsRecord {
    var epoch: Int64 = -1
    /// Of the newest version ever, which may have expired since; 0: there was none.
    var life: Int64 = 0
    var stampSeconds: Int64 = 0
    var versions: [Version] = []
    /// Whose alert is owed to some, unless it is the newest.
    var alert: Version?
    /// That life is over, and no version of it is for anybody any more.
    var isLifeOver = false
    /// A start that goes round and whose version has expired: one element, or none.
    var orders: [StartOrder] = []

    var byteCountMax: Int {
        var count = 6 * ByteCursor.leb128ByteCountMax
        for version in self.versions { count += AudienceCodec.byteCountMax(version) }
        if let alert = self.alert { count += AudienceCodec.byteCountMax(alert) }
        for order in self.orders { count += StartCodec.byteCountMax(order) }
        return count
    }
    func write(topicHashes: [UInt32], to writer: inout ByteCursor) {
        writer.byte(StateCodec.version)
        writer.byte(StateCodec.Kind.versions.rawValue)
        writer.signed(self.epoch)
        writer.signed(self.life)
        writer.signed(self.stampSeconds)
        writer.unsigned(UInt64(self.versions.count))
        for version in self.versions { AudienceCodec.write(version, topicHashes: topicHashes, to: &writer) }
        writer.byte((self.alert == nil ? 0 : 1) | (self.orders.isEmpty ? 0 : 2) | (self.isLifeOver ? 4 : 0))
        if let alert = self.alert { AudienceCodec.write(alert, topicHashes: topicHashes, to: &writer) }
        if let order = self.orders.first { StartCodec.write(order, topicHashes: topicHashes, to: &writer) }
    }
    /// Reads on behind the kind.
    init(_ reader: inout StateReader, topicHashes: [UInt32], now: EngineTime) throws(StateError) {
        self.epoch = try reader.signed()
        self.life = try StateCodec.readSeconds(&reader)
        self.stampSeconds = try StateCodec.readSeconds(&reader)
        self.versions = try AudienceCodec.readVersions(&reader, topicHashes: topicHashes, now: now)
        let apart = try reader.byte()
        guard apart < 8 else { throw .malformed("flags \(apart) of versions") }
        self.isLifeOver = apart & 4 != 0
        if apart & 1 != 0 {
            self.alert = try AudienceCodec.readVersion(&reader, topicHashes: topicHashes, now: now)
        }
        if apart & 2 != 0 {
            self.orders = [
                try StartCodec.readOrder(&reader, life: self.life, topicHashes: topicHashes, now: now)
            ]
        }
        guard reader.isAtEnd else { throw .malformed("bytes behind the last version") }
    }
    init() {}
}
