import APNSProtocol
import PushModel

/// The value of a kept channel's record in `state`, version 1. Integers LEB128 (signed: zigzag), byte runs behind their count.
///
/// ```
/// 1   version, kind         13
///     epoch                 offset of the owner's marker
///     phase, flags          flags: 1 has an owner, 2 announced, 4 has ended, 8 keeps the most recent message
///     since                 wall milliseconds
/// with an owner:
///     life, audience        seconds since 1970, UTF-8
/// in any phase but `wanted` and `asked`:
///     id, opened            ASCII; wall milliseconds
/// that has ended:
///     ended                 wall milliseconds
///     beacons sent, end     a count; what is broadcast again
/// in `asked`:
///     strangers             a count, then 8 bytes each, the lowest first, in ascending order
/// ```
public enum KeptChannelCodec {
    /// What the first byte says.
    public static let version: UInt8 = 1
    /// Among the kinds of records of `state`.
    public static let kind: UInt8 = 13

    /// No longer key of an event.
    public static let audienceByteCountMax = 256
    /// A header field has to hold it.
    public static let idByteCountMax = 2_048
    /// More than a broadcast's body with what is known about it.
    public static let endByteCountMax = 16_384
    /// More beacons than any linger has.
    static let beaconsMax = 1_000
    /// 2^50 seconds, as for any time in `state`.
    static let timeMillisMax: Int64 = (1 << 50) * 1_000

    private enum Flag {
        static let hasOwner: UInt8 = 1
        static let isAnnounced: UInt8 = 2
        static let hasEnded: UInt8 = 4
        static let keepsMessage: UInt8 = 8
        static let all: UInt8 = 15
    }

    // MARK: Writing

    /// - Parameter epoch: offset of the owner's marker.
    public static func encode(_ channel: KeptChannel, epoch: Int64) -> [UInt8] {
        var (bytes, scratch): ([UInt8], [UInt8]) = ([], [])
        let byteCountMax =
            (12 + channel.strangers.count) * ByteCursor.leb128ByteCountMax + (channel.owner?.audience.count ?? 0)
            + channel.id.count + channel.end.count
        bytes.append(atMost: byteCountMax, using: &scratch) { cursor in
            cursor.append(Self.version)
            cursor.append(Self.kind)
            cursor.append(signed: epoch)
            cursor.append(channel.phase.rawValue)
            cursor.append(
                (channel.owner == nil ? 0 : Flag.hasOwner) | (channel.isAnnounced ? Flag.isAnnounced : 0)
                    | (channel.endedMillis == nil ? 0 : Flag.hasEnded)
                    | (channel.policy == .mostRecent ? Flag.keepsMessage : 0))
            cursor.append(signed: channel.sinceMillis)
            if let owner = channel.owner {
                cursor.append(signed: owner.life)
                cursor.append(run: owner.audience)
            }
            if Self.hasID(channel.phase) {
                cursor.append(run: channel.id)
                cursor.append(signed: channel.openedMillis)
            }
            if let endedMillis = channel.endedMillis {
                cursor.append(signed: endedMillis)
                cursor.append(leb128: UInt64(channel.beaconsSent))
                cursor.append(run: channel.end)
            }
            guard channel.phase == .asked else { return }
            cursor.append(leb128: UInt64(channel.strangers.count))
            for stranger in channel.strangers {
                for shift in stride(from: UInt64(0), to: 64, by: 8) {
                    cursor.append(UInt8(truncatingIfNeeded: stranger >> shift))
                }
            }
        }
        return bytes
    }

    private static func hasID(_ phase: KeptChannel.Phase) -> Bool {
        switch phase {
        case .wanted, .asked: false
        case .open, .ended, .deleting, .deleted, .possiblyOurs: true
        }
    }

    // MARK: Reading

    /// - Returns: the record, and the epoch of its writer.
    /// - Throws: `KeptChannelFault`, which names the field.
    public static func decode(_ value: [UInt8]) throws(KeptChannelFault) -> (channel: KeptChannel, epoch: Int64) {
        var reader = KeptReader(value)
        let version = try reader.byte("version")
        guard version == Self.version else { throw .unknownVersion(version) }
        let kind = try reader.byte("kind")
        guard kind == Self.kind else { throw .malformed(field: "kind", value: "\(kind)", expected: "\(Self.kind)") }
        let epoch = try reader.signed("epoch")
        let phaseNumber = try reader.byte("phase")
        guard let phase = KeptChannel.Phase(rawValue: phaseNumber) else {
            throw .malformed(
                field: "phase", value: "\(phaseNumber)", expected: "1 to \(KeptChannel.Phase.allCases.count)")
        }
        let flags = try reader.byte("flags")
        guard flags & ~Flag.all == 0 else {
            throw .malformed(field: "flags", value: "\(flags)", expected: "0 to \(Flag.all)")
        }
        var channel = KeptChannel(
            owner: nil, policy: flags & Flag.keepsMessage == 0 ? .none : .mostRecent, phase: phase,
            sinceMillis: try reader.millis("since"))
        channel.isAnnounced = flags & Flag.isAnnounced != 0
        if flags & Flag.hasOwner != 0 { channel.owner = try Self.readOwner(&reader) }
        if Self.hasID(phase) {
            channel.id = try Self.readID(&reader)
            channel.openedMillis = try reader.millis("opened")
        }
        if flags & Flag.hasEnded != 0 {
            channel.endedMillis = try reader.millis("ended")
            channel.beaconsSent = try reader.count("beacons sent", max: Self.beaconsMax)
            channel.end = try reader.run("end", max: Self.endByteCountMax)
        }
        if phase == .asked { channel.strangers = try Self.readStrangers(&reader) }
        guard reader.remainingCount == 0 else {
            throw .malformed(field: "record", value: "\(reader.remainingCount) bytes longer", expected: "its end")
        }
        try Self.check(channel)
        return (channel, epoch)
    }

    private static func readOwner(_ reader: inout KeptReader) throws(KeptChannelFault) -> KeptOwner {
        let life = try reader.signed("life")
        guard life.magnitude <= (Self.timeMillisMax / 1_000).magnitude else {
            throw .malformed(
                field: "life", value: "\(life)", expected: "at most \(Self.timeMillisMax / 1_000) from 1970")
        }
        let audience = try reader.run("audience", max: Self.audienceByteCountMax)
        guard !audience.isEmpty else {
            throw .malformed(field: "audience", value: "empty", expected: "1 to \(Self.audienceByteCountMax) bytes")
        }
        return KeptOwner(audience: audience, life: life)
    }

    private static func readID(_ reader: inout KeptReader) throws(KeptChannelFault) -> [UInt8] {
        let id = try reader.run("id", max: Self.idByteCountMax)
        guard Self.isUsable(id) else {
            throw .malformed(
                field: "id", value: String(decoding: id.prefix(80), as: UTF8.self),
                expected: "1 to \(Self.idByteCountMax) visible ASCII characters")
        }
        return id
    }

    /// Whether `state` and a header field can hold the id.
    static func isUsable(_ id: [UInt8]) -> Bool {
        (1...Self.idByteCountMax).contains(id.count) && id.allSatisfy { (0x21...0x7e).contains($0) }
    }

    private static func readStrangers(_ reader: inout KeptReader) throws(KeptChannelFault) -> [UInt64] {
        let count = try reader.count("strangers' count", max: ChannelRequest.countMax)
        var strangers: [UInt64] = []
        for _ in 0..<count {
            let stranger = try reader.word("stranger")
            if let last = strangers.last, last >= stranger {
                throw .malformed(field: "stranger", value: "\(stranger)", expected: "more than \(last)")
            }
            strangers.append(stranger)
        }
        return strangers
    }

    /// What one field says about another.
    private static func check(_ channel: KeptChannel) throws(KeptChannelFault) {
        switch channel.phase {
        case .wanted where channel.owner == nil:
            throw .malformed(field: "owner", value: "missing", expected: "an audience, as somebody wants it")
        case .possiblyOurs where channel.owner != nil:
            throw .malformed(field: "owner", value: "an audience", expected: "none, as it is not known to be ours")
        case .ended where channel.endedMillis == nil:
            throw .malformed(field: "ended", value: "missing", expected: "a time, as its audience has ended")
        case .wanted where channel.endedMillis != nil, .asked where channel.endedMillis != nil,
            .open where channel.endedMillis != nil, .possiblyOurs where channel.endedMillis != nil:
            throw .malformed(field: "ended", value: "a time", expected: "none in phase \(channel.phase)")
        case .wanted, .asked, .open, .ended, .deleting, .deleted, .possiblyOurs: break
        }
    }
}

extension ByteCursor {
    fileprivate mutating func append(signed value: Int64) {
        self.append(leb128: UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    }
    fileprivate mutating func append(run bytes: [UInt8]) {
        self.append(leb128: UInt64(bytes.count))
        self.append(bytes.span)
    }
}
