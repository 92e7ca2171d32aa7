import PushModel

extension BusRecord {
    /// An operator stops the pushes to members, or lets them go on. The key is the audience's id, or the app's.
    struct Pause: Equatable {
        var bundleID: [UInt8] = []
        /// The key names the app, and not one audience.
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
