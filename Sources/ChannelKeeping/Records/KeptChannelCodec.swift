import APNSProtocol
public import PushModel

/// Reads and writes the value of a kept channel's record in `state`, version 1. Integers are LEB128 (signed ones zigzag
/// encoded), and byte runs follow their count.
public enum KeptChannelCodec {
    /// The version, which is the value's first byte.
    public static let version: UInt8 = 1
    /// The kind of `state` record, which is the value's second byte.
    public static let kind: UInt8 = 13

    /// Longest audience id, bytes. It is also the longest key of an event.
    public static let audienceByteCountMax = 256
    /// Longest channel id, bytes. A header field must hold the id.
    public static let idByteCountMax = 2_048
    /// Longest stored end, bytes. This is enough for a broadcast's body and the facts stored with it.
    public static let endByteCountMax = 16_384
    /// Maximum number of beacons that a record may count. No linger time has room for that many.
    static let beaconsMax = 1_000
    /// Latest time, milliseconds since 1970: 2^50 seconds, as for any time in `state`.
    static let timeMillisMax: Int64 = (1 << 50) * 1_000

    private enum Flag {
        static let hasOwner: UInt8 = 1
        static let isAnnounced: UInt8 = 2
        static let hasEnded: UInt8 = 4
        static let keepsMessage: UInt8 = 8
        static let all: UInt8 = 15
    }

    // MARK: Writing

    /// - Parameters:
    ///   - channel: what the record says.
    ///   - epoch: offset of the owner's marker.
    ///   - writer: where the record is appended.
    public static func write(_ channel: KeptChannel, epoch: Int64, to writer: inout ByteCursor) {
        writer.byte(Self.version)
        writer.byte(Self.kind)
        writer.signed(epoch)
        writer.byte(channel.phase.rawValue)
        writer.byte(
            (channel.owner == nil ? 0 : Flag.hasOwner) | (channel.isAnnounced ? Flag.isAnnounced : 0)
                | (channel.endedMillis == nil ? 0 : Flag.hasEnded)
                | (channel.policy == .mostRecent ? Flag.keepsMessage : 0))
        writer.signed(channel.sinceMillis)
        if let owner = channel.owner {
            writer.signed(owner.life)
            writer.run(owner.audience.span)
        }
        if Self.hasID(channel.phase) {
            writer.run(channel.id.span)
            writer.signed(channel.openedMillis)
        }
        if let endedMillis = channel.endedMillis {
            writer.signed(endedMillis)
            writer.unsigned(UInt64(channel.beaconsSent))
            writer.run(channel.end.span)
        }
        guard channel.phase == .asked else { return }
        writer.unsigned(UInt64(channel.strangers.count))
        for stranger in channel.strangers { writer.word(stranger) }
    }

    private static func hasID(_ phase: KeptChannel.Phase) -> Bool {
        switch phase {
        case .wanted, .asked: false
        case .open, .ended, .deleting, .deleted, .possiblyOurs: true
        }
    }

    // MARK: Reading

    /// Reads the part of the value that follows version and kind.
    /// - Returns: the record, and the epoch of its writer.
    /// - Throws: `StateError`, which says what is wrong with it.
    public static func read(
        _ reader: inout StateReader
    ) throws(StateError) -> (channel: KeptChannel, epoch: Int64) {
        let epoch = try reader.signed()
        let phaseNumber = try reader.byte()
        guard let phase = KeptChannel.Phase(rawValue: phaseNumber) else {
            throw .malformed("a kept channel in phase \(phaseNumber)")
        }
        let flags = try reader.byte()
        guard flags & ~Flag.all == 0 else { throw .malformed("flags \(flags) of a kept channel") }
        var channel = KeptChannel(
            owner: nil, policy: flags & Flag.keepsMessage == 0 ? .none : .mostRecent, phase: phase,
            sinceMillis: try Self.readMillis(&reader))
        channel.isAnnounced = flags & Flag.isAnnounced != 0
        if flags & Flag.hasOwner != 0 { channel.owner = try Self.readOwner(&reader) }
        if Self.hasID(phase) {
            channel.id = try Self.readID(&reader)
            channel.openedMillis = try Self.readMillis(&reader)
        }
        if flags & Flag.hasEnded != 0 {
            channel.endedMillis = try Self.readMillis(&reader)
            channel.beaconsSent = try reader.count(atMost: Self.beaconsMax, "beacons")
            channel.end = try reader.run(byteCountMax: Self.endByteCountMax)
        }
        if phase == .asked { channel.strangers = try Self.readStrangers(&reader) }
        try reader.checkEnd(behind: "a kept channel")
        try Self.check(channel)
        return (channel, epoch)
    }

    /// Reads wall milliseconds. Refuses a time that is further from 1970 than `timeMillisMax`.
    private static func readMillis(_ reader: inout StateReader) throws(StateError) -> Int64 {
        let millis = try reader.signed()
        guard millis.magnitude <= Self.timeMillisMax.magnitude else { throw .malformed("a time of \(millis) ms") }
        return millis
    }

    /// Reads the audience and the life that a kept channel belongs to.
    /// - Throws: `StateError`, if no audience can have this id or life.
    public static func readOwner(_ reader: inout StateReader) throws(StateError) -> KeptOwner {
        let life = try reader.signed()
        guard life.magnitude <= (Self.timeMillisMax / 1_000).magnitude else { throw .malformed("a life of \(life) s") }
        let audience = try reader.run(byteCountMax: Self.audienceByteCountMax)
        guard !audience.isEmpty else { throw .malformed("an audience without a name") }
        return KeptOwner(audience: audience, life: life)
    }

    /// Reads a channel's id.
    /// - Throws: `StateError`, if `isUsable` refuses it.
    public static func readID(_ reader: inout StateReader) throws(StateError) -> [UInt8] {
        let id = try reader.run(byteCountMax: Self.idByteCountMax)
        guard Self.isUsable(id) else { throw .malformed("an id of \(id.count) bytes that is no channel's") }
        return id
    }

    /// Whether `state` and a header field can hold the id. It must have 1 to `idByteCountMax` visible ASCII characters.
    public static func isUsable(_ id: [UInt8]) -> Bool {
        (1...Self.idByteCountMax).contains(id.count) && id.allSatisfy { (0x21...0x7e).contains($0) }
    }

    /// Whether Apple may have given a channel this id: it is base64, and `isUsable`.
    public static func isGivenByApple(_ id: [UInt8]) -> Bool { Self.isUsable(id) && ChannelIDText.isBase64(id) }

    private static func readStrangers(_ reader: inout StateReader) throws(StateError) -> [UInt64] {
        var strangers: [UInt64] = []
        for _ in 0..<(try reader.count(atMost: ChannelRequest.countMax, "strangers")) {
            let stranger = try reader.word()
            if let last = strangers.last, last >= stranger { throw .malformed("strangers that are not in order") }
            strangers.append(stranger)
        }
        return strangers
    }

    /// Checks that the fields agree with each other.
    private static func check(_ channel: KeptChannel) throws(StateError) {
        switch channel.phase {
        case .wanted where channel.owner == nil: throw .malformed("a wish for a channel that nobody has")
        case .possiblyOurs where channel.owner != nil:
            throw .malformed("an audience of a channel that is not known to be ours")
        case .ended where channel.endedMillis == nil: throw .malformed("an ended channel without the time of its end")
        case .wanted where channel.endedMillis != nil, .asked where channel.endedMillis != nil,
            .open where channel.endedMillis != nil, .possiblyOurs where channel.endedMillis != nil:
            throw .malformed("the time of an end in phase \(channel.phase)")
        case .wanted, .asked, .open, .ended, .deleting, .deleted, .possiblyOurs: break
        }
    }
}

extension KeptChannel {
    /// Describes the record for tools.
    /// - Parameters:
    ///   - key: the record's key.
    ///   - epoch: offset of the marker of the owner that wrote the record.
    public func described(key: KeptChannelKey, epoch: Int64) -> KeptChannelDescription {
        KeptChannelDescription(
            epoch: epoch, environment: "\(key.environment)", number: key.number, phase: "\(self.phase)",
            sinceMillis: self.sinceMillis, isAnnounced: self.isAnnounced, storage: self.policy.name,
            id: self.id.isEmpty ? nil : String(decoding: self.id, as: UTF8.self),
            openedMillis: self.openedMillis == 0 ? nil : self.openedMillis,
            audience: self.owner.map { String(decoding: $0.audience, as: UTF8.self) }, audienceLife: self.owner?.life,
            endedMillis: self.endedMillis, beaconsSent: self.beaconsSent, endByteCount: self.end.count)
    }
}
