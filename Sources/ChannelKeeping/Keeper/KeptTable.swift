import APNSProtocol

/// The records of a keeper by number, by audience, by id and by phase. Records that wait for something are also indexed
/// by what they wait for.
struct KeptTable {
    private let schedule: BeaconSchedule
    private let beaconGraceMillis: Int64
    private(set) var held: [Int64: HeldChannel] = [:]
    private var numbersByAudience: [[UInt8]: [Int64]] = [:]
    private var numbersByID: [[UInt8]: Int64] = [:]
    private var numbersByPhase: [KeptChannel.Phase: SortedSet<Int64>] = [:]
    private var nextNumber: Int64 = 0

    /// Records whose write can be requested.
    private(set) var toBeWritten = SortedSet<Int64>()
    /// Records with something that can be announced to their owner.
    private(set) var toBeAnnounced = SortedSet<Int64>()
    /// Records whose deletion can be requested.
    private(set) var toBeDeleted = SortedSet<Int64>()
    /// Records whose end must be broadcast again, by the time when that is due.
    private(set) var beacons = SortedSet<DueNumber>()
    /// Records of channels that linger, by the time when the lingering ends.
    private(set) var lingering = SortedSet<DueNumber>()
    /// Wishes by storage policy.
    private var wishesByPolicy: [MessageStoragePolicy: SortedSet<Int64>] = [:]
    private var warmByPolicy: [MessageStoragePolicy: SortedSet<Int64>] = [:]
    private var readyByPolicy: [MessageStoragePolicy: SortedSet<Int64>] = [:]

    init(schedule: BeaconSchedule, beaconGraceMillis: Int64) {
        self.schedule = schedule
        self.beaconGraceMillis = beaconGraceMillis
    }

    var count: Int { self.held.count }

    subscript(number: Int64) -> HeldChannel? { self.held[number] }

    /// Numbers of the records in a phase, in ascending order, without those that are leaving.
    func numbers(in phase: KeptChannel.Phase) -> [Int64] { self.numbersByPhase[phase]?.elements ?? [] }
    func count(in phase: KeptChannel.Phase) -> Int { self.numbersByPhase[phase]?.count ?? 0 }
    func number(id: [UInt8]) -> Int64? { self.numbersByID[id] }
    /// Numbers of the channels of every life of an audience.
    func numbers(audience: [UInt8]) -> [Int64] { self.numbersByAudience[audience] ?? [] }
    func number(of owner: KeptOwner) -> Int64? {
        self.numbers(audience: owner.audience).first { self.held[$0]?.channel.owner == owner }
    }

    /// The oldest wish that is in `state` and not refused.
    func nextWish(_ policy: MessageStoragePolicy) -> Int64? { self.wishesByPolicy[policy]?.first }
    /// Numbers of the channels that wait for an audience.
    func warmNumbers(_ policy: MessageStoragePolicy) -> [Int64] { self.warmByPolicy[policy]?.elements ?? [] }
    func warmCount(_ policy: MessageStoragePolicy) -> Int { self.warmByPolicy[policy]?.count ?? 0 }
    /// Number of a channel that waits for an audience, and whose record is in `state`; `nil` for none.
    func readyNumber(_ policy: MessageStoragePolicy) -> Int64? { self.readyByPolicy[policy]?.first }
    var readyCount: Int { self.readyByPolicy.values.reduce(0) { $0 + $1.count } }

    // MARK: Changing

    mutating func add(_ channel: KeptChannel) -> Int64 {
        let number = self.nextNumber
        self.restore(number, channel)
        return number
    }

    mutating func restore(_ number: Int64, _ channel: KeptChannel) {
        let held = HeldChannel(number: number, channel: channel)
        self.held[number] = held
        self.index(held)
        self.enter(number, self.duties(of: held))
        self.nextNumber = max(self.nextNumber, number &+ 1)
    }

    /// Changes what is known about a record beyond `state`.
    mutating func update(_ number: Int64, _ body: (inout HeldChannel) -> Void) {
        guard let index = self.held.index(forKey: number) else { return }
        let before = self.duties(of: self.held.values[index])
        body(&self.held.values[index])
        self.move(number, from: before, to: self.duties(of: self.held.values[index]))
    }

    /// Changes the record, which must be written to `state` afterwards.
    mutating func change(_ number: Int64, _ body: (inout HeldChannel) -> Void) {
        guard let held = self.held[number], !held.isLeaving else { return }
        self.unindex(held)
        self.update(number) {
            body(&$0)
            $0.isDirty = true
        }
        if let held = self.held[number] { self.index(held) }
    }

    /// Lets the record leave `state`: its tombstone must be written, and it can no longer be found by audience, id or
    /// phase.
    mutating func leave(_ number: Int64) {
        guard let held = self.held[number], !held.isLeaving else { return }
        self.unindex(held)
        self.update(number) {
            $0.isLeaving = true
            $0.isDirty = true
        }
    }

    /// Remembers that a write of the record was requested.
    mutating func begin(_ write: UInt64, of number: Int64) {
        self.update(number) {
            $0.isDirty = false
            $0.write = write
        }
    }

    /// Removes the record. Its tombstone is in `state`.
    mutating func remove(_ number: Int64) {
        guard let held = self.held.removeValue(forKey: number) else { return }
        self.leave(number, self.duties(of: held))
    }

    // MARK: Finding

    private mutating func index(_ held: HeldChannel) {
        if let owner = held.channel.owner { self.numbersByAudience[owner.audience, default: []].append(held.number) }
        if !held.channel.id.isEmpty { self.numbersByID[held.channel.id] = held.number }
    }

    private mutating func unindex(_ held: HeldChannel) {
        if !held.channel.id.isEmpty { self.numbersByID[held.channel.id] = nil }
        guard let owner = held.channel.owner else { return }
        self.numbersByAudience[owner.audience]?.removeAll { $0 == held.number }
        if self.numbersByAudience[owner.audience]?.isEmpty == true { self.numbersByAudience[owner.audience] = nil }
    }

    private func duties(of held: HeldChannel) -> HeldDuties {
        HeldDuties(held, schedule: self.schedule, beaconGraceMillis: self.beaconGraceMillis)
    }

    private mutating func move(_ number: Int64, from before: HeldDuties, to after: HeldDuties) {
        guard before != after else { return }
        self.leave(number, before)
        self.enter(number, after)
    }

    private mutating func enter(_ number: Int64, _ duties: HeldDuties) {
        if duties.isToBeWritten { self.toBeWritten.insert(number) }
        if let phase = duties.phase { self.numbersByPhase[phase, default: SortedSet()].insert(number) }
        if duties.isToBeAnnounced { self.toBeAnnounced.insert(number) }
        if duties.isToBeDeleted { self.toBeDeleted.insert(number) }
        if duties.isWish { self.wishesByPolicy[duties.policy, default: SortedSet()].insert(number) }
        if duties.isWarm { self.warmByPolicy[duties.policy, default: SortedSet()].insert(number) }
        if duties.isWarmAndDurable { self.readyByPolicy[duties.policy, default: SortedSet()].insert(number) }
        if let millis = duties.beaconMillis { self.beacons.insert(DueNumber(millis: millis, number: number)) }
        if let millis = duties.lingeredMillis { self.lingering.insert(DueNumber(millis: millis, number: number)) }
    }

    private mutating func leave(_ number: Int64, _ duties: HeldDuties) {
        if duties.isToBeWritten { self.toBeWritten.remove(number) }
        if let phase = duties.phase { self.numbersByPhase[phase]?.remove(number) }
        if duties.isToBeAnnounced { self.toBeAnnounced.remove(number) }
        if duties.isToBeDeleted { self.toBeDeleted.remove(number) }
        if duties.isWish { self.wishesByPolicy[duties.policy]?.remove(number) }
        if duties.isWarm { self.warmByPolicy[duties.policy]?.remove(number) }
        if duties.isWarmAndDurable { self.readyByPolicy[duties.policy]?.remove(number) }
        if let millis = duties.beaconMillis { self.beacons.remove(DueNumber(millis: millis, number: number)) }
        if let millis = duties.lingeredMillis { self.lingering.remove(DueNumber(millis: millis, number: number)) }
    }
}
