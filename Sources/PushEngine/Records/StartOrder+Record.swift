import PushModel

/// Writes and reads a start, as part of a version or of its audience's book.
extension StartOrder {
    /// Writes the start with its stamp: a version may carry the start of an earlier version.
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

/// Writes and reads a start's life as its difference to the stamp. Life and stamp are close, so the difference is
/// short.
extension StartStamp {
    func writeLife(to writer: inout ByteCursor) { writer.signed(self.life &- self.stampSeconds) }
    /// Reads the life.
    /// - Parameter stampSeconds: the stamp, which has been read before.
    init(stampSeconds: Int64, lifeFrom reader: inout StateReader) throws(StateError) {
        let (life, isOver) = stampSeconds.addingReportingOverflow(try reader.signed())
        guard !isOver, life >= 0, life <= StateCodec.timeSecondsMax else { throw .malformed("a life of \(life)") }
        self.life = life
        self.stampSeconds = stampSeconds
    }
}
