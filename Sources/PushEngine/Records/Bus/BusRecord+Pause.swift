import PushModel

extension BusRecord {
    /// An operator's order to stop the pushes to members, or to let them continue. The key is the audience's id, or the
    /// app's bundle id.
    struct Pause: Equatable {
        var bundleID: [UInt8] = []
        /// Whether the key names the app instead of one audience.
        var isOfApp = false
        var isPaused = false

        func write(to writer: inout ByteCursor) {
            BusRecord.writeHead(self.bundleID, to: &writer)
            writer.byte((self.isPaused ? 1 : 0) | (self.isOfApp ? 2 : 0))
        }
    }
}

extension BusRecord.Pause {
    init(_ value: Span<UInt8>) throws(StateError) {
        var reader = StateReader(value)
        self.bundleID = try BusRecord.readHead(&reader)
        let flags = try reader.byte()
        guard flags < 4, reader.isAtEnd else { throw .malformed("flags \(flags) of a pause, or bytes behind them") }
        self.isPaused = flags & 1 != 0
        self.isOfApp = flags & 2 != 0
    }
}
