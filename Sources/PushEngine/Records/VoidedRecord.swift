import PushModel

/// An audience is over in a partition: members whose record lies before this one are none. Its key is `d/<bundle id>/<audience id>`.
struct VoidedRecord: Equatable {
    /// Offset of the marker of the owner that wrote it.
    var epoch: Int64
    /// Which life of the audience has ended.
    var life: Int64

    func write(to writer: inout ByteCursor) {
        StateCodec.writeKind(.voided, to: &writer)
        writer.signed(self.epoch)
        writer.signed(self.life)
    }

    var described: StateRecordDescription.Crowd { .init(record: "voided", epoch: self.epoch, life: self.life) }
}

extension VoidedRecord {
    /// Reads on behind the kind.
    init(_ reader: inout StateReader) throws(StateError) {
        self.epoch = try reader.signed()
        self.life = try StateCodec.readSeconds(&reader)
    }
}
