import PushModel

/// A start, as a version or the book of its audience has it.
extension StartOrder {
    /// A version names its start's stamp, as it may carry one of a version before.
    func write(topicHashes: [UInt32], to writer: inout ByteCursor) {
        writer.signed(self.stampSeconds)
        writer.signed(self.expiresSeconds)
        writer.byte(self.isHigh ? 1 : 0)
        Layer.write(self.layer, topicHashes: topicHashes, to: &writer)
    }
    init(
        _ reader: inout StateReader, life: Int64, topicHashes: [UInt32], now: EngineTime
    ) throws(StateError) {
        self.life = life
        self.stampSeconds = try StateCodec.readSeconds(&reader)
        self.expiresSeconds = try StateCodec.readSeconds(&reader)
        let flags = try reader.byte()
        guard flags < 2 else { throw .malformed("start flags \(flags)") }
        self.isHigh = flags & 1 != 0
        self.layer = try Layer(&reader, topicHashes: topicHashes, now: now)
    }
}

/// A start's life lies near its stamp, so that their difference is short.
extension StartStamp {
    func writeLife(to writer: inout ByteCursor) { writer.signed(self.life &- self.stampSeconds) }
    /// - Parameter stampSeconds: has been read before.
    init(stampSeconds: Int64, lifeFrom reader: inout StateReader) throws(StateError) {
        let (life, isOver) = stampSeconds.addingReportingOverflow(try reader.signed())
        guard !isOver, life >= 0, life <= StateCodec.timeSecondsMax else { throw .malformed("a life of \(life)") }
        self.life = life
        self.stampSeconds = stampSeconds
    }
}
