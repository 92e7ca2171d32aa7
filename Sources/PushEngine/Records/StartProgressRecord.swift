import PushModel

/// How far a crowd's start has got. The record's key is `r/<bundle id>/<audience id>`.
struct StartProgressRecord: Equatable {
    /// The round over one ring of start members.
    struct Round: Equatable {
        var environment = PushEnvironment.production
        /// Members before this position are announced: they may have been sent the start.
        var horizon: Int64 = 0
        /// Late members whose record is below this offset are announced, as members before `horizon` are.
        var lateOffset: Int64 = 0
        /// Number of announced members whose result is not known from an answer.
        var unansweredCount: UInt64 = 0
        /// Positions of announced members that the next owner sends the start, in ascending order. They certainly were
        /// not sent it, or `start.on-unknown` says to send it again.
        var named: [Int64] = []
        /// The first position whose members the round has not met, at most `horizon`; `nil`: the record does not say.
        var unmet: Int64?
        /// Positions of announced members whose push is unanswered: members that the round has met, and late members.
        /// There are at most `unansweredMax`.
        var unanswered: [Int64] = []
    }
    /// Maximum number of members that are listed one by one.
    static var unansweredMax: Int { StartReports.memberRecordsMax }

    /// Offset of the marker of the owner that wrote the record.
    var epoch: Int64 = -1
    /// The newest start that goes round here or has done so; life and stamp 0: none has.
    var start = StartStamp()
    /// Whether the start is over, so that nobody is owed it now.
    var isOver = false
    /// When the start began, wall milliseconds.
    var beganMillis: Int64 = 0
    var rounds: [Round] = []
    var report = StartReport()
    /// Earlier starts, each with the time of its last push in wall milliseconds.
    var past: [CrowdStarts.Past] = []

    func write(to writer: inout ByteCursor) {
        StateCodec.writeKind(.startProgress, to: &writer)
        writer.signed(self.epoch)
        writer.signed(self.start.life)
        writer.signed(self.start.stampSeconds)
        writer.byte(self.isOver ? 1 : 0)
        writer.signed(self.beganMillis)
        writer.unsigned(UInt64(self.rounds.count))
        for round in self.rounds { round.write(to: &writer) }
        self.report.write(to: &writer)
        writer.unsigned(UInt64(self.past.count))
        for past in self.past {
            writer.signed(past.start.stampSeconds)
            writer.signed(past.lastSentMillis)
            writer.signed(past.lastSentWallMillis)
        }
        for past in self.past { past.start.writeLife(to: &writer) }
        self.report.refusals.write(to: &writer)
        // Records of older releases end here.
        for round in self.rounds { round.writeUnanswered(to: &writer) }
    }
}

extension StartProgressRecord {
    /// Reads the rest of the record, after its kind.
    init(_ reader: inout StateReader) throws(StateError) {
        self.epoch = try reader.signed()
        self.start.life = try StateCodec.readSeconds(&reader)
        self.start.stampSeconds = try StateCodec.readSeconds(&reader)
        self.isOver = try reader.byte() != 0
        self.beganMillis = try StateCodec.readMillis(&reader)
        for _ in 0..<(try reader.count(atMost: PushEnvironment.allCases.count, "start rounds")) {
            self.rounds.append(try Round(&reader))
        }
        self.report = try StartReport(&reader)
        for _ in 0..<(try reader.count(atMost: CrowdStarts.pastMax, "starts within the hour")) {
            self.past.append(
                CrowdStarts.Past(
                    start: StartStamp(stampSeconds: try StateCodec.readSeconds(&reader)),
                    lastSentMillis: try StateCodec.readMillis(&reader),
                    lastSentWallMillis: try StateCodec.readMillis(&reader)))
        }
        for index in self.past.indices {
            let stamp = self.past[index].start.stampSeconds
            self.past[index].start = try StartStamp(stampSeconds: stamp, lifeFrom: &reader)
        }
        self.report.refusals = try RefusalCounts(&reader)
        guard !reader.isAtEnd else { return }
        for index in self.rounds.indices { try self.rounds[index].readUnanswered(&reader) }
        try reader.checkEnd(behind: "the unanswered")
    }

    var described: StateRecordDescription.Crowd {
        .init(
            record: "starts", epoch: self.epoch, life: self.start.life, stampSeconds: [self.start.stampSeconds],
            passes: self.rounds.map {
                .init(
                    environment: "\($0.environment)", shareMet: Double($0.horizon) / Double(StartRound.end),
                    waitingCount: $0.named.count)
            })
    }
}

extension StartProgressRecord.Round {
    func write(to writer: inout ByteCursor) {
        writer.byte(self.environment.rawValue)
        writer.signed(self.horizon)
        writer.signed(self.lateOffset)
        writer.unsigned(self.unansweredCount)
        writer.unsigned(UInt64(self.named.count))
        for position in self.named { writer.signed(position) }
    }
    init(_ reader: inout StateReader) throws(StateError) {
        self.environment = try StateCodec.readEnvironment(&reader)
        self.horizon = try Self.readPosition(&reader)
        self.lateOffset = try reader.signed()
        self.unansweredCount = UInt64(try reader.count(atMost: Int(Int32.max), "unanswered"))
        for _ in 0..<(try reader.count(atMost: StateCodec.runByteCountMax, "members named")) {
            self.named.append(try Self.readPosition(&reader))
        }
    }

    /// Writes the unanswered members of the round, at the end of the record.
    func writeUnanswered(to writer: inout ByteCursor) {
        writer.signed(self.unmet ?? self.horizon)
        writer.unsigned(UInt64(self.unanswered.count))
        for position in self.unanswered { writer.signed(position) }
    }
    mutating func readUnanswered(_ reader: inout StateReader) throws(StateError) {
        self.unmet = try Self.readPosition(&reader)
        for _ in 0..<(try reader.count(atMost: StartProgressRecord.unansweredMax, "unanswered")) {
            self.unanswered.append(try Self.readPosition(&reader))
        }
    }
    private static func readPosition(_ reader: inout StateReader) throws(StateError) -> Int64 {
        let position = try reader.signed()
        guard position >= 0, position <= StartRound.end else { throw .malformed("a position of \(position)") }
        return position
    }
}
