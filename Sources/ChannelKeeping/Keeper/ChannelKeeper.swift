import APNSProtocol
public import PushModel

/// Keeps the channels of one app in one environment: it alone lists, counts, creates, deletes and reconciles there
/// (fan-out contract: The keeper). Decides; never
/// touches a socket, a clock or a lock. Each method takes one thing that has happened and answers with what to do.
///
/// - The intent of a creation is in `state`, acknowledged, before the request leaves; the id is, before it is told.
/// - There is one creation at a time, and a list before each. After a lost answer the next list is not asked for before `settleMillis` have
///   passed. What is new in it is shown as possibly ours, or adopted with `isExclusive`.
/// - Only ids that `state` knows as ours are deleted. An id is ours when a creation was answered with it and the list before had it not.
///
/// A list is read against all records. Anything else costs what it touches, however many records there are.
///
/// Its runner hands it every record of the app and environment first, and stops carrying out its actions when the partition is lost.
public struct ChannelKeeper: Sendable {
    /// What the next creation waits for. The record that it is about is in phase `asked`, or in `open` while its id is recorded.
    enum Making: Equatable {
        /// Nothing is under way.
        case idle
        /// A list was asked for. `resolves`: the record whose answer was lost.
        case listing(request: UInt64, askedMillis: Int64, resolves: Int64?)
        /// The intent is being written.
        case writingIntent(Int64)
        /// The request has left.
        case creating(request: UInt64, number: Int64)
        /// The answer was lost; no list before this, steady milliseconds.
        case settling(Int64, untilMillis: Int64)
        /// What the lost answer may have made is being written down.
        case showing(Int64)
        /// The id is being written, or that there is none. `state` never has two intents.
        case recording(Int64)
    }
    enum Deleting: Equatable {
        case idle
        case deleting(request: UInt64, number: Int64)
    }

    /// As it was begun with.
    public let settings: KeeperSettings
    /// When `timePassed` is to be called, steady milliseconds; `nil`: no need to.
    public private(set) var deadlineMillis: Int64?
    /// What it has counted since it began.
    public internal(set) var counters = KeeperCounters()

    let schedule: BeaconSchedule
    var table: KeptTable
    var actions: [KeeperAction] = []

    var making = Making.idle
    /// Further records whose answer was lost, once `making` has resolved the first.
    var lost: [Int64] = []
    /// No list and no creation before this, steady milliseconds.
    var makingNotBeforeMillis = Int64.min
    var makingBackoff: JitteredBackoff
    var deleting = Deleting.idle
    var deletingNotBeforeMillis = Int64.min
    var deletingBackoff: JitteredBackoff
    /// The last record whose deletion was asked for: the next one gets its turn.
    var lastDeleted = Int64.min

    /// What the last list said.
    var listing: ListingStanding?
    /// Steps that wait for their turn.
    var reconcileSteps: [ReconcilePlan.Step] = []
    var reconcileNotBeforeMillis = Int64.min
    /// Until when every wish is refused so, steady milliseconds.
    var hold: (refusal: KeeperRefusal, untilMillis: Int64)?
    var isQuotaHigh = false
    var isQuotaReached = false
    var isShownFull = false
    var isRefused = false
    /// A list is asked for no later than this, steady milliseconds: somebody doubts a channel, or a creation may have been carried out twice.
    var listWantedMillis = Int64.max
    /// The last creation that was answered, until a list shows all that it has made.
    var lastCreation: AnsweredCreation?

    var announcements: [UInt64: (number: Int64, news: KeeperNews)] = [:]
    /// With how many of the schedule each makes up for.
    var beacons: [UInt64: (number: Int64, dueCount: Int)] = [:]
    private var writes: [UInt64: Int64] = [:]
    private var random: SplitMix64
    private var lastToken: UInt64 = 0

    /// - Parameters:
    ///   - records: all that `state` has of the app and environment, by number.
    ///   - seed: of the jitter of its back-off.
    public init(
        settings: KeeperSettings, records: [(number: Int64, channel: KeptChannel)], seed: UInt64, now: EngineTime
    ) {
        self.settings = settings
        self.schedule = BeaconSchedule(lingerMillis: settings.lingerMillis, minuteMillis: settings.minuteMillis)
        self.table = KeptTable(schedule: self.schedule, beaconGraceMillis: settings.beaconGraceMillis)
        self.makingBackoff = JitteredBackoff(
            millisMin: settings.backoffMinMillis, millisMax: settings.backoffMaxMillis)
        self.deletingBackoff = self.makingBackoff
        self.random = SplitMix64(seed: seed)
        for record in records { self.table.restore(record.number, record.channel) }
        self.takeOver(now: now)
        self.deadlineMillis = now.steadyMillis
    }

    /// A creation that the owner before asked for counts as lost, and a wish that was served by a warm channel is dropped.
    private mutating func takeOver(now: EngineTime) {
        for number in self.table.numbers(in: .ended) {
            guard let channel = self.table[number]?.channel else { continue }
            let elapsed = self.schedule.elapsedMillis(
                endedMillis: channel.endedMillis ?? channel.sinceMillis, beaconsSent: channel.beaconsSent,
                wallMillis: now.wallMillis)
            self.table.note(number) { $0.anchorMillis = now.steadyMillis - elapsed }
        }
        for number in self.table.numbers(in: .deleted) {
            self.table.note(number) { $0.anchorMillis = now.steadyMillis }
        }
        for number in self.table.numbers(in: .wanted) {
            guard let owner = self.table[number]?.channel.owner else { continue }
            let isServed = self.table.numbers(audience: owner.audience).contains {
                $0 != number && self.table[$0]?.channel.owner == owner
            }
            if isServed { self.table.leave(number) }
        }
        self.lost = self.table.numbers(in: .asked)
        self.counters.answersLost = self.lost.count
        self.resolveNextLost(untilMillis: now.steadyMillis + self.settings.settleMillis)
    }

    mutating func resolveNextLost(untilMillis: Int64) {
        guard !self.lost.isEmpty else {
            self.making = .idle
            return
        }
        self.making = .settling(self.lost.removeFirst(), untilMillis: untilMillis)
    }

    /// The time has come that `deadlineMillis` named, or any other. Also what a keeper that has just begun is told first.
    public mutating func timePassed(now: EngineTime) -> [KeeperAction] { self.proceed(now: now) }

    // MARK: Turns

    /// Does whatever can be done, and gives what was asked for since.
    mutating func proceed(now: EngineTime) -> [KeeperAction] {
        self.serveFromPool(now: now)
        self.make(now: now)
        self.reconcileOne(now: now)
        self.serveEnds(now: now)
        self.deleteOne(now: now)
        self.announce()
        self.flushWrites()
        self.deadlineMillis = self.nextDeadline(now: now)
        defer { self.actions = [] }
        return self.actions
    }

    private func nextDeadline(now: EngineTime) -> Int64? {
        let times = [
            self.makingDeadline(now: now), self.reconcileDeadline, self.endsDeadline, self.deletingDeadline,
        ]
        return times.compactMap { $0 }.min()
    }

    mutating func token() -> UInt64 {
        self.lastToken += 1
        return self.lastToken
    }

    mutating func failed(_ backoff: WritableKeyPath<ChannelKeeper, JitteredBackoff>) -> Int64 {
        var random = self.random
        defer { self.random = random }
        return self[keyPath: backoff].failed(using: &random)
    }

    // MARK: Records

    private mutating func flushWrites() {
        while let number = self.table.toBeWritten.first { self.flush(number) }
    }

    /// Asks for the record's write, unless the one before is under way.
    mutating func flush(_ number: Int64) {
        guard let held = self.table[number], held.isDirty, held.write == nil else { return }
        let write = self.token()
        self.writes[write] = number
        self.table.begin(write, of: number)
        self.actions.append(.write(number: number, channel: held.isLeaving ? nil : held.channel, write: write))
    }

    /// `state` has the record of this write.
    public mutating func stateAcknowledged(write: UInt64, now: EngineTime) -> [KeeperAction] {
        guard let number = self.writes.removeValue(forKey: write) else { return self.proceed(now: now) }
        self.table.note(number) { $0.write = nil }
        guard let held = self.table[number], !held.isDirty else { return self.proceed(now: now) }
        self.table.note(number) { $0.receipts = [] }
        for receipt in held.receipts { self.actions.append(.resolve(receipt: receipt)) }
        if held.isLeaving { self.table.remove(number) }
        return self.proceed(now: now)
    }
}
