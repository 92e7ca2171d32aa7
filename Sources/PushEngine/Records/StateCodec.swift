import PushModel

/// What all records of `state` have in common, version 1. Beside this file, each kind of record has a file that writes
/// and reads it. Integers are LEB128 (signed: zigzag), and runs of bytes follow their length.
///
/// Positions name topics by a hash of the topic's name, so that they stay right when the order of `topics.events`
/// changes.
enum StateCodec {
    private static let version: UInt8 = 1
    /// Maximum length of a run of bytes in a record. A payload has at most 4,096 bytes, but older releases could let an
    /// update grow with every attempt, up to what Kafka accepts.
    static let runByteCountMax = 1_048_576
    static let tokenByteCountMax = 1_024
    /// Maximum distance of a time from 1970, in seconds. Its milliseconds, and sums with them, do not overflow.
    static let timeSecondsMax: Int64 = 1 << 50
    /// Maximum number of events merged into one push. Three such counts can be added without overflow.
    static let mergedCountMax = 1 << 30

    /// The kind of a record. The number 11 has never been used.
    enum Kind: UInt8 {
        /// See `SlotRecord`.
        case activity = 1, channel = 3, audience = 4
        /// See `MarkerRecord`.
        case marker = 2
        /// Kinds of records of a partition that has members: see `VersionsRecord`, `PassesRecord`, `MemberRecord`,
        /// `VoidedRecord`, `PausedRecord`.
        case versions = 5, progress = 6, member = 7, voided = 8, paused = 12
        /// Kinds of records of a partition that has start members: see `StartMemberRecord`, `StartProgressRecord`.
        case startMember = 9, startProgress = 10
        /// See `KeptChannelCodec`.
        case keptChannel = 13
    }

    /// Writes the beginning of each record: version and kind.
    @inline(__always) static func writeKind(_ kind: Kind, to writer: inout ByteCursor) {
        writer.byte(Self.version)
        writer.byte(kind.rawValue)
    }
    /// Reads version and kind. The kind's own type reads what follows.
    static func readKind(_ reader: inout StateReader) throws(StateError) -> Kind {
        let version = try reader.byte()
        guard version == Self.version else { throw .unknownVersion(version) }
        let kind = try reader.byte()
        guard let kind = Kind(rawValue: kind) else { throw .malformed("a record of kind \(kind)") }
        return kind
    }

    // MARK: Parts of several kinds

    static func readSeconds(_ reader: inout StateReader) throws(StateError) -> Int64 {
        let seconds = try reader.signed()
        try Self.checkSeconds(seconds)
        return seconds
    }
    static func checkSeconds(_ seconds: Int64) throws(StateError) {
        guard seconds.magnitude <= UInt64(Self.timeSecondsMax) else { throw .malformed("a time of \(seconds) s") }
    }
    static func readMillis(_ reader: inout StateReader) throws(StateError) -> Int64 {
        let millis = try reader.signed()
        guard millis.magnitude / 1_000 <= UInt64(Self.timeSecondsMax) else {
            throw .malformed("a time of \(millis) ms")
        }
        return millis
    }
    /// Reads when a member joined, seconds since 1970.
    static func readJoined(_ reader: inout StateReader) throws(StateError) -> UInt32 {
        let joined = try reader.unsigned()
        guard joined <= UInt64(UInt32.max) else { throw .malformed("joined at \(joined)") }
        return UInt32(joined)
    }
    static func readPartition(_ reader: inout StateReader) throws(StateError) -> Int32 {
        guard let partition = Int32(exactly: try reader.signed()) else { throw .malformed("a partition number") }
        return partition
    }
    static func readEnvironment(_ reader: inout StateReader) throws(StateError) -> PushEnvironment {
        let environment = try reader.byte()
        guard let environment = PushEnvironment(rawValue: environment) else {
            throw .malformed("environment \(environment)")
        }
        return environment
    }
    /// The hash by which positions name a topic: FNV-1a, 32 bits; 0 means "none".
    static func topicHash(_ name: String) -> UInt32 {
        var hash: UInt32 = 0x811c_9dc5
        for byte in name.utf8 { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
        return hash == 0 ? 1 : hash
    }

    // MARK: Keys

    /// The kind of a crowd's record, as the beginning of its key shows it.
    enum CrowdRecord: UInt8, CaseIterable {
        case versions, progress, voided, starts

        var keyPrefix: StaticString {
            switch self {
            case .versions: "v/"
            case .progress: "p/"
            case .voided: "d/"
            case .starts: "r/"
            }
        }
    }
    static func appendKey(_ record: CrowdRecord, bundleID: String, id: [UInt8], to bytes: inout [UInt8]) {
        bytes.append(utf8: record.keyPrefix)
        bytes.append(contentsOf: bundleID.utf8)
        bytes.append(UInt8(ascii: "/"))
        bytes.append(contentsOf: id)
    }
    /// Appends the key of a slot's record.
    static func appendKey(
        kind: SlotKind = .activity, bundleID: String, id: Span<UInt8>, to bytes: inout [UInt8]
    ) {
        bytes.append(utf8: Self.keyPrefix(of: kind))
        bytes.append(contentsOf: bundleID.utf8)
        bytes.append(UInt8(ascii: "/"))
        bytes.append(copying: id)
    }
    /// The beginning of the key of a record about a slot of this kind.
    static func keyPrefix(of kind: SlotKind) -> StaticString {
        switch kind {
        case .activity: "a/"
        case .channel: "c/"
        case .audience: "o/"
        }
    }
}
