import APNSProtocol
import PushModel

@testable import ChannelKeeping

/// A keeper, its successors, `state`, Apple and the owners of audiences, on a virtual clock. One seed is one run.
struct KeeperWorld {
    enum Event {
        case timer(generation: Int)
        case writeLands(generation: Int)
        case execute(Request)
        case answer(generation: Int, Answer)
        case announcementLands(generation: Int, announcement: UInt64, KeptOwner, KeeperNews)
        case newsLands(KeptOwner, KeeperNews)
        case readMessage(generation: Int)
        case audience(Int)
        case asksAgain(Int, life: Int64)
        case others
        case clockStep
        case takeOver
        case quiet
    }
    enum Answer {
        case list(UInt64, ListAnswer)
        case create(UInt64, CreateAnswer)
        case delete(UInt64, DeleteAnswer)
        case beacon(UInt64, BeaconAnswer)
    }
    struct Request {
        enum Kind {
            case list
            case create(MessageStoragePolicy)
            case delete([UInt8])
            case beacon([UInt8])
        }
        var generation: Int
        var number: UInt64
        var kind: Kind
        var handedMillis: Int64
        /// Whether the request is carried out.
        var isCarriedOut = true
        /// Whether the request's answer arrives.
        var isAnswered = true
        /// The refusal that answers the request; `nil`: the answer is the real result.
        var refusal: (status: UInt16, reason: String)?
    }
    struct PendingWrite {
        var number: Int64
        var bytes: [UInt8]?
        var write: UInt64
    }
    struct Outstanding {
        var generation: Int
        var request: UInt64
        var handedMillis: Int64
    }

    let plan: WorldPlan
    var random: SplitMix64
    var steadyMillis: Int64 = 1_000_000
    var wallOffset: Int64 = 1_700_000_000_000
    var now: EngineTime {
        EngineTime(steadyMillis: self.steadyMillis, wallMillis: self.steadyMillis + self.wallOffset)
    }
    var isQuiet = false
    var hasClockStepped = false

    private var events: [(due: Int64, order: Int, event: Event)] = []
    private var eventCount = 0
    var keeper: ChannelKeeper?
    var generation = 0
    private var timerMillis: Int64?
    var hasToCrash = false

    var apple: AppleModel
    var state: [Int64: [UInt8]] = [:]
    var pending: [PendingWrite] = []
    var log: [OwnerMessage] = []
    var resolved: [Bool] = []
    var nextMessage = 0
    var audiences: [AudienceModel] = []

    // What the judge remembers.
    var failures: [String] = []
    var creations: [Outstanding] = []
    var hasListSinceCreation = false
    /// When the app's number of channels reached the quota's `refusalCount`, steady milliseconds; `nil` if it is below.
    var fullSinceMillis: Int64?
    var sentIDs: [KeptOwner: [[UInt8]]] = [:]
    var owners: [[UInt8]: KeptOwner] = [:]
    /// Channels that are the keeper's according to `state`.
    var durableIDs: Set<[UInt8]> = []
    var vanishedByOthers: Set<[UInt8]> = []
    var endedLives: [KeptOwner: EndedLife] = [:]
    var crashCount = 0
    var leakCount = 0
    /// The second channels of creations that were carried out twice, each with the number of crashes before it.
    var seconds: [[UInt8]: Int] = [:]
    var createCount = 0
    var beaconCount = 0

    init(seed: UInt64, isExclusive: Bool) {
        self.random = SplitMix64(seed: seed)
        self.plan = WorldPlan(isExclusive: isExclusive, using: &self.random)
        self.apple = AppleModel(countMax: self.plan.settings.quota.countMax)
        for _ in 0..<self.plan.othersAtFirst { _ = self.apple.create(.other, .none, atMillis: 0) }
        for index in 0..<self.plan.audienceCount {
            let policy: MessageStoragePolicy = self.chance(300) ? .mostRecent : .none
            self.audiences.append(AudienceModel(name: Array("match-\(index)".utf8), policy: policy))
            self.schedule(in: self.draw(0...1_800_000), .audience(index))
        }
        self.schedule(in: 0, .takeOver)
        self.schedule(in: self.plan.quietMillis, .quiet)
        if self.plan.othersCome || self.plan.othersDelete { self.schedule(in: self.draw(0...600_000), .others) }
        if self.plan.clockSteps { self.schedule(in: self.draw(0...3_600_000), .clockStep) }
    }

    // MARK: The clock

    mutating func run() {
        let end = self.steadyMillis + self.plan.endMillis
        while let next = self.events.first, next.due <= end, self.failures.isEmpty {
            self.events.removeFirst()
            self.steadyMillis = max(self.steadyMillis, next.due)
            self.handle(next.event)
            if self.hasToCrash { self.crash() }
            self.watchQuota()
            if self.eventCount > 400_000 { self.fail("it never comes to rest") }
        }
        guard self.failures.isEmpty else { return }
        self.steadyMillis = end
        self.judgeTheEnd()
    }

    mutating func schedule(in delay: Int64, _ event: Event) {
        let due = self.steadyMillis + delay
        self.eventCount += 1
        let index = self.events.firstIndex { $0.due > due } ?? self.events.endIndex
        self.events.insert((due, self.eventCount, event), at: index)
    }

    mutating func draw(_ range: ClosedRange<Int64>) -> Int64 { .random(in: range, using: &self.random) }
    mutating func chance(_ perMille: UInt64) -> Bool { UInt64.random(in: 0..<1_000, using: &self.random) < perMille }
    mutating func fault(_ perMille: UInt64) -> Bool { !self.isQuiet && self.chance(perMille) }

    mutating func fail(_ text: String) { self.failures.append("at \(self.steadyMillis - 1_000_000) ms: \(text)") }

    // MARK: Events

    private mutating func handle(_ event: Event) {
        switch event {
        case .timer(self.generation):
            guard let due = self.timerMillis, due <= self.steadyMillis else { return }
            self.timerMillis = nil
            self.turn { keeper, now in keeper.timePassed(now: now) }
        case .writeLands(self.generation): self.landWrite()
        case .execute(let request): self.execute(request)
        case .answer(self.generation, let answer): self.take(answer)
        case .announcementLands(let generation, let announcement, let owner, let news):
            self.hear(owner, news)
            guard generation == self.generation else { return }
            self.turn { keeper, now in keeper.announced(announcement: announcement, now: now) }
        case .newsLands(let owner, let news): self.hear(owner, news)
        case .readMessage(self.generation): self.readMessage()
        case .audience(let index): self.audienceActs(index)
        case .asksAgain(let index, let life): self.askAgain(index, life: life)
        case .others: self.othersAct()
        case .clockStep:
            guard !self.isQuiet else { return }
            self.wallOffset += self.draw(-7_200_000...7_200_000)
            self.hasClockStepped = true
            self.schedule(in: self.draw(60_000...7_200_000), .clockStep)
        case .takeOver: self.takeOver()
        case .quiet: self.isQuiet = true
        case .timer, .writeLands, .answer, .readMessage: break
        }
    }

    /// Gives the keeper one input, and carries out the actions that it returns. Does nothing while there is no keeper.
    mutating func turn(_ body: (inout ChannelKeeper, EngineTime) -> [KeeperAction]) {
        guard var keeper = self.keeper else { return }
        self.keeper = nil
        let actions = body(&keeper, self.now)
        if let wrong = keeper.table.check(
            keeper.schedule, beaconGraceMillis: keeper.settings.beaconGraceMillis)
        {
            self.fail("a walk through all records finds others: \(wrong)")
        }
        self.keeper = keeper
        for action in actions {
            guard !self.hasToCrash else { return }
            if self.fault(self.plan.crashPerMille) {
                self.hasToCrash = true
                // The action may have been carried out just before the crash.
                guard self.chance(500) else { return }
            }
            self.carryOut(action)
        }
        self.setTimer(keeper.deadlineMillis)
    }

    private mutating func setTimer(_ deadline: Int64?) {
        guard let deadline else {
            self.timerMillis = nil
            return
        }
        let due = max(deadline, self.steadyMillis)
        guard self.timerMillis != due else { return }
        self.timerMillis = due
        self.schedule(in: due - self.steadyMillis, .timer(generation: self.generation))
    }

    // MARK: Taking over

    mutating func crash() {
        self.hasToCrash = false
        self.crashCount += 1
        self.keeper = nil
        self.timerMillis = nil
        self.generation += 1
        // Some of the unacknowledged writes still reach `state`, in order. No later write of this keeper counts,
        // because the next keeper's epoch is newer.
        let landed = Int(self.draw(0...Int64(self.pending.count)))
        for write in self.pending.prefix(landed) { self.land(write) }
        self.pending = []
        for owner in Array(self.endedLives.keys) { self.endedLives[owner]?.wasDisturbed = true }
        self.schedule(in: self.draw(0...60_000), .takeOver)
    }

    private mutating func takeOver() {
        var records: [(number: Int64, channel: KeptChannel)] = []
        for (number, bytes) in self.state.sorted(by: { $0.key < $1.key }) {
            do throws(StateError) {
                records.append((number, try KeptChannelCodec.decode(bytes).channel))
            } catch {
                self.fail("record \(number) cannot be read: \(error)")
            }
        }
        self.nextMessage = self.resolved.firstIndex(of: false) ?? self.log.count
        self.hasListSinceCreation = false
        self.keeper = ChannelKeeper(
            settings: self.plan.settings, records: records, seed: self.random.next(), now: self.now)
        self.turn { keeper, now in keeper.timePassed(now: now) }
        self.schedule(in: 5, .readMessage(generation: self.generation))
    }

    // MARK: Messages

    mutating func send(_ message: OwnerMessage) {
        self.log.append(message)
        self.resolved.append(false)
        self.schedule(in: self.draw(1...2_000), .readMessage(generation: self.generation))
    }

    private mutating func readMessage() {
        guard self.keeper != nil else { return }
        while self.nextMessage < self.log.count, !self.hasToCrash {
            let receipt = UInt64(self.nextMessage)
            let message = self.log[self.nextMessage]
            self.nextMessage += 1
            self.turn { keeper, now in
                switch message {
                case .open(let owner, let policy):
                    keeper.audienceOpens(owner, policy: policy, receipt: receipt, now: now)
                case .ended(let owner, let content):
                    keeper.audienceEnded(owner, content: content, receipt: receipt, now: now)
                case .voided(let owner): keeper.audienceVoided(owner, receipt: receipt, now: now)
                }
            }
        }
    }
}
