import PushModel

/// The record with which an owner takes the partition, or confirms that it has it. Its key is `m`.
///
/// A marker before an owner's first push also has the header `RecordHeader.takeovers`. Releases that do not know the
/// header ignore it.
struct MarkerRecord: Equatable {
    /// Offset of the owner's first marker; -1: this record is the first.
    var epoch: Int64
    /// Wall milliseconds.
    var takenOverWallMillis: Int64
    /// Number of partitions of the topics.
    var partitionCount: Int32
    /// Kafka's name of the cluster; empty: not known.
    var clusterID: [UInt8]
    /// Records of `state` below this offset name positions of other logs; -1: none does.
    var voidBefore: Int64 = -1

    static let key: [UInt8] = [UInt8(ascii: "m")]
    static let clusterIDByteCountMax = 255

    func write(to writer: inout ByteCursor) {
        StateCodec.writeKind(.marker, to: &writer)
        writer.signed(self.epoch)
        writer.signed(self.takenOverWallMillis)
        writer.signed(Int64(self.partitionCount))
        writer.run(self.clusterID.span)
        // Releases that do not know the field stop at it, so it is written only when it says something.
        if self.voidBefore >= 0 { writer.signed(self.voidBefore) }
    }
}

extension MarkerRecord {
    /// Reads what follows the kind.
    init(_ reader: inout StateReader) throws(StateError) {
        self.epoch = try reader.signed()
        self.takenOverWallMillis = try reader.signed()
        let count = try reader.signed()
        guard let partitionCount = Int32(exactly: count) else { throw .malformed("\(count) partitions") }
        self.partitionCount = partitionCount
        self.clusterID = try reader.run(byteCountMax: Self.clusterIDByteCountMax)
        if !reader.isAtEnd { self.voidBefore = try reader.signed() }
        try reader.checkEnd(behind: "the marker")
    }

    var described: StateRecordDescription.Marker {
        .init(
            epoch: self.epoch < 0 ? nil : self.epoch, takenOverMillis: self.takenOverWallMillis,
            partitionCount: self.partitionCount, cluster: String(decoding: self.clusterID, as: UTF8.self),
            voidBefore: self.voidBefore < 0 ? nil : self.voidBefore)
    }
}
