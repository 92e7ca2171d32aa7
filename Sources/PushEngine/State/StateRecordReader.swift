import APNSProtocol
import ChannelKeeping
import PushModel

/// Reads records of the `state` topic for tools, without owning the partition. It reads every record that
/// `ShardEngine.restore` reads, and no input makes it trap.
public struct StateRecordReader: Sendable {
    private let topics: [String]
    private let topicHashes: [UInt32]

    /// Creates a reader.
    /// - Parameter inputTopics: names of the input topics and the routed topic; records name them by a hash.
    public init(inputTopics: [String]) {
        // No topic has the hash 0. Index 0, with the name `?`, is for topics that are not among `inputTopics`.
        self.topics = ["?"] + inputTopics
        self.topicHashes = [0] + inputTopics.map { StateCodec.topicHash($0) }
    }

    /// Describes a record.
    /// - Parameters:
    ///   - key: the record's key.
    ///   - value: `nil` for a tombstone.
    ///   - tombstoneEpoch: value of the header `RecordHeader.epoch`.
    ///   - nowMillis: now, since 1970; units of budget that have returned by then are not counted.
    public func read(key: [UInt8], value: [UInt8]?, tombstoneEpoch: Int64? = nil, nowMillis: Int64)
        -> StateRecordDescription
    {
        var description = StateRecordDescription(content: .tombstone(epoch: tombstoneEpoch))
        let names = Self.names(in: key)
        description.app = names?.app
        if let key = try? KeptChannelKey(key) { description.app = key.bundleID }
        switch names?.kind {
        case .channel: description.channel = names?.id
        case .audience: description.audience = names?.id
        case .activity, nil: description.activity = names?.id
        }
        guard let value else { return description }
        do {
            description.content = try self.content(
                value, kind: names?.kind, key: key, nowMillis: nowMillis)
            if case .keptChannel(let kept) = description.content {
                (description.channel, description.audience) = (kept.id, kept.audience)
            }
        } catch StateError.unknownVersion(let version) {
            description.content = .unknownVersion(version)
        } catch StateError.malformed(let text) {
            description.content = .malformed(text)
        } catch {
            description.content = .malformed("the record is cut short")
        }
        return description
    }

    /// The kind, app and id in a key such as `a/<bundle id>/<activity id>`. Keys of channels, audiences, crowds and
    /// pauses have this form, too. A bundle id has no slash.
    private static func names(in key: [UInt8]) -> (kind: SlotKind, app: String, id: String)? {
        let slash = UInt8(ascii: "/")
        for (kind, text) in SlotKind.allCases.map({ ($0, StateCodec.keyPrefix(of: $0)) })
            + StateCodec.CrowdRecord.allCases.map({ (.audience, $0.keyPrefix) })
            + [(.audience, FanOut.pauseKeyPrefix)]
        {
            var prefix: [UInt8] = []
            prefix.append(utf8: text)
            guard key.starts(with: prefix), let end = key.dropFirst(prefix.count).firstIndex(of: slash) else {
                continue
            }
            let app = String(decoding: key[prefix.count..<end], as: UTF8.self)
            return (kind, app, String(decoding: key[(end + 1)...], as: UTF8.self))
        }
        return nil
    }

    private func content(
        _ value: [UInt8], kind: SlotKind?, key: [UInt8], nowMillis: Int64
    ) throws(StateError) -> StateRecordDescription.Content {
        // The steady clock is set to the wall clock, so that times of the budget are shown as they were written.
        let now = EngineTime(steadyMillis: nowMillis, wallMillis: nowMillis)
        var reader = StateReader(value.span)
        switch try StateCodec.readKind(&reader) {
        case .marker:
            guard key == MarkerRecord.key else { throw .malformed("an ownership marker under another key") }
            return .marker(try MarkerRecord(&reader).described)
        case .activity:
            guard kind == .activity else { throw .malformed("an activity under a key that names none") }
            return .slot(try self.slot(&reader, kind: .activity, now: now))
        case .channel:
            guard kind == .channel else { throw .malformed("a channel under a key that names none") }
            return .slot(try self.slot(&reader, kind: .channel, now: now))
        case .audience:
            guard kind == .audience else { throw .malformed("an audience under a key that names none") }
            return .slot(try self.slot(&reader, kind: .audience, now: now))
        case .member: return .member(try MemberRecord(&reader).described(key: key))
        case .versions: return .crowd(try VersionsRecord(&reader, topicHashes: self.topicHashes, now: now).described)
        case .progress: return .crowd(try PassesRecord(&reader).described)
        case .paused: return .pause(try PausedRecord(&reader).described(isOfApp: key.last == UInt8(ascii: "/")))
        case .keptChannel:
            let key = try KeptChannelKey(key)
            let (channel, epoch) = try KeptChannelCodec.read(&reader)
            return .keptChannel(channel.described(key: key, epoch: epoch))
        case .startMember: return .member(try StartMemberRecord(&reader).described(key: key))
        case .startProgress: return .crowd(try StartProgressRecord(&reader).described)
        case .voided: return .crowd(try VoidedRecord(&reader).described)
        }
    }

    private func slot(
        _ reader: inout StateReader, kind: SlotKind, now: EngineTime
    ) throws(StateError) -> StateRecordDescription.Slot {
        try SlotRecord.Whole(&reader, kind: kind, topicHashes: self.topicHashes, now: now).described(
            topics: self.topics)
    }

    /// Whether a key is that of a slot's record: of an activity, a channel or an audience.
    /// - Parameter key: the key of a record of `state`.
    public static func isOfSlot(key: [UInt8]) -> Bool {
        SlotKind.allCases.contains { kind in
            var prefix: [UInt8] = []
            prefix.append(utf8: StateCodec.keyPrefix(of: kind))
            return key.starts(with: prefix)
        }
    }
    /// The app or audience that a record of a pause is about; `nil`: the record is about something else.
    /// - Parameter key: the key of a record of `state`.
    /// - Returns: app and audience; `audience` is empty if all audiences of the app are meant.
    public static func pause(inKey key: [UInt8]) -> (app: String, audience: String)? {
        var prefix: [UInt8] = []
        prefix.append(utf8: FanOut.pauseKeyPrefix)
        guard key.starts(with: prefix), let names = Self.names(in: key) else { return nil }
        return (names.app, names.id)
    }
    /// The raw token in the key of a member's record; `nil`: the key is not of such a record. The token must not be
    /// shown whole.
    /// - Parameter key: the key of a record of `state`.
    public static func memberToken(inKey key: [UInt8]) -> [UInt8]? {
        if key.count > 1, key[0] == MemberRecord.keyMark { return Array(key.dropFirst()) }
        return StartMemberRecord.tokenRange(inKey: key.span).map { Array(key[$0]) }
    }
    /// The number by which records of members name an audience: see `StateRecordDescription.Member.audienceReference`.
    public static func audienceReference(app bundleID: String, audience: String) -> String {
        let (bundleID, id) = (Array(bundleID.utf8), Array(audience.utf8))
        return Self.digits(CrowdTable.reference(bundleID: bundleID.span, id: id.span))
    }

    /// Hash of a token, in digits; the token itself is never shown.
    package static func hash(_ token: [UInt8]) -> String { Self.digits(PushComposer.hash(ofToken: token.span)) }
    static func digits(_ value: UInt64) -> String {
        var digits: [UInt8] = []
        Hex.append(value, to: &digits)
        return String(decoding: digits, as: UTF8.self)
    }
}

extension StateRecordDescription.Position {
    /// Describes a position for tools.
    /// - Parameter topics: names of all topics that a record can name.
    init(_ position: SourcePosition, topics: [String]) {
        self.init(topicIndex: Int(position.topic), topics: topics, offset: position.offset)
        self.partition = position.partition
    }
    /// Creates a position in the partition of the `state` record.
    init(topicIndex: Int, topics: [String], offset: Int64) {
        self.init(topic: topics.indices.contains(topicIndex) ? topics[topicIndex] : "?", partition: nil, offset: offset)
    }
}
