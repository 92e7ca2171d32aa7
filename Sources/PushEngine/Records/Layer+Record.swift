import PushModel

/// Writes and reads one event that waits, or the content of a version.
extension Layer {
    static func write(_ layer: borrowing Layer, topicHashes: [UInt32], to writer: inout ByteCursor) {
        writer.unsigned(UInt64(topicHashes[Int(layer.source.topic)]))
        writer.signed(Int64(layer.source.partition))
        writer.signed(layer.source.offset)
        writer.signed(layer.timestampSeconds)
        writer.signed(layer.stampFloorSeconds)
        writer.signed(layer.recordMillis)
        writer.signed(layer.expiresSeconds)
        writer.optional(layer.expirationHeaderSeconds)
        writer.byte(
            (layer.isEnd ? 1 : 0) | (layer.isStart ? 2 : 0) | (layer.alertIsInherited ? 4 : 0)
                | (layer.contentIsInherited ? 8 : 0)
                | (layer.scoreIsInherited ? 16 : 0) | (layer.mayBeSent ? 32 : 0) | (layer.staleDateIsInherited ? 64 : 0)
        )
        writer.signed(layer.alertSeconds)
        writer.signed(layer.contentSeconds)
        // The ranges are written before the bytes that they point into.
        layer.content.write(to: &writer)
        layer.alert.write(to: &writer)
        layer.eventID.write(to: &writer)
        layer.keptTraceparent.write(to: &writer)
        writer.run(layer.blob.span)
    }
    init(_ reader: inout StateReader, topicHashes: [UInt32], now: EngineTime) throws(StateError) {
        let topicHash = try reader.unsigned()
        // A topic that is no longer configured counts as the first.
        let topic = topicHashes.firstIndex { UInt64($0) == topicHash } ?? 0
        let partition = try StateCodec.readPartition(&reader)
        self.source = SourcePosition(topic: UInt16(topic), partition: partition, offset: try reader.signed())
        self.timestampSeconds = try StateCodec.readSeconds(&reader)
        self.stampFloorSeconds = try StateCodec.readSeconds(&reader)
        self.recordMillis = try reader.signed()
        self.takenMillis = now.steadyMillis
        self.expiresSeconds = try reader.signed()
        if self.expiresSeconds != .max { try StateCodec.checkSeconds(self.expiresSeconds) }
        self.expirationHeaderSeconds = try reader.optional()
        let flags = try reader.byte()
        guard flags < 128 else { throw .malformed("layer flags \(flags)") }
        self.isEnd = flags & 1 != 0
        self.isStart = flags & 2 != 0
        self.alertIsInherited = flags & 4 != 0
        self.contentIsInherited = flags & 8 != 0
        self.scoreIsInherited = flags & 16 != 0
        self.mayBeSent = flags & 32 != 0
        self.staleDateIsInherited = flags & 64 != 0
        self.alertSeconds = try reader.signed()
        self.contentSeconds = try reader.signed()
        self.isWritten = true
        self.content = try PayloadContent(&reader, within: StateCodec.runByteCountMax)
        self.alert = try ByteRange(&reader, within: StateCodec.runByteCountMax)
        self.eventID = try ByteRange(&reader, within: StateCodec.runByteCountMax)
        self.traceparent = try ByteRange(&reader, within: StateCodec.runByteCountMax)
        self.blob = try reader.run(byteCountMax: StateCodec.runByteCountMax)
        for range in [
            self.content.contentState, self.content.attributesType, self.content.attributes,
            self.content.relevanceScore, self.content.inputPushChannel, self.alert, self.eventID, self.traceparent,
        ] where range.range.upperBound > self.blob.count {
            throw .malformed("a range past its \(self.blob.count) bytes")
        }
    }
}

extension PayloadContent {
    func write(to writer: inout ByteCursor) {
        self.contentState.write(to: &writer)
        self.attributesType.write(to: &writer)
        self.attributes.write(to: &writer)
        self.relevanceScore.write(to: &writer)
        self.inputPushChannel.write(to: &writer)
        writer.byte(self.inputPushToken ? 1 : 0)
        writer.optional(self.staleDateSeconds)
        writer.optional(self.dismissalDateSeconds)
    }
    /// Reads the ranges of a payload.
    /// - Parameter byteCount: number of bytes within which all ranges must end.
    init(_ reader: inout StateReader, within byteCount: Int) throws(StateError) {
        self.init()
        self.contentState = try ByteRange(&reader, within: byteCount)
        self.attributesType = try ByteRange(&reader, within: byteCount)
        self.attributes = try ByteRange(&reader, within: byteCount)
        self.relevanceScore = try ByteRange(&reader, within: byteCount)
        self.inputPushChannel = try ByteRange(&reader, within: byteCount)
        self.inputPushToken = try reader.byte() != 0
        self.staleDateSeconds = try reader.optional()
        self.dismissalDateSeconds = try reader.optional()
    }
}

extension ByteRange {
    fileprivate func write(to writer: inout ByteCursor) {
        writer.unsigned(UInt64(self.start))
        writer.unsigned(UInt64(self.count))
    }
    fileprivate init(_ reader: inout StateReader, within byteCount: Int) throws(StateError) {
        let start = try reader.unsigned()
        let count = try reader.unsigned()
        guard start <= UInt64(byteCount), count <= UInt64(byteCount) - start else {
            throw .malformed("a range past \(byteCount) bytes")
        }
        self.init(start: Int(start), count: Int(count))
    }
}
