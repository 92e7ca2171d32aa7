import ChannelKeeping
import PushModel

@testable import PushEngine

/// Reads a record as the engine does, and writes it again. So the expected result can be given as bytes.
enum GoldenReading {
    static let topicHashes = ["liveactivity.events", "liveactivity.routed"].map { StateCodec.topicHash($0) }
    static let now = EngineTime(steadyMillis: 10_000_000, wallMillis: 1_700_000_000_000)

    /// - Parameter name: name of the record. For a record of `routed`, the part before the dot is the record's kind.
    static func again(_ bytes: [UInt8], of name: String) throws(StateError) -> [UInt8] {
        switch name.prefix(while: { $0 != "." }) {
        case "question":
            let question = try BusRecord.Question(bytes.span)
            return Self.written {
                question.write(to: &$0)
            }
        case "version":
            let told = try BusRecord.Versions(bytes.span, topicHashes: Self.topicHashes, now: Self.now)
            return Self.told(told)
        case "void":
            let void = try BusRecord.Void(bytes.span)
            return Self.written { void.write(to: &$0) }
        case "report":
            let report = try BusRecord.Report(bytes.span)
            return Self.written { report.write(to: &$0) }
        case "pause":
            let pause = try BusRecord.Pause(bytes.span)
            return Self.written { pause.write(to: &$0) }
        case "channel-wish":
            let wish = try BusRecord.ChannelWish(bytes.span)
            return Self.written { wish.write(to: &$0) }
        case "channel-news":
            let news = try BusRecord.ChannelNews(bytes.span)
            return Self.written { news.write(to: &$0) }
        case "kept-question":
            let question = try BusRecord.KeptQuestion(bytes.span)
            return Self.written { question.write(to: &$0) }
        case "kept-answer":
            let answer = try BusRecord.KeptAnswer(bytes.span)
            return Self.written { answer.write(to: &$0) }
        default: return try Self.state(bytes)
        }
    }

    /// Reads a record of `state`. Its bytes say which kind it is.
    private static func state(_ bytes: [UInt8]) throws(StateError) -> [UInt8] {
        var reader = StateReader(bytes.span)
        let kind = try StateCodec.readKind(&reader)
        switch kind {
        case .activity: return try Self.slot(&reader, .activity)
        case .channel: return try Self.slot(&reader, .channel)
        case .audience: return try Self.slot(&reader, .audience)
        case .marker:
            let marker = try MarkerRecord(&reader)
            return Self.written { marker.write(to: &$0) }
        case .versions:
            let record = try VersionsRecord(&reader, topicHashes: Self.topicHashes, now: Self.now)
            return Self.written { record.write(topicHashes: Self.topicHashes, to: &$0) }
        case .progress:
            let progress = try PassesRecord(&reader)
            return Self.written { progress.write(to: &$0) }
        case .member:
            let member = try MemberRecord(&reader)
            return Self.written { member.write(to: &$0) }
        case .startMember:
            let member = try StartMemberRecord(&reader)
            return Self.written { member.write(to: &$0) }
        case .startProgress:
            let progress = try StartProgressRecord(&reader)
            return Self.written { progress.write(to: &$0) }
        case .keptChannel:
            let (channel, epoch) = try KeptChannelCodec.read(&reader)
            return Self.written {
                KeptChannelCodec.write(channel, epoch: epoch, to: &$0)
            }
        case .voided:
            let record = try VoidedRecord(&reader)
            return Self.written { record.write(to: &$0) }
        case .paused:
            let record = try PausedRecord(&reader)
            return Self.written { record.write(to: &$0) }
        }
    }
    private static func slot(_ reader: inout StateReader, _ kind: SlotKind) throws(StateError) -> [UInt8] {
        let read = try SlotRecord.Whole(&reader, kind: kind, topicHashes: Self.topicHashes, now: Self.now)
        return Self.slot(read, read.updates, book: read.book)
    }

    // MARK: Writing

    /// The bytes that `body` writes, as the engine would write them.
    static func written(_ body: (inout ByteCursor) -> Void) -> [UInt8] { StateRandom.written(body) }
    /// A slot's record.
    static func slot(
        _ read: SlotRecord.Whole, _ updates: [Update] = [], book: AudienceOwner? = nil,
        isStorageConfigured: Bool = false
    ) -> [UInt8] {
        var slot = read.slot
        slot.tokenByteCount = UInt16(read.token.count)
        if let channel = read.channel {
            slot.storage = channel.storage
            slot.throttleSteps = channel.throttleSteps
            slot.notBeforeMillis = Self.now.steadyMillis + (channel.notBeforeWallMillis - Self.now.wallMillis)
        }
        let stated = slot
        var bytes = Self.written { writer in
            SlotRecord.write(
                stated, isStorageConfigured: isStorageConfigured, isUnkept: read.channel?.isUnkept ?? false,
                token: read.token.span, routed: read.routed, answers: read.budget.answers.span,
                isInFlight: read.budget.inFlight, epoch: read.epoch, isReleased: read.isReleased,
                topicHashes: Self.topicHashes, now: Self.now, to: &writer)
            writer.unsigned(UInt64(updates.count))
            for update in updates {
                Update.write(update, topicHashes: Self.topicHashes, now: Self.now, to: &writer)
            }
        }
        guard let book else { return bytes }
        bytes += Self.written {
            book.write(topicHashes: Self.topicHashes, now: Self.now, to: &$0)
        }
        return bytes
    }
    /// The bus record that brings versions to a partition.
    static func told(_ told: BusRecord.Versions) -> [UInt8] {
        Self.written {
            told.write(topicHashes: Self.topicHashes, to: &$0)
        }
    }
}
