import PushModel

/// An operator's stop of the pushes of an audience in a partition, or of all audiences of an app. Its key is `h/<bundle
/// id>/<audience id>`; without an audience id it is about the app.
struct PausedRecord: Equatable {
    /// Offset of the marker of the owner that wrote it.
    var epoch: Int64
    /// When the operator stopped them, wall milliseconds.
    var sinceMillis: Int64

    func write(to writer: inout ByteCursor) {
        StateCodec.writeKind(.paused, to: &writer)
        writer.signed(self.epoch)
        writer.signed(self.sinceMillis)
    }

    /// - Parameter isOfApp: whether its key names no audience.
    func described(isOfApp: Bool) -> StateRecordDescription.Pause {
        .init(epoch: self.epoch, sinceMillis: self.sinceMillis, isOfApp: isOfApp)
    }
}

extension PausedRecord {
    /// Reads what follows the kind.
    init(_ reader: inout StateReader) throws(StateError) {
        self.epoch = try reader.signed()
        self.sinceMillis = try StateCodec.readMillis(&reader)
        try reader.checkEnd(behind: "a pause")
    }
}
