import PushModel

/// The record with which an owner takes a partition over, or confirms its ownership. Its key is `m`.
///
/// A marker that confirms its owner's first one, or that repairs a gap, also has the header `RecordHeader.takeovers`.
/// The last marker of an owner that leaves in good order has `RecordHeader.released`. Releases that do not know a
/// header ignore it.
struct MarkerRecord: Equatable {
    /// Offset of the owner's first marker; -1: this record is the first.
    var epoch: Int64
    /// When the owner took the partition over, wall milliseconds.
    var takenOverWallMillis: Int64
    /// Number of partitions of the topics.
    var partitionCount: Int32
    /// Kafka's name of the cluster; empty: not known.
    var clusterID: [UInt8]
    /// Records of `state` below this offset have void positions, which are from another cluster, or from before the
    /// topics were made anew. -1: no positions are void.
    var voidBefore: Int64 = -1

    static let key: [UInt8] = [UInt8(ascii: "m")]
    static let clusterIDByteCountMax = 255

    func write(to writer: inout ByteCursor) {
        StateCodec.writeKind(.marker, to: &writer)
        writer.signed(self.epoch)
        writer.signed(self.takenOverWallMillis)
        writer.signed(Int64(self.partitionCount))
        writer.run(self.clusterID.span)
        // Older releases stop at a field that they do not know, so the field is written only when it has a value.
        if self.voidBefore >= 0 { writer.signed(self.voidBefore) }
    }
}

extension MarkerRecord {
    /// Reads the rest of the record, after its kind.
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
