import APNSProtocol
import ChannelKeeping
import PushModel

/// Reads records of the `state` topic without being their owner: for tools. Reads what `ShardEngine.restore` reads, and traps no more than
/// it does.
public struct StateRecordReader: Sendable {
    private let topics: [String]
    private let topicHashes: [UInt32]

    /// - Parameter inputTopics: names of the input topics and the routed one; records name them by a hash.
    public init(inputTopics: [String]) {
        // 0 is the hash of no topic: what is not known is found at the first place.
        self.topics = ["?"] + inputTopics
        self.topicHashes = [0] + inputTopics.map { StateCodec.topicHash($0) }
    }

    /// What a record says.
    /// - Parameters:
    ///   - key: names the slot, or is that of markers.
    ///   - value: `nil`: a tombstone.
    ///   - tombstoneEpoch: what its header `RecordHeader.epoch` says.
    ///   - nowMillis: since 1970; units of budget that are back by then are not counted.
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

    /// `a/<bundle id>/<activity id>`, `c/<bundle id>/<channel id>`; a bundle id has no slash.
    private static func names(in key: [UInt8]) -> (kind: SlotKind, app: String, id: String)? {
        let slash = UInt8(ascii: "/")
        for (kind, text) in SlotKind.allCases.map({ ($0, StateCodec.keyPrefix(of: $0)) })
            + AudienceCodec.CrowdRecord.allCases.map({ (.audience, $0.keyPrefix) })
            + [(.audience, ShardEngine.pauseKeyPrefix)]
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

    private func content(_ value: [UInt8], kind: SlotKind?, key: [UInt8], nowMillis: Int64) throws(StateError)
        -> StateRecordDescription.Content
    {
        var reader = StateReader(value.span)
        switch try StateCodec.readKind(&reader) {
        case .marker:
            guard key == StateCodec.markerKey else { throw .malformed("an ownership marker under another key") }
            return .marker(Self.describe(try StateCodec.readMarker(&reader)))
        case .activity:
            guard kind == .activity else { throw .malformed("an activity under a key that names none") }
            return .slot(try self.slot(&reader, kind: .activity, nowMillis: nowMillis))
        case .channel:
            guard kind == .channel else { throw .malformed("a channel under a key that names none") }
            return .slot(try self.slot(&reader, kind: .channel, nowMillis: nowMillis))
        case .audience:
            guard kind == .audience else { throw .malformed("an audience under a key that names none") }
            return .slot(try self.slot(&reader, kind: .audience, nowMillis: nowMillis))
        case .member: return .member(try self.member(&reader, key: key))
        case .versions: return .crowd(try self.versions(&reader, nowMillis: nowMillis))
        case .progress: return .crowd(try self.progress(&reader))
        case .paused:
            let pause = try AudienceCodec.readPause(&reader)
            return .pause(
                .init(epoch: pause.epoch, sinceMillis: pause.sinceMillis, isOfApp: key.last == UInt8(ascii: "/")))
        case .keptChannel: return .keptChannel(try self.keptChannel(&reader, key: key))
        case .startMember: return .member(try self.startMember(&reader, key: key))
        case .startProgress: return .crowd(try self.startProgress(&reader))
        case .voided:
            let epoch = try reader.signed()
            return .crowd(.init(record: "voided", epoch: epoch, life: try StateCodec.readSeconds(&reader)))
        }
    }

    private func keptChannel(
        _ reader: inout StateReader, key: [UInt8]
    ) throws(StateError) -> StateRecordDescription.KeptChannel {
        let key = try KeptChannelKey(key)
        let (channel, epoch) = try KeptChannelCodec.read(&reader)
        return .init(
            epoch: epoch, environment: "\(key.environment)", number: key.number, phase: "\(channel.phase)",
            sinceMillis: channel.sinceMillis, isAnnounced: channel.isAnnounced, storage: channel.policy.name,
            id: channel.id.isEmpty ? nil : String(decoding: channel.id, as: UTF8.self),
            openedMillis: channel.openedMillis == 0 ? nil : channel.openedMillis,
            audience: channel.owner.map { String(decoding: $0.audience, as: UTF8.self) },
            audienceLife: channel.owner?.life, endedMillis: channel.endedMillis, beaconsSent: channel.beaconsSent,
            endByteCount: channel.end.count)
    }

    private func member(_ reader: inout StateReader, key: [UInt8]) throws(StateError) -> StateRecordDescription.Member {
        guard key.count > 1, key[0] == AudienceCodec.memberKeyMark else {
            throw .malformed("a member under a key that names none")
        }
        let member = try AudienceCodec.readMember(&reader)
        var reference: [UInt8] = []
        Hex.append(member.reference, to: &reference)
        return .init(
            epoch: member.epoch, tokenHash: Self.hash(Array(key.dropFirst())), hasLeft: member.hasLeft,
            environment: "\(member.environment)", frequentUpdates: member.isFrequent,
            listens: member.channelNumber != nil, joinedSeconds: Int64(member.joinedSeconds),
            audienceReference: String(decoding: reference, as: UTF8.self))
    }

    private func startMember(
        _ reader: inout StateReader, key: [UInt8]
    ) throws(StateError) -> StateRecordDescription.Member {
        guard let range = StartCodec.tokenRange(inKey: key.span) else {
            throw .malformed("a start member under a key that names none")
        }
        let member = try StartCodec.readMember(&reader)
        var reference: [UInt8] = []
        Hex.append(StartCodec.reference(inKey: key.span), to: &reference)
        return .init(
            epoch: member.epoch, tokenHash: Self.hash(Array(key[range])), isStartToken: true, hasLeft: member.hasLeft,
            environment: "\(member.environment)", frequentUpdates: member.isFrequent,
            joinedSeconds: Int64(member.joinedSeconds), audienceReference: String(decoding: reference, as: UTF8.self))
    }

    private func startProgress(_ reader: inout StateReader) throws(StateError) -> StateRecordDescription.Crowd {
        let progress = try StartCodec.readProgress(&reader)
        return .init(
            record: "starts", epoch: progress.epoch, life: progress.start.life,
            stampSeconds: [progress.start.stampSeconds],
            passes: progress.rounds.map {
                .init(
                    environment: "\($0.environment)", shareMet: Double($0.horizon) / Double(StartRound.end),
                    waitingCount: $0.named.count)
            })
    }

    private func versions(
        _ reader: inout StateReader, nowMillis: Int64
    ) throws(StateError) -> StateRecordDescription.Crowd {
        let now = EngineTime(steadyMillis: nowMillis, wallMillis: nowMillis)
        let record = try VersionsRecord(&reader, topicHashes: self.topicHashes, now: now)
        return .init(
            record: "versions", epoch: record.epoch, life: record.life,
            stampSeconds: record.versions.map(\.stampSeconds),
            contentState: record.versions.last.map {
                String(decoding: $0.layer.blob[$0.layer.content.contentState.range], as: UTF8.self)
            })
    }

    private func progress(_ reader: inout StateReader) throws(StateError) -> StateRecordDescription.Crowd {
        let progress = try AudienceCodec.readProgress(&reader)
        return .init(
            record: "progress", epoch: progress.epoch, life: progress.life, stampSeconds: [progress.stampSeconds],
            passes: progress.passes.map {
                .init(
                    environment: "\($0.environment)",
                    shareMet: max(
                        0, 1 - Double(($0.untils.last?.until ?? 0) - $0.position) / Double(Pass.circle)),
                    waitingCount: $0.waiting.count)
            },
            counts: progress.report.stampSeconds > 0 ? Self.describe(progress.report) : nil)
    }
    private static func describe(_ report: CrowdReport) -> [String: UInt64] {
        [
            "members": report.counts.due, "accepted": report.counts.accepted, "superseded": report.counts.superseded,
            "expired": report.counts.expired, "gone": report.counts.gone, "failed": report.counts.failed,
            "left": report.counts.left, "waiting": report.waitingCount, "retried": report.counts.repeated,
        ]
    }
    private static func describe(_ book: AudienceOwner) -> StateRecordDescription.Book {
        .init(
            audienceLife: book.life,
            partitions: book.asked.map { .init(partition: $0, doneStampSeconds: book.reported[$0] ?? 0) },
            versions: book.publications.map {
                .init(
                    stampSeconds: $0.version.stampSeconds, isOpen: $0.isOpen, event: "\($0.version.kind)",
                    mergedCount: Int($0.mergedCount))
            },
            budgetUnitsOut: book.budget.ledger.count, frequentBudgetUnitsOut: book.budget.frequentLedger.count,
            channels: book.channels.all.map {
                .init(
                    environment: "\($0.environment)", standing: "\($0.standing)",
                    id: $0.id.isEmpty ? nil : String(decoding: $0.id, as: UTF8.self), serves: $0.serves,
                    takenStampSeconds: $0.takenStampSeconds > 0 ? $0.takenStampSeconds : nil)
            })
    }
    /// Whether a key names an activity, a channel or an audience itself, and not something that is remembered beside it.
    /// - Parameter key: of a record of `state`.
    public static func isOfSlot(key: [UInt8]) -> Bool {
        SlotKind.allCases.contains { kind in
            var prefix: [UInt8] = []
            prefix.append(utf8: StateCodec.keyPrefix(of: kind))
            return key.starts(with: prefix)
        }
    }
    /// Whose pause a record is about, also one that lifts it; `nil`: it is about something else.
    /// - Parameter key: of a record of `state`.
    /// - Returns: `audience` is empty where all audiences of the app are meant.
    public static func pause(inKey key: [UInt8]) -> (app: String, audience: String)? {
        var prefix: [UInt8] = []
        prefix.append(utf8: ShardEngine.pauseKeyPrefix)
        guard key.starts(with: prefix), let names = Self.names(in: key) else { return nil }
        return (names.app, names.id)
    }
    /// The raw token in the key of a member's record; `nil`: the record is no member's. Nobody is to see it whole.
    /// - Parameter key: of a record of `state`.
    public static func memberToken(inKey key: [UInt8]) -> [UInt8]? {
        if key.count > 1, key[0] == AudienceCodec.memberKeyMark { return Array(key.dropFirst()) }
        return StartCodec.tokenRange(inKey: key.span).map { Array(key[$0]) }
    }
    /// How records of members name an audience: `StateRecordDescription.Member.audienceReference`.
    public static func audienceReference(app bundleID: String, audience: String) -> String {
        let (bundleID, id) = (Array(bundleID.utf8), Array(audience.utf8))
        var digits: [UInt8] = []
        Hex.append(CrowdTable.reference(bundleID: bundleID.span, id: id.span), to: &digits)
        return String(decoding: digits, as: UTF8.self)
    }

    private static func describe(_ marker: StateCodec.Marker) -> StateRecordDescription.Marker {
        .init(
            epoch: marker.epoch < 0 ? nil : marker.epoch, takenOverMillis: marker.takenOverWallMillis,
            partitionCount: marker.partitionCount, cluster: String(decoding: marker.clusterID, as: UTF8.self))
    }

    private func slot(
        _ reader: inout StateReader, kind: SlotKind, nowMillis: Int64
    ) throws(StateError) -> StateRecordDescription.Slot {
        // One clock for both: times of the budget come out as they were written.
        let now = EngineTime(steadyMillis: nowMillis, wallMillis: nowMillis)
        let read = try StateCodec.readSlot(&reader, kind: kind, topicHashes: self.topicHashes, now: now)
        let count = try reader.unsigned()
        guard count <= 3 else { throw .malformed("\(count) updates") }
        var updates: [StateRecordDescription.Update] = []
        for _ in 0..<count {
            updates.append(
                self.describe(try StateCodec.readUpdate(&reader, topicHashes: self.topicHashes, now: now)))
        }
        let book =
            kind == .audience
            ? try AudienceCodec.readBook(&reader, topicHashes: self.topicHashes, now: now) : nil
        guard reader.isAtEnd else { throw .malformed("bytes behind the last update") }
        let slot = read.slot
        return .init(
            epoch: read.epoch, life: "\(slot.life)", environment: "\(slot.environment)",
            frequentUpdates: slot.frequentUpdates, tokenHash: read.token.isEmpty ? nil : Self.hash(read.token),
            tokenIsDead: slot.tokenStanding == .dead,
            registeredMillis: slot.registeredWallMillis > 0 ? slot.registeredWallMillis : nil,
            lastAcceptedSeconds: slot.lastAcceptedSeconds <= 0 ? nil : slot.lastAcceptedSeconds,
            lastStampSeconds: slot.lastStampSeconds > 0 ? slot.lastStampSeconds : nil,
            lastTouchedMillis: slot.lastTouchedWallMillis,
            applied: slot.applied.offset < 0
                ? nil
                : .init(topic: self.topic(Int32(slot.applied.topic)), partition: nil, offset: slot.applied.offset),
            appliedRoutedOffset: read.routed.appliedOffset < 0 ? nil : read.routed.appliedOffset,
            appliedRoutedOrigin: read.routed.appliedOrigin.offset < 0
                ? nil : self.describe(read.routed.appliedOrigin),
            formerRoutedOrigin: read.routed.formerOrigin.offset < 0
                ? nil : self.describe(read.routed.formerOrigin),
            budgetUnitsOut: read.budget.answers.count,
            budgetReturnsMillis: read.budget.answers.first.map { $0 + RollingBudget.windowMillis },
            channel: read.channel.map(Self.describe), isAudience: kind == .audience,
            book: book.map(Self.describe), updates: updates)
    }

    private static func describe(_ channel: StateCodec.ChannelPart) -> StateRecordDescription.Channel {
        let storage: String? =
            switch channel.storage {
            case .unknown: nil
            case .none: ChannelStoragePolicy.none.rawValue
            case .mostRecent: ChannelStoragePolicy.mostRecent.rawValue
            }
        return .init(
            storage: storage, throttleSteps: Int(channel.throttleSteps), notBeforeMillis: channel.notBeforeWallMillis)
    }

    private func describe(_ update: Update) -> StateRecordDescription.Update {
        let top = update.top
        let starts = update.start.first
        let byteCount =
            top.blob.count + update.under.reduce(0) { $0 + $1.blob.count } + (starts.map { $0.blob.count } ?? 0)
        func text(_ range: ByteRange) -> String { String(decoding: top.blob[range.range], as: UTF8.self) }
        return .init(
            event: update.isStart ? "start" : update.isEnd ? "end" : "update",
            priority: Int(update.priority.rawValue),
            stampSeconds: update.stampSeconds, timestampSeconds: top.timestampSeconds,
            expiresSeconds: top.expiresSeconds == .max ? nil : top.expiresSeconds,
            mergedCount: Int(update.mergedCount), openCount: update.eventCount, byteCount: byteCount,
            hasAlert: update.hasAlert, mayBeSent: top.mayBeSent, newest: self.describe(top.source),
            contentState: text(top.content.contentState), alert: text(top.alert))
    }

    private func describe(_ position: SourcePosition) -> StateRecordDescription.Position {
        .init(topic: self.topic(Int32(position.topic)), partition: position.partition, offset: position.offset)
    }

    private func topic(_ index: Int32) -> String {
        self.topics.indices.contains(Int(index)) ? self.topics[Int(index)] : "?"
    }

    private static func hash(_ token: [UInt8]) -> String {
        var digits: [UInt8] = []
        Hex.append(PushComposer.hash(ofToken: token.span), to: &digits)
        return String(decoding: digits, as: UTF8.self)
    }
}
