import PushModel

/// What `state` says about start members, version 1 (see `StateCodec`).
///
/// ```
/// start member              key: `s`, 8 bytes of the audience's reference, then the raw token
///     epoch, flags          flags: 1 development, 2 frequent-updates, 4 channel-capable, 8 it has left
///     joined                seconds since 1970
///     mark, stamp, life     0 none; 1 it joined late, and waits for that start; 2 it was sent that start. The life as what it is more than the
///                           stamp
/// start progress            key: `r/<bundle id>/<audience id>`
///     epoch, life, stamp    of the newest start that has gone round here, or does; 0, 0: none has
///     over                  1: it goes round no more
///     began                 wall milliseconds
///     rounds                count, then each: environment; horizon; late offset; members without an answer;
///                           named: count, then positions of members that surely were not started
///     report                see `StartReport`
///     past                  count, then each: stamp; last sent, wall milliseconds of now and of then
///     lives                 of those, what they are more than the stamps
///     refusals              of the report: see `RefusalCounts`
///     unanswered            of each round: the position from which on nobody has been met; count, then positions of others that are announced and
///                           have no answer. Records of the release before end before it
/// ```
enum StartCodec {
    static let memberKeyMark = UInt8(ascii: "s")
    static let referenceByteCount = 8

    // MARK: Members
    enum Mark: UInt8 {
        case none
        /// It joined late, and waits for the start.
        case waits
        /// It was sent the start, or may have been.
        case sent
    }
    struct Member: Equatable {
        var epoch: Int64 = -1
        var environment = PushEnvironment.production
        var isFrequent = false
        var isChannelCapable = false
        /// Kept to remember what it was sent.
        var hasLeft = false
        var joinedSeconds: UInt32 = 0
        var mark = Mark.none
        var start = StartStamp()
    }
    /// A member whose record has a mark, as a restore has read it.
    struct RestoredMark {
        var mark: Mark
        var start: StartStamp
        var offset: Int64
    }

    /// The key of a membership.
    static func appendKey(reference: UInt64, token: Span<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(Self.memberKeyMark)
        for shift in stride(from: 0, to: 64, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: reference >> UInt64(shift)))
        }
        bytes.append(copying: token)
    }
    /// Where the token lies in such a key; `nil`: it is another's.
    static func tokenRange(inKey key: Span<UInt8>) -> Range<Int>? {
        let head = 1 + Self.referenceByteCount
        guard key.count > head, key[0] == Self.memberKeyMark, key.count - head <= MemberTable.tokenByteCountMax else {
            return nil
        }
        return head..<key.count
    }
    /// Of a key that has a token.
    static func reference(inKey key: Span<UInt8>) -> UInt64 {
        var reference: UInt64 = 0
        for index in 0..<Self.referenceByteCount { reference |= UInt64(key[1 + index]) << UInt64(8 * index) }
        return reference
    }

    static var memberByteCountMax: Int { 4 + 4 * ByteCursor.leb128ByteCountMax }
    static func write(_ member: Member, to writer: inout ByteCursor) {
        writer.byte(StateCodec.version)
        writer.byte(StateCodec.Kind.startMember.rawValue)
        writer.signed(member.epoch)
        writer.byte(
            (member.environment == .development ? 1 : 0) | (member.isFrequent ? 2 : 0)
                | (member.isChannelCapable ? 4 : 0) | (member.hasLeft ? 8 : 0))
        writer.unsigned(UInt64(member.joinedSeconds))
        writer.byte(member.mark.rawValue)
        guard member.mark != .none else { return }
        writer.signed(member.start.stampSeconds)
        member.start.write(to: &writer)
    }
    static func readMember(_ reader: inout StateReader) throws(StateError) -> Member {
        var member = Member()
        member.epoch = try reader.signed()
        let flags = try reader.byte()
        guard flags < 16 else { throw .malformed("start member flags \(flags)") }
        member.environment = flags & 1 != 0 ? .development : .production
        member.isFrequent = flags & 2 != 0
        member.isChannelCapable = flags & 4 != 0
        member.hasLeft = flags & 8 != 0
        let joined = try reader.unsigned()
        guard joined <= UInt64(UInt32.max) else { throw .malformed("joined at \(joined)") }
        member.joinedSeconds = UInt32(joined)
        let mark = try reader.byte()
        guard let mark = Mark(rawValue: mark) else { throw .malformed("a mark of \(mark)") }
        member.mark = mark
        if mark != .none {
            member.start = try StartStamp(stampSeconds: try StateCodec.readSeconds(&reader), lifeFrom: &reader)
        }
        guard reader.isAtEnd else { throw .malformed("bytes behind the start member") }
        return member
    }

    // MARK: Progress
    struct Round: Equatable {
        var environment = PushEnvironment.production
        /// Members before it are announced.
        var horizon: Int64 = 0
        /// Late members whose record lies below it are announced.
        var lateOffset: Int64 = 0
        /// Of those announced, how many have no answer.
        var unansweredCount: UInt64 = 0
        /// Of those announced, the positions of whoever surely was not started, in ascending order.
        var named: [Int64] = []
        /// The position from which on, up to the horizon, no member has been met; `nil`: the record does not say.
        var unmet: Int64?
        /// Positions of other members that are announced and have no answer: `unansweredMax` at most.
        var unanswered: [Int64] = []
    }
    /// The most members that are told of singly.
    static var unansweredMax: Int { StartReports.membersToldMax }
    struct Progress: Equatable {
        var epoch: Int64 = -1
        /// The newest that has gone round here, or does.
        var start = StartStamp()
        /// Nobody is owed it any more.
        var isOver = false
        var beganMillis: Int64 = 0
        var rounds: [Round] = []
        var report = StartReport()
        /// Which, and wall milliseconds of the last push.
        var past: [CrowdStarts.Past] = []
    }
    static func byteCountMax(_ progress: borrowing Progress) -> Int {
        var count = (8 + 4 * progress.past.count) * ByteCursor.leb128ByteCountMax + StartReport.byteCountMax
        for round in progress.rounds {
            count += (7 + round.named.count + round.unanswered.count) * ByteCursor.leb128ByteCountMax
        }
        return count
    }
    static func write(_ progress: borrowing Progress, to writer: inout ByteCursor) {
        writer.byte(StateCodec.version)
        writer.byte(StateCodec.Kind.startProgress.rawValue)
        writer.signed(progress.epoch)
        writer.signed(progress.start.life)
        writer.signed(progress.start.stampSeconds)
        writer.byte(progress.isOver ? 1 : 0)
        writer.signed(progress.beganMillis)
        writer.unsigned(UInt64(progress.rounds.count))
        for round in progress.rounds {
            writer.byte(round.environment.rawValue)
            writer.signed(round.horizon)
            writer.signed(round.lateOffset)
            writer.unsigned(round.unansweredCount)
            writer.unsigned(UInt64(round.named.count))
            for position in round.named { writer.signed(position) }
        }
        progress.report.write(to: &writer)
        writer.unsigned(UInt64(progress.past.count))
        for past in progress.past {
            writer.signed(past.start.stampSeconds)
            writer.signed(past.lastSentMillis)
            writer.signed(past.lastSentWallMillis)
        }
        for past in progress.past { past.start.write(to: &writer) }
        progress.report.refusals.write(to: &writer)
        for round in progress.rounds {
            writer.signed(round.unmet ?? round.horizon)
            writer.unsigned(UInt64(round.unanswered.count))
            for position in round.unanswered { writer.signed(position) }
        }
    }
    static func readProgress(_ reader: inout StateReader) throws(StateError) -> Progress {
        var progress = Progress()
        progress.epoch = try reader.signed()
        progress.start.life = try StateCodec.readSeconds(&reader)
        progress.start.stampSeconds = try StateCodec.readSeconds(&reader)
        progress.isOver = try reader.byte() != 0
        progress.beganMillis = try StateCodec.readMillis(&reader)
        let count = try reader.unsigned()
        guard count <= UInt64(PushEnvironment.allCases.count) else { throw .malformed("\(count) start rounds") }
        for _ in 0..<count { progress.rounds.append(try Self.readRound(&reader)) }
        progress.report = try StartReport(&reader)
        let past = try reader.unsigned()
        guard past <= UInt64(CrowdStarts.pastMax) else { throw .malformed("\(past) starts within the hour") }
        for _ in 0..<past {
            progress.past.append(
                CrowdStarts.Past(
                    start: StartStamp(stampSeconds: try StateCodec.readSeconds(&reader)),
                    lastSentMillis: try StateCodec.readMillis(&reader),
                    lastSentWallMillis: try StateCodec.readMillis(&reader)))
        }
        for index in progress.past.indices {
            progress.past[index].start = try StartStamp(
                stampSeconds: progress.past[index].start.stampSeconds, lifeFrom: &reader)
        }
        progress.report.refusals = try RefusalCounts(&reader)
        guard !reader.isAtEnd else { return progress }
        for index in progress.rounds.indices { try Self.readUnanswered(&reader, of: &progress.rounds[index]) }
        guard reader.isAtEnd else { throw .malformed("bytes behind the unanswered") }
        return progress
    }
    private static func readUnanswered(
        _ reader: inout StateReader, of round: inout Round
    ) throws(StateError) {
        round.unmet = try Self.readPosition(&reader)
        let count = try reader.unsigned()
        guard count <= UInt64(Self.unansweredMax) else { throw .malformed("\(count) unanswered") }
        for _ in 0..<count { round.unanswered.append(try Self.readPosition(&reader)) }
    }
    private static func readRound(_ reader: inout StateReader) throws(StateError) -> Round {
        var round = Round()
        let environment = try reader.byte()
        guard let environment = PushEnvironment(rawValue: environment) else {
            throw .malformed("environment \(environment)")
        }
        round.environment = environment
        round.horizon = try Self.readPosition(&reader)
        round.lateOffset = try reader.signed()
        round.unansweredCount = try reader.unsigned()
        guard round.unansweredCount <= UInt64(Int32.max) else {
            throw .malformed("\(round.unansweredCount) unanswered")
        }
        let named = try reader.unsigned()
        guard named <= UInt64(StateCodec.runByteCountMax) else { throw .malformed("\(named) members named") }
        for _ in 0..<named { round.named.append(try Self.readPosition(&reader)) }
        return round
    }
    private static func readPosition(_ reader: inout StateReader) throws(StateError) -> Int64 {
        let position = try reader.signed()
        guard position >= 0, position <= StartRound.end else { throw .malformed("a position of \(position)") }
        return position
    }

    // MARK: Orders
    static func byteCountMax(_ order: borrowing StartOrder) -> Int {
        4 * ByteCursor.leb128ByteCountMax + StateCodec.byteCountMax(order.layer)
    }
    /// A version names its start's stamp, as it may carry one of a version before.
    static func write(_ order: borrowing StartOrder, topicHashes: [UInt32], to writer: inout ByteCursor) {
        writer.signed(order.stampSeconds)
        writer.signed(order.expiresSeconds)
        writer.byte(order.isHigh ? 1 : 0)
        StateCodec.write(order.layer, topicHashes: topicHashes, to: &writer)
    }
    static func readOrder(
        _ reader: inout StateReader, life: Int64, topicHashes: [UInt32], now: EngineTime
    ) throws(StateError) -> StartOrder {
        var order = StartOrder()
        order.life = life
        order.stampSeconds = try StateCodec.readSeconds(&reader)
        order.expiresSeconds = try StateCodec.readSeconds(&reader)
        let flags = try reader.byte()
        guard flags < 2 else { throw .malformed("start flags \(flags)") }
        order.isHigh = flags & 1 != 0
        order.layer = try StateCodec.readLayer(&reader, topicHashes: topicHashes, now: now)
        return order
    }
}
