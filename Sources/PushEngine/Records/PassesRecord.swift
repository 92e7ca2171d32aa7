import PushModel

/// How far the versions of a crowd have been sent to its members. The record's key is `p/<bundle id>/<audience id>`.
struct PassesRecord {
    /// Offset of the marker of the owner that wrote the record.
    var epoch: Int64 = -1
    var life: Int64 = 0
    /// Stamp of the newest version that the record covers.
    var stampSeconds: Int64 = 0
    /// Stamp of the version whose alert is owed to some members; 0: none is.
    var alertStampSeconds: Int64 = 0
    /// An offset in `state`. Members whose record is before this offset are not late.
    var servedJoins: Int64 = -1
    /// When the newest member joined, seconds since 1970.
    var lastJoinSeconds: Int64 = 0
    var passes: [PassPart] = []
    /// Members keep their mark of a move (`MemberRecord.isMoved`) at least until this time, seconds since 1970.
    var delayedMovesUntilSeconds: Int64 = 0
    /// Counts of what became of members so far.
    var report = CrowdReport()
    /// Report of the version whose alert is owed, if that is not the newest version. Members may be sent that alert
    /// without newer content.
    var alertReport: CrowdReport?

    /// One pass as it is written down. Its position is lowered by whole laps to the first lap of the ring. Ends of
    /// rounds are lowered by as many laps, and may be in later laps.
    struct PassPart {
        var environment = PushEnvironment.production
        /// The channel that the pass's members listen on; `nil`: they listen on none.
        var listening: Listening?
        var position: Int64 = 0
        /// The stamp of each version, and the end of its round.
        var untils: [(stampSeconds: Int64, until: Int64)] = []
        var aloneUntil: Int64?
        var alertUntil: Int64 = 0
        var highUntil: Int64 = 0
        var frequentHighUntil: Int64 = 0
        var horizon: Int64 = 0
        /// Members that wait for another attempt, or whose push has no answer. Each has its position, and whether it is
        /// owed the alert.
        var waiting: [(position: Int64, owesAlert: Bool)] = []
        /// Positions of members that the round skips, because they have been served. If a channel brings the version,
        /// no round skips members, and these are the positions of members that were served by token.
        var skipped: [Int64] = []
        /// Positions of members that get no alert, because they joined after it.
        var quiet: [Int64] = []
    }
    /// What the record says about a pass whose members listen on a channel.
    struct Listening {
        /// Number of the channel, as members' records name it.
        var number: UInt8
        var id: [UInt8]
        /// Whether the newest version reaches the members by broadcast.
        var isServed: Bool
    }

    func write(to writer: inout ByteCursor) {
        StateCodec.writeKind(.progress, to: &writer)
        writer.signed(self.epoch)
        writer.signed(self.life)
        writer.signed(self.stampSeconds)
        writer.signed(self.alertStampSeconds)
        writer.signed(self.servedJoins)
        writer.signed(self.lastJoinSeconds)
        writer.unsigned(UInt64(self.passes.count))
        for pass in self.passes { pass.write(to: &writer) }
        writer.signed(self.delayedMovesUntilSeconds)
        self.report.write(to: &writer)
        // The record may end before this report.
        self.alertReport?.write(to: &writer)
    }
}

extension PassesRecord {
    /// Reads the rest of the record, after its kind.
    init(_ reader: inout StateReader) throws(StateError) {
        self.epoch = try reader.signed()
        self.life = try StateCodec.readSeconds(&reader)
        self.stampSeconds = try StateCodec.readSeconds(&reader)
        self.alertStampSeconds = try StateCodec.readSeconds(&reader)
        self.servedJoins = try reader.signed()
        self.lastJoinSeconds = try StateCodec.readSeconds(&reader)
        let most = PushEnvironment.allCases.count * (1 + Int(MemberRecord.channelNumbersMax))
        for _ in 0..<(try reader.count(atMost: most, "passes")) { self.passes.append(try PassPart(&reader)) }
        self.delayedMovesUntilSeconds = try StateCodec.readSeconds(&reader)
        self.report = try CrowdReport(&reader)
        if !reader.isAtEnd { self.alertReport = try CrowdReport(&reader) }
        try reader.checkEnd(behind: "the reports")
    }

    var described: StateRecordDescription.Crowd {
        .init(
            record: "progress", epoch: self.epoch, life: self.life, stampSeconds: [self.stampSeconds],
            passes: self.passes.map(\.described), counts: self.report.stampSeconds > 0 ? self.report.described : nil)
    }
}

extension PassesRecord.PassPart {
    func write(to writer: inout ByteCursor) {
        writer.byte(self.environment.rawValue | (self.listening == nil ? 0 : 2))
        self.listening?.write(to: &writer)
        writer.signed(self.position)
        writer.unsigned(UInt64(self.untils.count))
        for target in self.untils {
            writer.signed(target.stampSeconds)
            writer.signed(target.until)
        }
        writer.optional(self.aloneUntil)
        writer.signed(self.alertUntil)
        writer.signed(self.highUntil)
        writer.signed(self.frequentHighUntil)
        writer.signed(self.horizon)
        writer.unsigned(UInt64(self.waiting.count))
        writer.unsigned(UInt64(self.skipped.count))
        writer.unsigned(UInt64(self.quiet.count))
        for position in self.skipped { writer.signed(position) }
        for position in self.quiet { writer.signed(position) }
        for member in self.waiting { writer.unsigned(UInt64(member.position) << 1 | (member.owesAlert ? 1 : 0)) }
    }
    init(_ reader: inout StateReader) throws(StateError) {
        let head = try reader.byte()
        guard head < 4, let environment = PushEnvironment(rawValue: head & 1) else {
            throw .malformed("environment \(head)")
        }
        self.environment = environment
        if head & 2 != 0 { self.listening = try PassesRecord.Listening(&reader) }
        self.position = try Self.readPosition(&reader)
        for _ in 0..<(try reader.count(atMost: CrowdVersions.countMax, "targets")) {
            self.untils.append((try StateCodec.readSeconds(&reader), try Self.readPosition(&reader)))
        }
        self.aloneUntil = try reader.optional()
        if let until = self.aloneUntil { try Self.checkPosition(until) }
        self.alertUntil = try Self.readPosition(&reader)
        self.highUntil = try Self.readPosition(&reader)
        self.frequentHighUntil = try Self.readPosition(&reader)
        self.horizon = try Self.readPosition(&reader)
        let waiting = try reader.count(atMost: StateCodec.runByteCountMax, "members wait")
        let skipped = try reader.count(atMost: Pass.skippedMax, "members skipped")
        let quiet = try reader.count(atMost: Pass.skippedMax, "members without the alert")
        for _ in 0..<skipped { self.skipped.append(try Self.readPosition(&reader)) }
        for _ in 0..<quiet { self.quiet.append(try Self.readPosition(&reader)) }
        for _ in 0..<waiting {
            let member = try reader.unsigned()
            guard member >> 1 < UInt64(Pass.circle) else { throw .malformed("a member at \(member >> 1)") }
            self.waiting.append((Int64(member >> 1), member & 1 != 0))
        }
    }
    private static func readPosition(_ reader: inout StateReader) throws(StateError) -> Int64 {
        let position = try reader.signed()
        try Self.checkPosition(position)
        return position
    }
    private static func checkPosition(_ position: Int64) throws(StateError) {
        guard position >= 0, position < 8 * Pass.circle else { throw .malformed("a position of \(position)") }
    }

    var described: StateRecordDescription.Crowd.Pass {
        let left = (self.untils.last?.until ?? 0) - self.position
        return .init(
            environment: "\(self.environment)", shareMet: max(0, 1 - Double(left) / Double(Pass.circle)),
            waitingCount: self.waiting.count)
    }
}

extension PassesRecord.Listening {
    func write(to writer: inout ByteCursor) {
        writer.byte(self.number << 1 | (self.isServed ? 1 : 0))
        writer.run(self.id.span)
    }
    init(_ reader: inout StateReader) throws(StateError) {
        let number = try reader.byte()
        guard number >> 1 < MemberRecord.channelNumbersMax else {
            throw .malformed("channel \(number >> 1) of a crowd")
        }
        self.number = number >> 1
        self.id = try reader.run(byteCountMax: VersionChannel.idByteCountMax)
        self.isServed = number & 1 != 0
    }
}
