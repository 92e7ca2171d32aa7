import PushModel

/// Says that an operator has stopped the pushes of an audience in a partition, or those of all audiences of an app. The
/// record's key is `h/<bundle id>/<audience id>`; without an audience id it is about the app.
struct PausedRecord: Equatable {
    /// Offset of the marker of the owner that wrote the record.
    var epoch: Int64
    /// When the operator stopped the pushes, wall milliseconds.
    var sinceMillis: Int64

    func write(to writer: inout ByteCursor) {
        StateCodec.writeKind(.paused, to: &writer)
        writer.signed(self.epoch)
        writer.signed(self.sinceMillis)
    }

    /// Describes the record for tools.
    /// - Parameter isOfApp: whether the record's key names no audience.
    func described(isOfApp: Bool) -> StateRecordDescription.Pause {
        .init(epoch: self.epoch, sinceMillis: self.sinceMillis, isOfApp: isOfApp)
    }
}

extension PausedRecord {
    /// Reads the rest of the record, after its kind.
    init(_ reader: inout StateReader) throws(StateError) {
        self.epoch = try reader.signed()
        self.sinceMillis = try StateCodec.readMillis(&reader)
        try reader.checkEnd(behind: "a pause")
    }
}
