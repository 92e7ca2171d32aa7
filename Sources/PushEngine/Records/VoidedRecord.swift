import PushModel

/// The end of an audience in a partition: members whose record is before this one are no longer members. The record's
/// key is `d/<bundle id>/<audience id>`.
struct VoidedRecord: Equatable {
    /// Offset of the marker of the owner that wrote the record.
    var epoch: Int64
    /// The life of the audience that has ended.
    var life: Int64

    func write(to writer: inout ByteCursor) {
        StateCodec.writeKind(.voided, to: &writer)
        writer.signed(self.epoch)
        writer.signed(self.life)
    }

    var described: StateRecordDescription.Crowd { .init(record: "voided", epoch: self.epoch, life: self.life) }
}

extension VoidedRecord {
    /// Reads the rest of the record, after its kind.
    init(_ reader: inout StateReader) throws(StateError) {
        self.epoch = try reader.signed()
        self.life = try StateCodec.readSeconds(&reader)
    }
}
