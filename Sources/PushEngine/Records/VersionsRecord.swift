import PushModel

/// The versions that a partition sends to its members. The record's key is `v/<bundle id>/<audience id>`.
struct VersionsRecord {
    /// Offset of the marker of the owner that wrote the record.
    var epoch: Int64 = -1
    /// Life of the newest version that has arrived, even if it has expired since; 0: none has arrived.
    var life: Int64 = 0
    var stampSeconds: Int64 = 0
    var versions: [Version] = []
    /// The version whose alert is owed to some members, if that is not the newest version.
    var alert: Version?
    /// Whether `life` is over, so that none of its versions is sent now.
    var isLifeOver = false
    /// A start that is going round although its version has expired: one element, or none.
    var orders: [StartOrder] = []

    init() {}

    func write(topicHashes: [UInt32], to writer: inout ByteCursor) {
        StateCodec.writeKind(.versions, to: &writer)
        writer.signed(self.epoch)
        writer.signed(self.life)
        writer.signed(self.stampSeconds)
        Version.write(self.versions, topicHashes: topicHashes, to: &writer)
        writer.byte((self.alert == nil ? 0 : 1) | (self.orders.isEmpty ? 0 : 2) | (self.isLifeOver ? 4 : 0))
        self.alert?.write(topicHashes: topicHashes, to: &writer)
        self.orders.first?.write(topicHashes: topicHashes, to: &writer)
    }
    /// Reads the rest of the record, after its kind.
    init(_ reader: inout StateReader, topicHashes: [UInt32], now: EngineTime) throws(StateError) {
        self.epoch = try reader.signed()
        self.life = try StateCodec.readSeconds(&reader)
        self.stampSeconds = try StateCodec.readSeconds(&reader)
        self.versions = try Version.read(&reader, topicHashes: topicHashes, now: now)
        let apart = try reader.byte()
        guard apart < 8 else { throw .malformed("flags \(apart) of versions") }
        self.isLifeOver = apart & 4 != 0
        if apart & 1 != 0 { self.alert = try Version(&reader, topicHashes: topicHashes, now: now) }
        if apart & 2 != 0 {
            self.orders = [try StartOrder(&reader, life: self.life, topicHashes: topicHashes, now: now)]
        }
        try reader.checkEnd(behind: "the last version")
    }

    var described: StateRecordDescription.Crowd {
        .init(
            record: "versions", epoch: self.epoch, life: self.life, stampSeconds: self.versions.map(\.stampSeconds),
            contentState: self.versions.last.map {
                String(decoding: $0.layer.blob[$0.layer.content.contentState.range], as: UTF8.self)
            })
    }
}
