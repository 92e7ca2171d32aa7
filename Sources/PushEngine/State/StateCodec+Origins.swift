import PushModel

/// Where records that were forwarded first lay, as a slot's record tells it.
extension StateCodec {
    static func write(_ origin: SourcePosition, topicHashes: [UInt32], to writer: inout ByteCursor) {
        writer.unsigned(origin.offset < 0 ? 0 : UInt64(topicHashes[Int(origin.topic)]))
        writer.signed(Int64(origin.partition))
        writer.signed(origin.offset)
    }

    /// Reads where a forwarded record first lay: `nowhere` if its topic is not configured.
    static func readOrigin(
        _ reader: inout StateReader, topicHashes: [UInt32]
    ) throws(StateError) -> SourcePosition {
        let hash = try reader.unsigned()
        let partition = try reader.signed()
        let offset = try reader.signed()
        guard let topic = topicHashes.firstIndex(where: { UInt64($0) == hash }),
            let partition = Int32(exactly: partition)
        else { return RoutedPositions.nowhere }
        return SourcePosition(topic: UInt16(topic), partition: partition, offset: offset)
    }
}
