import PushModel

/// A start member of an audience, or a former one that is kept to remember what it was sent. The record's key is `s`, 8
/// bytes of the audience's reference, then the raw token.
struct StartMemberRecord: Equatable {
    enum Mark: UInt8 {
        case none
        /// The member joined late, and waits for the start.
        case waits
        /// The member was sent the start, or may have been.
        case sent
    }

    /// Offset of the marker of the owner that wrote the record.
    var epoch: Int64 = -1
    var environment = PushEnvironment.production
    var isFrequent = false
    var isChannelCapable = false
    /// Whether the member has left, and is kept to remember what it was sent.
    var hasLeft = false
    /// When the member joined, seconds since 1970.
    var joinedSeconds: UInt32 = 0
    var mark = Mark.none
    /// The start that the mark is about.
    var start = StartStamp()

    func write(to writer: inout ByteCursor) {
        StateCodec.writeKind(.startMember, to: &writer)
        writer.signed(self.epoch)
        writer.byte(
            (self.environment == .development ? 1 : 0) | (self.isFrequent ? 2 : 0)
                | (self.isChannelCapable ? 4 : 0) | (self.hasLeft ? 8 : 0))
        writer.unsigned(UInt64(self.joinedSeconds))
        writer.byte(self.mark.rawValue)
        guard self.mark != .none else { return }
        writer.signed(self.start.stampSeconds)
        self.start.writeLife(to: &writer)
    }
}

extension StartMemberRecord {
    /// Reads the rest of the record, after its kind.
    init(_ reader: inout StateReader) throws(StateError) {
        self.epoch = try reader.signed()
        let flags = try reader.byte()
        guard flags < 16 else { throw .malformed("start member flags \(flags)") }
        self.environment = flags & 1 != 0 ? .development : .production
        self.isFrequent = flags & 2 != 0
        self.isChannelCapable = flags & 4 != 0
        self.hasLeft = flags & 8 != 0
        self.joinedSeconds = try StateCodec.readJoined(&reader)
        let mark = try reader.byte()
        guard let mark = Mark(rawValue: mark) else { throw .malformed("a mark of \(mark)") }
        self.mark = mark
        if mark != .none {
            self.start = try StartStamp(stampSeconds: try StateCodec.readSeconds(&reader), lifeFrom: &reader)
        }
        try reader.checkEnd(behind: "the start member")
    }

    /// Describes the record for tools.
    /// - Parameter key: the record's key.
    func described(key: [UInt8]) throws(StateError) -> StateRecordDescription.Member {
        guard let token = Self.tokenRange(inKey: key.span) else {
            throw .malformed("a start member under a key that names none")
        }
        return .init(
            epoch: self.epoch, tokenHash: StateRecordReader.hash(Array(key[token])), isStartToken: true,
            hasLeft: self.hasLeft, environment: "\(self.environment)", frequentUpdates: self.isFrequent,
            joinedSeconds: Int64(self.joinedSeconds),
            audienceReference: StateRecordReader.digits(Self.reference(inKey: key.span)))
    }
}

extension StartMemberRecord {
    /// The mark in a member's record, and the record's offset, as a restore has read them.
    struct RestoredMark {
        var mark: Mark
        var start: StartStamp
        var offset: Int64
    }
}

// MARK: - Key

extension StartMemberRecord {
    static let keyMark = UInt8(ascii: "s")
    private static let referenceByteCount = 8

    static func appendKey(reference: UInt64, token: Span<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(Self.keyMark)
        for shift in stride(from: 0, to: 64, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: reference >> UInt64(shift)))
        }
        bytes.append(copying: token)
    }
    /// Range of the token in the key of a start member; `nil`: the key is of another kind.
    static func tokenRange(inKey key: Span<UInt8>) -> Range<Int>? {
        let head = 1 + Self.referenceByteCount
        guard key.count > head, key[0] == Self.keyMark, key.count - head <= MemberTable.tokenByteCountMax else {
            return nil
        }
        return head..<key.count
    }
    /// The audience's reference in a key that has a token.
    static func reference(inKey key: Span<UInt8>) -> UInt64 {
        var reference: UInt64 = 0
        for index in 0..<Self.referenceByteCount { reference |= UInt64(key[1 + index]) << UInt64(8 * index) }
        return reference
    }
}
