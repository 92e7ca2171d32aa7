import ChannelKeeping
import PushModel

@testable import PushEngine

/// Reads a record as the engine does, and writes what was read: so that bytes alone say what is expected.
enum GoldenReading {
    static let topicHashes = ["liveactivity.events", "liveactivity.routed"].map { StateCodec.topicHash($0) }
    static let now = EngineTime(steadyMillis: 10_000_000, wallMillis: 1_700_000_000_000)

    /// - Parameter name: what stands before its dot says what the bytes are, if they are of `routed`.
    static func again(_ bytes: [UInt8], of name: String) throws(StateError) -> [UInt8] {
        switch name.prefix(while: { $0 != "." }) {
        case "question":
            let question = try BusRecord.readQuestion(bytes.span)
            return Self.written(BusRecord.byteCountMax(bundleID: question.bundleID)) {
                BusRecord.write(question, to: &$0)
            }
        case "version":
            let told = try BusRecord.readVersions(bytes.span, topicHashes: Self.topicHashes, now: Self.now)
            return Self.told(told)
        case "void":
            let void = try BusRecord.readVoid(bytes.span)
            return Self.written(BusRecord.byteCountMax(bundleID: void.bundleID)) { BusRecord.write(void, to: &$0) }
        case "report":
            let report = try BusRecord.readReport(bytes.span)
            return Self.written(BusRecord.byteCountMax(bundleID: report.bundleID)) { BusRecord.write(report, to: &$0) }
        case "pause":
            let pause = try BusRecord.readPause(bytes.span)
            return Self.written(BusRecord.byteCountMax(bundleID: pause.bundleID)) { BusRecord.write(pause, to: &$0) }
        case "channel-wish":
            let wish = try BusRecord.readChannelWish(bytes.span)
            return Self.written(BusRecord.byteCountMax(wish)) { BusRecord.write(wish, to: &$0) }
        case "channel-news":
            let news = try BusRecord.readChannelNews(bytes.span)
            return Self.written(BusRecord.byteCountMax(news)) { BusRecord.write(news, to: &$0) }
        case "kept-question":
            let question = try BusRecord.readKeptQuestion(bytes.span)
            return Self.written(BusRecord.byteCountMax(question)) { BusRecord.write(question, to: &$0) }
        case "kept-answer":
            let answer = try BusRecord.readKeptAnswer(bytes.span)
            return Self.written(BusRecord.byteCountMax(answer)) { BusRecord.write(answer, to: &$0) }
        default: return try Self.state(bytes)
        }
    }

    /// A record of `state` says itself what it is.
    private static func state(_ bytes: [UInt8]) throws(StateError) -> [UInt8] {
        var reader = StateReader(bytes.span)
        let kind = try StateCodec.readKind(&reader)
        switch kind {
        case .activity: return try Self.slot(&reader, .activity)
        case .channel: return try Self.slot(&reader, .channel)
        case .audience: return try Self.slot(&reader, .audience)
        case .marker:
            let marker = try StateCodec.readMarker(&reader)
            return Self.written(StateCodec.byteCountMax(marker)) { StateCodec.write(marker, to: &$0) }
        case .versions:
            let record = try VersionsRecord(&reader, topicHashes: Self.topicHashes, now: Self.now)
            return Self.written(record.byteCountMax) { record.write(topicHashes: Self.topicHashes, to: &$0) }
        case .progress:
            let progress = try AudienceCodec.readProgress(&reader)
            return Self.written(AudienceCodec.byteCountMax(progress)) { AudienceCodec.write(progress, to: &$0) }
        case .member:
            let member = try AudienceCodec.readMember(&reader)
            return Self.written(AudienceCodec.memberByteCountMax) { AudienceCodec.write(member, to: &$0) }
        case .startMember:
            let member = try StartCodec.readMember(&reader)
            return Self.written(StartCodec.memberByteCountMax) { StartCodec.write(member, to: &$0) }
        case .startProgress:
            let progress = try StartCodec.readProgress(&reader)
            return Self.written(StartCodec.byteCountMax(progress)) { StartCodec.write(progress, to: &$0) }
        case .keptChannel:
            let (channel, epoch) = try KeptChannelCodec.read(&reader)
            return Self.written(KeptChannelCodec.byteCountMax(channel)) {
                KeptChannelCodec.write(channel, epoch: epoch, to: &$0)
            }
        case .voided: return try Self.voided(&reader)
        case .paused:
            let pause = try AudienceCodec.readPause(&reader)
            return GoldenState.paused(epoch: pause.epoch, sinceMillis: pause.sinceMillis)
        }
    }
    private static func voided(_ reader: inout StateReader) throws(StateError) -> [UInt8] {
        let epoch = try reader.signed()
        return GoldenState.voided(epoch: epoch, life: try StateCodec.readSeconds(&reader))
    }
    private static func slot(_ reader: inout StateReader, _ kind: SlotKind) throws(StateError) -> [UInt8] {
        let read = try StateCodec.readSlot(&reader, kind: kind, topicHashes: Self.topicHashes, now: Self.now)
        let count = try reader.unsigned()
        guard count <= 3 else { throw .malformed("\(count) updates") }
        var updates: [Update] = []
        for _ in 0..<count {
            updates.append(try StateCodec.readUpdate(&reader, topicHashes: Self.topicHashes, now: Self.now))
        }
        let book =
            kind == .audience
            ? try AudienceCodec.readBook(&reader, topicHashes: Self.topicHashes, now: Self.now) : nil
        guard reader.isAtEnd else { throw .malformed("bytes behind the last update") }
        return Self.slot(read, updates, book: book)
    }

    // MARK: Writing

    /// What the engine puts into a buffer of that size.
    static func written(_ byteCountMax: Int, _ body: (inout ByteCursor) -> Void) -> [UInt8] {
        StateRandom.written(byteCountMax: byteCountMax, body)
    }
    /// A slot's record.
    static func slot(
        _ read: StateCodec.ReadSlot, _ updates: [Update] = [], book: AudienceOwner? = nil,
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
        let byteCountMax =
            StateCodec.byteCountMax(stated, budgetUnits: read.budget.answers.count)
            + updates.reduce(0) { $0 + StateCodec.byteCountMax($1) }
        var bytes = Self.written(byteCountMax) { writer in
            StateCodec.write(
                stated, isStorageConfigured: isStorageConfigured, isUnkept: read.channel?.isUnkept ?? false,
                token: read.token.span, routed: read.routed, answers: read.budget.answers.span,
                isInFlight: read.budget.inFlight, epoch: read.epoch, isReleased: read.isReleased,
                topicHashes: Self.topicHashes, now: Self.now, to: &writer)
            writer.unsigned(UInt64(updates.count))
            for update in updates {
                StateCodec.write(update, topicHashes: Self.topicHashes, now: Self.now, to: &writer)
            }
        }
        guard let book else { return bytes }
        bytes += Self.written(AudienceCodec.byteCountMax(book)) {
            AudienceCodec.write(book, topicHashes: Self.topicHashes, now: Self.now, to: &$0)
        }
        return bytes
    }
    /// Versions as a partition is told of them.
    static func told(_ told: BusRecord.Versions) -> [UInt8] {
        Self.written(BusRecord.byteCountMax(bundleID: told.bundleID, versions: told.versions)) {
            BusRecord.write(
                bundleID: told.bundleID, versions: told.versions, topicHashes: Self.topicHashes, to: &$0)
        }
    }
}
