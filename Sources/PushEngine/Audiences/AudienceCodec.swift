import PushModel

/// What `state` says about audiences, version 1 (see `StateCodec`): records of an owner's slot end with its book; those of a partition's crowds
/// and members have kinds of their own.
///
/// ```
/// member                    key: `t`, then the raw token
///     epoch, flags          flags: 1 development, 2 frequent-updates, 4 moved, 8 written of a member that was not late, 16 listens on a
///                           channel, whose number in the crowd stands in the upper three bits: `progress` has its id
///     joined                seconds since 1970; of one that has left, when it did
///     audience              8 bytes, `CrowdTable.reference`; of one that has left, 0 where it had come from another within the hour
///     marks                 1 what follows is topic hash, partition and offset of where the last record of the token first lay, which was
///                           forwarded; 2 it has left, and this stays for an hour; 4 it had pushes of priority 10 there within the hour;
///                           8 what follows then is the stamp of the version whose alert the member is owed and its ring does not bring.
///                           Most records end before it
/// versions                  key: `v/<bundle id>/<audience id>`
///     epoch, life, stamp    of the newest version ever
///     versions              count, then each: see `write(_ version:)`. With flag 16 a run follows: the channels of the audience, and the turn
///     apart                 flags: 1 a version follows whose alert is owed, and which is not the newest; 2 a start follows that goes round,
///                           and whose version has expired
/// progress                  key: `p/<bundle id>/<audience id>`
///     epoch, life, stamp    of the newest version that it tells of
///     served joins          offset in `state`: members whose record lies before it are not late
///     last join             seconds since 1970
///     passes                count, then each: see `write(_ pass:)`
///     late moves            until when no member's mark of a move is given up, seconds since 1970
///     report                what became of members so far: see `CrowdReport`
///     alert report          the same of the version whose alert is owed, if there is one and it is not the newest; the record may end before it
/// voided                    key: `d/<bundle id>/<audience id>`
///     epoch, life           members whose record lies before this one are none
/// ```
enum AudienceCodec {
    static let memberKeyMark = UInt8(ascii: "t")
    /// Which record of a crowd a key names.
    enum CrowdRecord: UInt8, CaseIterable {
        case versions, progress, voided
        /// See `StartCodec`.
        case starts

        var keyPrefix: StaticString {
            switch self {
            case .versions: "v/"
            case .progress: "p/"
            case .voided: "d/"
            case .starts: "r/"
            }
        }
    }
    /// Versions in one record: those kept, and one for its alert.
    static let versionsMax: UInt64 = 16
    static let askedMax: UInt64 = 1_000_000
    /// What a record says of an audience's channels: ids by environment, and an alert.
    static let channelsByteCountMax = 16_384

    static func appendKey(_ record: CrowdRecord, bundleID: String, id: [UInt8], to bytes: inout [UInt8]) {
        bytes.append(utf8: record.keyPrefix)
        bytes.append(contentsOf: bundleID.utf8)
        bytes.append(UInt8(ascii: "/"))
        bytes.append(contentsOf: id)
    }

    // MARK: Members
    struct Member: Equatable {
        var epoch: Int64 = -1
        var environment = PushEnvironment.production
        var isFrequent = false
        var isMoved = false
        /// Written again of a member that was known, and not late.
        var isKnown = false
        /// Of the channel that it listens on, among those of the crowd; `nil`: it listens on none.
        var channelNumber: UInt8?
        var joinedSeconds: UInt32 = 0
        var reference: UInt64 = 0
        /// Where its last record first lay, if it was forwarded.
        var origin: Origin?
        /// Where the last one from another partition than that first lay.
        var formerOrigin: Origin?
        /// It is a member no more.
        var hasLeft = false
        /// And may have had priority 10 there within the hour.
        var hadTens = false
        /// It came to its ring before the alert of this version had come to it where it was; 0: none is owed.
        var owedAlertStampSeconds: Int64 = 0
    }
    /// A position of an input topic, which goes by the hash of its name.
    struct Origin: Equatable {
        var topicHash: UInt32
        var partition: Int32
        var offset: Int64
    }
    /// Channels that members of a crowd in one environment name, at a time.
    static let channelNumbersMax: UInt8 = 8
    static var memberByteCountMax: Int { 4 + 10 * ByteCursor.leb128ByteCountMax + 8 }
    static func write(_ member: Member, to writer: inout ByteCursor) {
        writer.byte(StateCodec.version)
        writer.byte(StateCodec.Kind.member.rawValue)
        writer.signed(member.epoch)
        writer.byte(
            (member.environment == .development ? 1 : 0) | (member.isFrequent ? 2 : 0) | (member.isMoved ? 4 : 0)
                | (member.isKnown ? 8 : 0) | (member.channelNumber.map { 16 | $0 << 5 } ?? 0))
        writer.unsigned(UInt64(member.joinedSeconds))
        for shift in stride(from: 0, to: 64, by: 8) {
            writer.byte(UInt8(truncatingIfNeeded: member.reference >> UInt64(shift)))
        }
        let marks: UInt8 =
            (member.origin == nil ? 0 : 1) | (member.hasLeft ? 2 : 0) | (member.hadTens ? 4 : 0)
            | (member.owedAlertStampSeconds == 0 ? 0 : 8) | (member.formerOrigin == nil ? 0 : 16)
        guard marks != 0 else { return }
        writer.byte(marks)
        if let origin = member.origin { Self.write(origin, to: &writer) }
        if let origin = member.formerOrigin { Self.write(origin, to: &writer) }
        if member.owedAlertStampSeconds != 0 { writer.signed(member.owedAlertStampSeconds) }
    }
    static func readMember(_ reader: inout StateReader) throws(StateError) -> Member {
        var member = Member()
        member.epoch = try reader.signed()
        let flags = try reader.byte()
        guard flags & 16 != 0 || flags < 16 else { throw .malformed("member flags \(flags)") }
        member.environment = flags & 1 != 0 ? .development : .production
        member.isFrequent = flags & 2 != 0
        member.isMoved = flags & 4 != 0
        member.isKnown = flags & 8 != 0
        if flags & 16 != 0 { member.channelNumber = flags >> 5 }
        let joined = try reader.unsigned()
        guard joined <= UInt64(UInt32.max) else { throw .malformed("joined at \(joined)") }
        member.joinedSeconds = UInt32(joined)
        for shift in stride(from: 0, to: 64, by: 8) {
            member.reference |= UInt64(try reader.byte()) << UInt64(shift)
        }
        if !reader.isAtEnd { try Self.readMarks(of: &member, &reader) }
        guard reader.isAtEnd else { throw .malformed("bytes behind the member") }
        return member
    }

    private static func readMarks(of member: inout Member, _ reader: inout StateReader) throws(StateError) {
        let marks = try reader.byte()
        guard marks != 0, marks < 32 else { throw .malformed("member marks \(marks)") }
        member.hasLeft = marks & 2 != 0
        member.hadTens = marks & 4 != 0
        if marks & 1 != 0 { member.origin = try Self.readOrigin(&reader) }
        if marks & 16 != 0 { member.formerOrigin = try Self.readOrigin(&reader) }
        if marks & 8 != 0 { member.owedAlertStampSeconds = try StateCodec.readSeconds(&reader) }
    }

    private static func write(_ origin: Origin, to writer: inout ByteCursor) {
        writer.unsigned(UInt64(origin.topicHash))
        writer.signed(Int64(origin.partition))
        writer.signed(origin.offset)
    }
    private static func readOrigin(_ reader: inout StateReader) throws(StateError) -> Origin {
        let topicHash = try reader.unsigned()
        let partition = try reader.signed()
        guard let topicHash = UInt32(exactly: topicHash), let partition = Int32(exactly: partition) else {
            throw .malformed("an origin in partition \(partition) of topic \(topicHash)")
        }
        return Origin(topicHash: topicHash, partition: partition, offset: try reader.signed())
    }

    // MARK: Versions
    static func byteCountMax(_ version: borrowing Version) -> Int {
        VersionChannel.byteCountMax(version.channels) + 5 * ByteCursor.leb128ByteCountMax
            + StateCodec.byteCountMax(version.layer)
            + (version.start.map { StartCodec.byteCountMax($0) } ?? 0)
    }
    static func write(_ version: borrowing Version, topicHashes: [UInt32], to writer: inout ByteCursor) {
        writer.signed(version.life)
        writer.signed(version.stampSeconds)
        writer.byte(
            (version.isHigh ? 1 : 0) | (version.isFrequentHigh ? 2 : 0) | (version.withdrawsAlert ? 4 : 0)
                | (version.starts.isEmpty ? 0 : 8) | (version.turn == 0 && version.channels.isEmpty ? 0 : 16))
        StateCodec.write(version.layer, topicHashes: topicHashes, to: &writer)
        if let order = version.start { StartCodec.write(order, topicHashes: topicHashes, to: &writer) }
        guard version.turn != 0 || !version.channels.isEmpty else { return }
        var (bytes, scratch): ([UInt8], [UInt8]) = ([], [])
        let (channels, turn) = (version.channels, version.turn)
        bytes.append(atMost: VersionChannel.byteCountMax(channels), using: &scratch) {
            VersionChannel.write(channels, turn: turn, to: &$0)
        }
        writer.run(bytes.span)
    }
    static func readVersion(
        _ reader: inout StateReader, topicHashes: [UInt32], now: EngineTime
    ) throws(StateError) -> Version {
        var version = Version()
        version.life = try StateCodec.readSeconds(&reader)
        version.stampSeconds = try StateCodec.readSeconds(&reader)
        let flags = try reader.byte()
        guard flags < 32 else { throw .malformed("version flags \(flags)") }
        version.isHigh = flags & 1 != 0
        version.isFrequentHigh = flags & 2 != 0
        version.withdrawsAlert = flags & 4 != 0
        version.layer = try StateCodec.readLayer(&reader, topicHashes: topicHashes, now: now)
        if flags & 8 != 0 {
            version.starts = [
                try StartCodec.readOrder(&reader, life: version.life, topicHashes: topicHashes, now: now)
            ]
        }
        if flags & 16 != 0 {
            let bytes = try reader.run(byteCountMax: Self.channelsByteCountMax)
            var channels = StateReader(bytes.span)
            (version.turn, version.channels) = try VersionChannel.read(&channels)
        }
        return version
    }
    static func readVersions(
        _ reader: inout StateReader, topicHashes: [UInt32], now: EngineTime
    ) throws(StateError) -> [Version] {
        let count = try reader.unsigned()
        guard count <= Self.versionsMax else { throw .malformed("\(count) versions") }
        var versions: [Version] = []
        for _ in 0..<count { versions.append(try Self.readVersion(&reader, topicHashes: topicHashes, now: now)) }
        return versions
    }

    // MARK: Progress
    /// One pass as it is written down. Positions within one turn; ends counted from the position.
    struct PassPart {
        var environment = PushEnvironment.production
        /// Of members that listen on a channel: which.
        var listening: Listening?
        var position: Int64 = 0
        /// By version: its stamp, and where its round ends.
        var untils: [(stampSeconds: Int64, until: Int64)] = []
        var aloneUntil: Int64?
        var alertUntil: Int64 = 0
        var highUntil: Int64 = 0
        var frequentHighUntil: Int64 = 0
        var horizon: Int64 = 0
        /// Members behind it that are unanswered or wait: their positions, and whether they are owed the alert.
        var waiting: [(position: Int64, owesAlert: Bool)] = []
        /// Positions of members before it that were served already, or that were served by token where a channel brings the version; and of those
        /// that joined after the alert that goes round.
        var skipped: [Int64] = []
        var quiet: [Int64] = []
    }
    /// What is said of a pass over members that listen on a channel.
    struct Listening {
        /// As members' records name it.
        var number: UInt8
        var id: [UInt8]
        /// The newest version reaches them by broadcast.
        var isServed: Bool
    }
    struct Progress {
        var epoch: Int64 = -1
        var life: Int64 = 0
        var stampSeconds: Int64 = 0
        /// Of the version whose alert is owed to some; 0: none is.
        var alertStampSeconds: Int64 = 0
        var servedJoins: Int64 = -1
        var lastJoinSeconds: Int64 = 0
        var passes: [PassPart] = []
        var lateMovesUntilSeconds: Int64 = 0
        var report = CrowdReport()
        /// Of the version whose alert is owed, where that is not the newest: members may be sent it alone.
        var alertReport: CrowdReport?
    }
    static func byteCountMax(_ progress: borrowing Progress) -> Int {
        var count = 10 * ByteCursor.leb128ByteCountMax + 2 * CrowdReport.byteCountMax
        for pass in progress.passes {
            count +=
                (16 + 2 * pass.untils.count + pass.waiting.count + pass.skipped.count + pass.quiet.count)
                * ByteCursor.leb128ByteCountMax + (pass.listening?.id.count ?? 0)
        }
        return count
    }
    static func write(_ progress: borrowing Progress, to writer: inout ByteCursor) {
        writer.byte(StateCodec.version)
        writer.byte(StateCodec.Kind.progress.rawValue)
        writer.signed(progress.epoch)
        writer.signed(progress.life)
        writer.signed(progress.stampSeconds)
        writer.signed(progress.alertStampSeconds)
        writer.signed(progress.servedJoins)
        writer.signed(progress.lastJoinSeconds)
        writer.unsigned(UInt64(progress.passes.count))
        for pass in progress.passes {
            writer.byte(pass.environment.rawValue | (pass.listening == nil ? 0 : 2))
            if let listening = pass.listening {
                writer.byte(listening.number << 1 | (listening.isServed ? 1 : 0))
                writer.run(listening.id.span)
            }
            writer.signed(pass.position)
            writer.unsigned(UInt64(pass.untils.count))
            for target in pass.untils {
                writer.signed(target.stampSeconds)
                writer.signed(target.until)
            }
            writer.optional(pass.aloneUntil)
            writer.signed(pass.alertUntil)
            writer.signed(pass.highUntil)
            writer.signed(pass.frequentHighUntil)
            writer.signed(pass.horizon)
            writer.unsigned(UInt64(pass.waiting.count))
            writer.unsigned(UInt64(pass.skipped.count))
            writer.unsigned(UInt64(pass.quiet.count))
            for position in pass.skipped + pass.quiet { writer.signed(position) }
            for member in pass.waiting { writer.unsigned(UInt64(member.position) << 1 | (member.owesAlert ? 1 : 0)) }
        }
        writer.signed(progress.lateMovesUntilSeconds)
        progress.report.write(to: &writer)
        progress.alertReport?.write(to: &writer)
    }
    static func readProgress(_ reader: inout StateReader) throws(StateError) -> Progress {
        var progress = Progress()
        progress.epoch = try reader.signed()
        progress.life = try StateCodec.readSeconds(&reader)
        progress.stampSeconds = try StateCodec.readSeconds(&reader)
        progress.alertStampSeconds = try StateCodec.readSeconds(&reader)
        progress.servedJoins = try reader.signed()
        progress.lastJoinSeconds = try StateCodec.readSeconds(&reader)
        let count = try reader.unsigned()
        let most = PushEnvironment.allCases.count * (1 + Int(Self.channelNumbersMax))
        guard count <= UInt64(most) else { throw .malformed("\(count) passes") }
        for _ in 0..<count {
            var pass = PassPart()
            let head = try reader.byte()
            guard head < 4, let environment = PushEnvironment(rawValue: head & 1) else {
                throw .malformed("environment \(head)")
            }
            pass.environment = environment
            if head & 2 != 0 {
                let number = try reader.byte()
                guard number >> 1 < Self.channelNumbersMax else {
                    throw .malformed("channel \(number >> 1) of a crowd")
                }
                pass.listening = Listening(
                    number: number >> 1, id: try reader.run(byteCountMax: VersionChannel.idByteCountMax),
                    isServed: number & 1 != 0)
            }
            pass.position = try Self.readPosition(&reader)
            let untils = try reader.unsigned()
            guard untils <= UInt64(Crowd.versionsMax) else { throw .malformed("\(untils) targets") }
            for _ in 0..<untils {
                pass.untils.append((try StateCodec.readSeconds(&reader), try Self.readPosition(&reader)))
            }
            pass.aloneUntil = try reader.optional()
            if let until = pass.aloneUntil { try Self.checkPosition(until) }
            pass.alertUntil = try Self.readPosition(&reader)
            pass.highUntil = try Self.readPosition(&reader)
            pass.frequentHighUntil = try Self.readPosition(&reader)
            pass.horizon = try Self.readPosition(&reader)
            let waiting = try reader.unsigned()
            guard waiting <= UInt64(StateCodec.runByteCountMax) else { throw .malformed("\(waiting) members wait") }
            let skipped = try reader.unsigned()
            guard skipped <= UInt64(Pass.skippedMax) else { throw .malformed("\(skipped) members skipped") }
            let quiet = try reader.unsigned()
            guard quiet <= UInt64(Pass.skippedMax) else { throw .malformed("\(quiet) members without the alert") }
            for _ in 0..<skipped { pass.skipped.append(try Self.readPosition(&reader)) }
            for _ in 0..<quiet { pass.quiet.append(try Self.readPosition(&reader)) }
            for _ in 0..<waiting {
                let member = try reader.unsigned()
                guard member >> 1 < UInt64(Pass.circle) else { throw .malformed("a member at \(member >> 1)") }
                pass.waiting.append((Int64(member >> 1), member & 1 != 0))
            }
            progress.passes.append(pass)
        }
        progress.lateMovesUntilSeconds = try StateCodec.readSeconds(&reader)
        progress.report = try CrowdReport(&reader)
        if !reader.isAtEnd { progress.alertReport = try CrowdReport(&reader) }
        guard reader.isAtEnd else { throw .malformed("bytes behind the reports") }
        return progress
    }
    private static func readPosition(_ reader: inout StateReader) throws(StateError) -> Int64 {
        let position = try reader.signed()
        try Self.checkPosition(position)
        return position
    }
    private static func checkPosition(_ position: Int64) throws(StateError) {
        guard position >= 0, position < 8 * Pass.circle else { throw .malformed("a position of \(position)") }
    }

    // MARK: Books
    static func byteCountMax(_ book: borrowing AudienceOwner) -> Int {
        var count = (13 + 2 * book.asked.count) * ByteCursor.leb128ByteCountMax + book.channels.byteCountMax
        for order in book.waitingStarts { count += StartCodec.byteCountMax(order) }
        count += (book.budget.ledger.count + book.budget.frequentLedger.count) * ByteCursor.leb128ByteCountMax
        for publication in book.publications {
            count += 4 * ByteCursor.leb128ByteCountMax + Self.byteCountMax(publication.version)
            for version in publication.fallbacks { count += Self.byteCountMax(version) }
        }
        return count
    }
    static func write(
        _ book: borrowing AudienceOwner, topicHashes: [UInt32], now: EngineTime, to writer: inout ByteCursor
    ) {
        writer.signed(book.life)
        writer.signed(book.startsUntilSeconds)
        writer.byte(book.waitingStarts.isEmpty ? 0 : 1)
        if let order = book.waitingStarts.first { StartCodec.write(order, topicHashes: topicHashes, to: &writer) }
        writer.unsigned(UInt64(book.asked.count))
        for partition in book.asked {
            writer.signed(Int64(partition))
            writer.signed(book.reported[partition] ?? 0)
        }
        Self.write(book.budget.ledger, now: now, to: &writer)
        Self.write(book.budget.frequentLedger, now: now, to: &writer)
        writer.unsigned(UInt64(book.publications.count))
        for publication in book.publications {
            writer.byte(publication.isOpen ? 1 : 0)
            writer.unsigned(UInt64(publication.mergedCount))
            writer.unsigned(UInt64(publication.fallbacks.count + 1))
            for version in publication.fallbacks { Self.write(version, topicHashes: topicHashes, to: &writer) }
            Self.write(publication.version, topicHashes: topicHashes, to: &writer)
        }
        guard !book.channels.isBlank else { return }
        var (bytes, scratch): ([UInt8], [UInt8]) = ([], [])
        bytes.append(atMost: book.channels.byteCountMax, using: &scratch) {
            book.channels.write(topicHashes: topicHashes, to: &$0)
        }
        writer.run(bytes.span)
    }
    private static func write(_ ledger: VersionLedger, now: EngineTime, to writer: inout ByteCursor) {
        writer.unsigned(UInt64(ledger.open.count))
        for stamp in ledger.open { writer.signed(stamp) }
        writer.unsigned(UInt64(ledger.returning.count))
        for time in ledger.returning { writer.signed(now.wallMillis - (now.steadyMillis - time)) }
    }
    static func readBook(
        _ reader: inout StateReader, topicHashes: [UInt32], now: EngineTime
    ) throws(StateError) -> AudienceOwner {
        let life = try StateCodec.readSeconds(&reader)
        let startsUntilSeconds = try StateCodec.readSeconds(&reader)
        let starts = try reader.byte()
        guard starts < 2 else { throw .malformed("\(starts) starts wait") }
        let waitingStart =
            starts == 1 ? try StartCodec.readOrder(&reader, life: 0, topicHashes: topicHashes, now: now) : nil
        let askedCount = try reader.unsigned()
        guard askedCount <= Self.askedMax else { throw .malformed("\(askedCount) partitions") }
        var asked: [(partition: Int32, doneStampSeconds: Int64)] = []
        for _ in 0..<askedCount {
            guard let partition = Int32(exactly: try reader.signed()) else { throw .malformed("a partition number") }
            asked.append((partition, try StateCodec.readSeconds(&reader)))
        }
        let ledger = try Self.readLedger(&reader, now: now)
        let budget = AudienceBudget(ledger: ledger, frequentLedger: try Self.readLedger(&reader, now: now))
        let count = try reader.unsigned()
        guard count <= Self.versionsMax else { throw .malformed("\(count) publications") }
        var publications: [AudienceOwner.Publication] = []
        for _ in 0..<count {
            let isOpen = try reader.byte() != 0
            let merged = try reader.unsigned()
            guard merged <= StateCodec.mergedCountMax else { throw .malformed("\(merged) merged events") }
            var fallbacks = try Self.readVersions(&reader, topicHashes: topicHashes, now: now)
            guard let newest = fallbacks.popLast() else { throw .malformed("a publication of nothing") }
            publications.append(
                AudienceOwner.Publication(
                    version: newest, fallbacks: fallbacks, status: isOpen ? .told : .done, mergedCount: UInt32(merged)))
        }
        var channels = AudienceChannels()
        if !reader.isAtEnd {
            let bytes = try reader.run(byteCountMax: Self.channelsByteCountMax)
            var channelsReader = StateReader(bytes.span)
            channels = try AudienceChannels(&channelsReader, topicHashes: topicHashes, now: now)
        }
        return AudienceOwner(
            life: life, startsUntilSeconds: startsUntilSeconds, waitingStart: waitingStart, asked: asked,
            budget: budget, publications: publications, channels: channels)
    }
    private static func readLedger(_ reader: inout StateReader, now: EngineTime) throws(StateError) -> VersionLedger {
        let openCount = try reader.unsigned()
        guard openCount <= StateCodec.budgetUnitsMax else { throw .malformed("\(openCount) budget units") }
        var open: [Int64] = []
        for _ in 0..<openCount { open.append(try StateCodec.readSeconds(&reader)) }
        let count = try reader.unsigned()
        guard count <= StateCodec.budgetUnitsMax else { throw .malformed("\(count) budget units") }
        var ages: [Int64] = []
        for _ in 0..<count { ages.append(now.wallMillis - (try StateCodec.readMillis(&reader))) }
        var ledger = VersionLedger()
        ledger.restore(open: open, ages: ages, nowMillis: now.steadyMillis)
        return ledger
    }
}

extension VersionLedger {
    /// Units that are out, as far as the ledger was last looked at.
    var count: Int { self.open.count + self.returning.count }
}
