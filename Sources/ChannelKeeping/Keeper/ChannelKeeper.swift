import APNSProtocol
public import PushModel

/// Keeps the channels of one app in one environment: only the keeper lists, counts, creates, deletes and reconciles
/// them (fan-out contract: The keeper). It only decides, and never touches a socket, a clock or a lock. Each method
/// takes one event and returns the actions to carry out.
///
/// - The intent of a creation is acknowledged in `state` before the request leaves. The id is in `state` before it is
///   reported to anybody.
/// - There is one creation at a time, and a list before each. After a lost answer the next list is not requested until
///   `settleMillis` have passed. A new id in that list is shown as possibly ours, or adopted with `isExclusive`.
/// - Only ids that `state` has as ours are deleted. An id is ours if a creation was answered with it and the list
///   before did not show it, or if it was adopted.
///
/// When a list arrives, the keeper goes through all records. Most other events concern only a few records.
///
/// The runner passes every record of the app and environment to `init`. It stops carrying out actions when the
/// partition is lost.
public struct ChannelKeeper: Sendable {
    /// The step that the only unfinished creation has reached. The creation's record is in phase `asked`, or in `open`
    /// while the id is being written.
    enum Making: Equatable {
        /// No channel is being created, and no list is awaited.
        case idle
        /// A list was requested. `resolves` is the record of a lost creation that the list resolves, if any.
        case listing(request: UInt64, askedMillis: Int64, resolves: Int64?)
        /// The intent of a creation is being written to `state`.
        case writingIntent(Int64)
        /// The request for a channel has left.
        case creating(request: UInt64, number: Int64)
        /// The answer was lost. No list is requested before this time, steady milliseconds.
        case settling(Int64, untilMillis: Int64)
        /// The ids that a lost creation may have made are being written, so that they can be shown.
        case showing(Int64)
        /// The creation's result is being written: its id, or the fact that it made nothing. The next creation waits,
        /// so `state` never has two intents.
        case recording(Int64)
    }
    enum Deleting: Equatable {
        case idle
        case deleting(request: UInt64, number: Int64)
    }

    /// The settings that the keeper was started with.
    public let settings: KeeperSettings
    /// When to call `timePassed`, steady milliseconds; `nil` for never.
    public private(set) var deadlineMillis: Int64?
    /// Counts since the keeper's start.
    public internal(set) var counters = KeeperCounters()

    let schedule: BeaconSchedule
    var table: KeptTable
    var actions: [KeeperAction] = []

    var making = Making.idle
    /// Records of lost creations that wait to be resolved, in order. `making` resolves one at a time.
    var lost: [Int64] = []
    /// No list and no creation is requested before this time, steady milliseconds.
    var makingNotBeforeMillis = Int64.min
    var makingBackoff: JitteredBackoff
    var deleting = Deleting.idle
    var deletingNotBeforeMillis = Int64.min
    var deletingBackoff: JitteredBackoff
    /// Number of the last record whose deletion was requested. The record with the next higher number follows, and
    /// after the highest number the lowest.
    var lastDeleted = Int64.min

    /// The result of the last list.
    var listing: ListingStanding?
    /// Steps of reconciliation that wait to be taken.
    var reconcileSteps: [ReconcilePlan.Step] = []
    var reconcileNotBeforeMillis = Int64.min
    /// The refusal of every wish, and the time until which it lasts, steady milliseconds.
    var hold: (refusal: KeeperRefusal, untilMillis: Int64)?
    var isQuotaHigh = false
    var isQuotaReached = false
    var isShownFull = false
    var isRefused = false
    /// When a list must be requested at the latest, steady milliseconds. The list settles a doubt, or shows whether a
    /// creation was carried out twice.
    var listWantedMillis = Int64.max
    /// The last answered creation. It is forgotten once a list shows everything that it has made.
    var lastCreation: AnsweredCreation?

    var announcements: [UInt64: (number: Int64, news: KeeperNews)] = [:]
    /// Unanswered beacons by request. `dueCount` is the number of scheduled beacons that were due when the beacon left.
    var beacons: [UInt64: (number: Int64, dueCount: Int)] = [:]
    private var writes: [UInt64: Int64] = [:]
    private var random: SplitMix64
    private var lastToken: UInt64 = 0

    /// - Parameters:
    ///   - records: all records that `state` has of the app and environment, with their numbers.
    ///   - seed: the seed for the jitter of the back-off.
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

    /// Continues the former owner's work. A creation that it had requested counts as lost, and a wish that was served
    /// by a warm channel is dropped.
    private mutating func takeOver(now: EngineTime) {
        for number in self.table.numbers(in: .ended) {
            guard let channel = self.table[number]?.channel else { continue }
            let elapsed = self.schedule.elapsedMillis(
                endedMillis: channel.endedMillis ?? channel.sinceMillis, beaconsSent: channel.beaconsSent,
                wallMillis: now.wallMillis)
            self.table.update(number) { $0.anchorMillis = now.steadyMillis - elapsed }
        }
        for number in self.table.numbers(in: .deleted) {
            self.table.update(number) { $0.anchorMillis = now.steadyMillis }
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

    /// Does what is due at this time. Call it once after `init`, and then at `deadlineMillis`.
    public mutating func timePassed(now: EngineTime) -> [KeeperAction] { self.proceed(now: now) }

    // MARK: Steps

    /// Takes every step that is possible now. Returns all actions requested since the last call.
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

    /// Requests the record's write, unless its previous write is unacknowledged.
    mutating func flush(_ number: Int64) {
        guard let held = self.table[number], held.isDirty, held.write == nil else { return }
        let write = self.token()
        self.writes[write] = number
        self.table.begin(write, of: number)
        self.actions.append(.write(number: number, channel: held.isLeaving ? nil : held.channel, write: write))
    }

    /// Takes the acknowledgement of a write: `state` now has its record.
    public mutating func stateAcknowledged(write: UInt64, now: EngineTime) -> [KeeperAction] {
        guard let number = self.writes.removeValue(forKey: write) else { return self.proceed(now: now) }
        self.table.update(number) { $0.write = nil }
        guard let held = self.table[number], !held.isDirty else { return self.proceed(now: now) }
        self.table.update(number) { $0.receipts = [] }
        for receipt in held.receipts { self.actions.append(.resolve(receipt: receipt)) }
        if held.isLeaving { self.table.remove(number) }
        return self.proceed(now: now)
    }
}
