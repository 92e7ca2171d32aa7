import PushModel

extension BusRecord {
    /// Versions that the owner of an audience sends to a partition. The key is the audience's id.
    struct Versions {
        var bundleID: [UInt8] = []
        /// The versions in ascending order of stamps; the last is the newest.
        var versions: [Version] = []

        func write(topicHashes: [UInt32], to writer: inout ByteCursor) {
            BusRecord.writeHead(self.bundleID, to: &writer)
            Version.write(self.versions, topicHashes: topicHashes, to: &writer)
        }
    }
}

extension BusRecord.Versions {
    init(_ value: Span<UInt8>, topicHashes: [UInt32], now: EngineTime) throws(StateError) {
        var reader = StateReader(value)
        self.bundleID = try BusRecord.readHead(&reader)
        self.versions = try Version.read(&reader, topicHashes: topicHashes, now: now)
        guard reader.isAtEnd, !self.versions.isEmpty else {
            throw .malformed("bytes behind the last version, or none")
        }
    }
}
