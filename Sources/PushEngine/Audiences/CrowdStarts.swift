import PushModel

/// What a partition has of an audience's start members: their rings, the start that goes round, and those that went round within the hour.
struct CrowdStarts {
    /// A start whose pushes left here.
    struct Past: Equatable {
        var start: StartStamp
        /// The last of them, steady.
        var lastSentMillis: Int64
        /// The same by the wall clock of then, with which joins are compared.
        var lastSentWallMillis: Int64

        /// So much a clock may differ from another's, and from what it says after it was set back.
        static let clockDifferenceMillisMax: Int64 = 300_000
        /// Whether it may have been sent to somebody who joined then. Rather one too many than one too few.
        func mayHaveReached(joinedSeconds: UInt32) -> Bool {
            Int64(joinedSeconds) * 1_000 <= self.lastSentWallMillis + Self.clockDifferenceMillisMax
        }
        func isOver(nowMillis: Int64) -> Bool { self.lastSentMillis + RollingBudget.windowMillis <= nowMillis }
    }
    /// More starts of one audience are not told apart within an hour: `start.per-hour` reaches no further.
    static let pastMax = AppConfiguration.startsPerHourMax

    /// The start that goes round: one element, or none. It is large, and rarely there.
    private var orders: [StartOrder] = []
    /// Which it is, and its end; 0: none goes round.
    private(set) var orderStamp = StartStamp()
    private(set) var orderExpiresSeconds: Int64 = 0
    /// The newest start that has gone round here, or does. Neither it nor an older one begins again, whatever a clock says.
    private(set) var newestMet = StartStamp()
    /// It goes on after a takeover, and is not announced: the owner before may have sent it to anybody.
    private(set) var mayHaveBeenSent = false
    /// What becomes of it here is told: see `PassTraces`.
    var isTraced = false
    /// It has not been looked yet whether that is to be so.
    var isTraceOpen = false
    /// When it began here, wall milliseconds; 0: it has not.
    var beganMillis: Int64 = 0
    /// One an environment.
    var rounds: [StartRound] = []
    /// Starts whose pushes left within the hour, the oldest first.
    private(set) var past: [Past] = []

    // The record of how far it is.
    /// Counted per crowd.
    var recordNumber: UInt32 = 0
    var isRecordUnderWay = false
    /// Something has happened that no record tells.
    var isRecordDue = false
    var lastRecordMillis: Int64 = .min
    /// Pushes that left since then.
    var sentSinceRecord = 0
    /// How many a record announces.
    var pace = StartPace()

    // Records of members.
    /// Of the last one, counted per crowd.
    private(set) var memberNumber: UInt32 = 0
    /// Those that Kafka has not acknowledged.
    private var memberRecordsUnderWay = 0
    /// Of those, records from before the start: the round does not begin before they are acknowledged.
    private var memberRecordsBefore = 0
    private var numberAtBegin: UInt32 = 0

    /// When the newest of its members joined, seconds since 1970.
    private(set) var lastJoinSeconds: Int64 = 0

    /// Bodies, made once for all: for phones that can listen to a channel, and for others.
    private var capableBody: [UInt8] = []
    private var plainBody: [UInt8] = []
    /// The same for phones that are told to listen on a channel: one an environment at most.
    private var channelBodies: [(id: [UInt8], body: [UInt8])] = []
    /// Outcome records of single members that were told of this start; a former owner's may be counted too high.
    var toldCount = 0
    /// What became of it, and of the one before until the next begins.
    var report = StartReport()
    var lastReportMillis: Int64 = .min
    /// It has been told since its last record.
    var isPassRecordDue = false
    /// `Int64.min`: there was none, or it left some waiting, and the next follows when they do not.
    var lastPassRecordMillis: Int64 = .min

    /// When ghosts, and members that have not joined for very long, are looked for; steady.
    var sweepAtMillis: Int64 = .max
    /// A sweep has come so far.
    var sweepPosition: UInt64 = 0

    // Of a restore, until it is known what goes round.
    var restored: StartCodec.Progress?
    var restoredMarks: [MemberID: StartCodec.RestoredMark] = [:]
    /// A start whose version has expired: one element, or none.
    var restoredOrders: [StartOrder] = []

    /// `state` told of a start, or of members that one has met.
    var isRestoring: Bool { self.restored != nil || !self.restoredMarks.isEmpty }

    /// Members in rings, ghosts included.
    func memberCount(in table: borrowing MemberTable) -> Int {
        var count = 0
        for round in self.rounds { count += table.count(of: round.ring) }
        return count
    }
    var waitingCount: Int { self.rounds.reduce(0) { $0 + $1.waitingCount } }
    /// The start that goes round; `nil`: none, or it has expired.
    var order: StartOrder? { self.orders.first }
    var hasOrder: Bool { !self.orders.isEmpty }
    /// When what the start itself would show is stale; no copy of it is made to ask.
    @inline(__always) var orderStaleSeconds: Int64 { self.orders.isEmpty ? .max : self.orders[0].layer.staleSeconds }
    /// See `StartOrder.shows`.
    @inline(__always) func orderShows(_ newest: borrowing Version) -> Bool {
        self.hasOrder && self.orders[0].shows(newest)
    }
    /// There is nothing to do, and nothing to remember.
    var isIdle: Bool { self.rounds.isEmpty && self.orders.isEmpty && !self.isRecordDue }
    /// Join records from before the start are acknowledged.
    var mayBegin: Bool { self.memberRecordsBefore == 0 }

    // MARK: The start
    /// It has not been over here: it is new, or a takeover goes on with it.
    func mayBegin(_ order: borrowing StartOrder) -> Bool {
        if let restored = self.restored, !restored.isOver, restored.start == order.stamp { return true }
        return order.stamp > self.newestMet
    }
    /// `state` tells of it.
    mutating func restore(_ progress: StartCodec.Progress) {
        self.restored = progress
        self.newestMet = progress.start
    }
    mutating func begin(_ order: StartOrder) {
        self.orders = [order]
        // No other begins.
        self.newestMet = order.stamp
        self.orderStamp = order.stamp
        self.orderExpiresSeconds = order.expiresSeconds
        self.isTraceOpen = true
        self.beganMillis = 0
        self.mayHaveBeenSent = false
        self.toldCount = 0
        self.pace = StartPace()
        self.report = StartReport(of: order)
        self.lastReportMillis = .min
        self.isPassRecordDue = false
        self.lastPassRecordMillis = .min
        self.memberRecordsBefore = self.memberRecordsUnderWay
        self.numberAtBegin = self.memberNumber
        self.forgetBodies()
    }
    mutating func cease() {
        self.orders = []
        self.orderStamp = StartStamp()
        self.orderExpiresSeconds = 0
        self.forgetBodies()
    }
    mutating func forgetBodies() {
        self.capableBody = []
        self.plainBody = []
        self.channelBodies = []
    }
    /// - Parameter channel: that phones which can listen are told to listen on; empty: none.
    mutating func appendBody(
        newest: Version?, isChannelCapable: Bool, channel: [UInt8], to body: inout [UInt8]
    ) {
        guard let order = self.order else { return }
        if isChannelCapable, !channel.isEmpty {
            if let made = self.channelBodies.first(where: { $0.id == channel }) {
                return body.append(contentsOf: made.body)
            }
            var made: [UInt8] = []
            order.appendBody(newest: newest, isChannelCapable: true, channel: channel, to: &made)
            if self.channelBodies.count >= 2 { self.channelBodies = [] }
            self.channelBodies.append((channel, made))
            return body.append(contentsOf: made)
        }
        if isChannelCapable {
            if self.capableBody.isEmpty {
                order.appendBody(newest: newest, isChannelCapable: true, to: &self.capableBody)
            }
            body.append(contentsOf: self.capableBody)
        } else {
            if self.plainBody.isEmpty {
                order.appendBody(newest: newest, isChannelCapable: false, to: &self.plainBody)
            }
            body.append(contentsOf: self.plainBody)
        }
    }

    // MARK: Within the hour
    /// A push of the start leaves.
    mutating func noteSent(_ start: StartStamp, now: EngineTime) {
        if let last = self.past.last, last.start.names(start) {
            self.past[self.past.count - 1].start = start
            self.past[self.past.count - 1].lastSentMillis = max(last.lastSentMillis, now.steadyMillis)
            self.past[self.past.count - 1].lastSentWallMillis = max(last.lastSentWallMillis, now.wallMillis)
            return
        }
        self.forgetPast(nowMillis: now.steadyMillis)
        if self.past.count >= Self.pastMax { self.past.removeFirst() }
        self.past.append(
            Past(start: start, lastSentMillis: now.steadyMillis, lastSentWallMillis: now.wallMillis))
    }
    /// The owner before, who announces nothing, may have sent what goes round until it died.
    mutating func noteMaybeSent(now: EngineTime) {
        self.mayHaveBeenSent = true
        self.noteSent(self.orderStamp, now: now)
    }
    mutating func forgetPast(nowMillis: Int64) { self.past.removeAll { $0.isOver(nowMillis: nowMillis) } }
    mutating func restorePast(_ past: [Past]) { self.past = past }

    // MARK: Records of members
    mutating func noteJoin(seconds: UInt32) { self.lastJoinSeconds = max(self.lastJoinSeconds, Int64(seconds)) }
    mutating func nextMemberNumber() -> UInt32 {
        self.memberNumber &+= 1
        return self.memberNumber
    }
    /// One more is written.
    mutating func memberRecordLeft() -> UInt32 {
        self.memberRecordsUnderWay += 1
        return self.nextMemberNumber()
    }
    mutating func memberRecordAcknowledged(_ number: UInt32) {
        self.memberRecordsUnderWay = max(0, self.memberRecordsUnderWay - 1)
        guard self.memberRecordsBefore > 0, Int32(bitPattern: self.numberAtBegin &- number) >= 0 else { return }
        self.memberRecordsBefore -= 1
    }
    /// The rings go over to another crowd: acknowledgements still name the one before.
    mutating func forgetRecordsUnderWay() {
        self.memberRecordsUnderWay = 0
        self.memberRecordsBefore = 0
        self.isRecordUnderWay = false
    }
}
