import PushModel

/// A member of an audience, or a former member that is remembered for an hour. Its key is `t`, then the raw token.
struct MemberRecord: Equatable {
    /// A position in an input topic, with a hash of the topic's name.
    struct Origin: Equatable {
        var topicHash: UInt32
        var partition: Int32
        var offset: Int64
    }
    static let keyMark = UInt8(ascii: "t")
    /// Maximum number of channels that members of a crowd may name in one environment at a time.
    static let channelNumbersMax: UInt8 = 8

    /// Offset of the marker of the owner that wrote the record.
    var epoch: Int64 = -1
    var environment = PushEnvironment.production
    var isFrequent = false
    var isMoved = false
    /// Whether a takeover must not count the join as a late one. The member was in its ring before and was not late, or
    /// it got the newest version in its former ring.
    var isKnown = false
    /// Number of the channel that the member listens on, among the crowd's channels in `PassesRecord`; `nil`: it
    /// listens on none.
    var channelNumber: UInt8?
    /// When the member joined, seconds since 1970. For a former member, the time when it left.
    var joinedSeconds: UInt32 = 0
    /// The audience's `CrowdTable.reference`. For a former member it is 0 if the member had moved to this audience from
    /// another one within the hour.
    var reference: UInt64 = 0
    /// First position of the last forwarded event about the member; `nil`: none is remembered.
    var origin: Origin?
    /// First position of the last event about the member that was forwarded from another partition or topic than the
    /// event of `origin`.
    var formerOrigin: Origin?
    /// Whether this is a former member.
    var hasLeft = false
    /// Whether this is a former member that may have been sent a push of priority 10 for its audience within the hour.
    var hadTens = false
    /// Stamp of the version whose alert the member is owed; 0: none. The member left its former ring before it got the
    /// alert.
    var owedAlertStampSeconds: Int64 = 0

    func write(to writer: inout ByteCursor) {
        StateCodec.writeKind(.member, to: &writer)
        writer.signed(self.epoch)
        writer.byte(
            (self.environment == .development ? 1 : 0) | (self.isFrequent ? 2 : 0) | (self.isMoved ? 4 : 0)
                | (self.isKnown ? 8 : 0) | (self.channelNumber.map { 16 | $0 << 5 } ?? 0))
        writer.unsigned(UInt64(self.joinedSeconds))
        writer.word(self.reference)
        let marks: UInt8 =
            (self.origin == nil ? 0 : 1) | (self.hasLeft ? 2 : 0) | (self.hadTens ? 4 : 0)
            | (self.owedAlertStampSeconds == 0 ? 0 : 8) | (self.formerOrigin == nil ? 0 : 16)
        // Most records end here, because most members have no marks.
        guard marks != 0 else { return }
        writer.byte(marks)
        self.origin?.write(to: &writer)
        self.formerOrigin?.write(to: &writer)
        if self.owedAlertStampSeconds != 0 { writer.signed(self.owedAlertStampSeconds) }
    }
}

extension MemberRecord {
    /// Reads the rest of the record, after its kind.
    init(_ reader: inout StateReader) throws(StateError) {
        self.epoch = try reader.signed()
        let flags = try reader.byte()
        guard flags & 16 != 0 || flags < 16 else { throw .malformed("member flags \(flags)") }
        self.environment = flags & 1 != 0 ? .development : .production
        self.isFrequent = flags & 2 != 0
        self.isMoved = flags & 4 != 0
        self.isKnown = flags & 8 != 0
        if flags & 16 != 0 { self.channelNumber = flags >> 5 }
        self.joinedSeconds = try StateCodec.readJoined(&reader)
        self.reference = try reader.word()
        if !reader.isAtEnd { try self.readMarks(&reader) }
        try reader.checkEnd(behind: "the member")
    }
    private mutating func readMarks(_ reader: inout StateReader) throws(StateError) {
        let marks = try reader.byte()
        guard marks != 0, marks < 32 else { throw .malformed("member marks \(marks)") }
        self.hasLeft = marks & 2 != 0
        self.hadTens = marks & 4 != 0
        if marks & 1 != 0 { self.origin = try Origin(&reader) }
        if marks & 16 != 0 { self.formerOrigin = try Origin(&reader) }
        if marks & 8 != 0 { self.owedAlertStampSeconds = try StateCodec.readSeconds(&reader) }
    }

    /// Describes the record for tools.
    /// - Parameter key: the record's key.
    func described(key: [UInt8]) throws(StateError) -> StateRecordDescription.Member {
        guard key.count > 1, key[0] == Self.keyMark else { throw .malformed("a member under a key that names none") }
        return .init(
            epoch: self.epoch, tokenHash: StateRecordReader.hash(Array(key.dropFirst())), hasLeft: self.hasLeft,
            environment: "\(self.environment)", frequentUpdates: self.isFrequent, listens: self.channelNumber != nil,
            joinedSeconds: Int64(self.joinedSeconds), audienceReference: StateRecordReader.digits(self.reference))
    }
}

extension MemberRecord.Origin {
    func write(to writer: inout ByteCursor) {
        writer.unsigned(UInt64(self.topicHash))
        writer.signed(Int64(self.partition))
        writer.signed(self.offset)
    }
    init(_ reader: inout StateReader) throws(StateError) {
        let topicHash = try reader.unsigned()
        let partition = try reader.signed()
        guard let topicHash = UInt32(exactly: topicHash), let partition = Int32(exactly: partition) else {
            throw .malformed("an origin in partition \(partition) of topic \(topicHash)")
        }
        self.init(topicHash: topicHash, partition: partition, offset: try reader.signed())
    }
}
