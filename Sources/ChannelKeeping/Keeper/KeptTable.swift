/// A record of the keeper, and what is known about it beside what `state` says.
struct HeldChannel {
    let number: Int64
    var channel: KeptChannel
    /// `state` has to be told.
    var isDirty = false
    /// The write that is not acknowledged; the next waits for it.
    var write: UInt64?
    /// It goes, or has gone, out of `state`. Nobody finds it any more.
    var isLeaving = false
    /// What is resolved once `state` has it. As many as its audience's messages that are not committed, which the reader of `routed` bounds.
    var receipts: [UInt64] = []

    /// To be told before it goes on: a refusal, or that it has vanished.
    var news: KeeperNews?
    /// The announcement that is not acknowledged.
    var announcement: UInt64?

    /// Steady milliseconds. In `ended`: when it would have ended by a clock that never steps. In `deleted`: since when it is gone for sure.
    var anchorMillis: Int64 = 0
    /// When the first list was asked for that did not show it, steady milliseconds.
    var absentSinceMillis: Int64?
    /// A second one did not, and was asked for so much later that no lag explains it.
    var isAbsentForGood = false
    var isBeaconInFlight = false
    /// No beacon before this, steady milliseconds.
    var beaconNotBeforeMillis = Int64.min

    init(number: Int64, channel: KeptChannel) {
        self.number = number
        self.channel = channel
    }

    /// `state` says what `channel` says.
    var isDurable: Bool { !self.isDirty && self.write == nil && !self.isLeaving }
}

/// The records of a keeper by number, by audience, by id and by phase.
struct KeptTable {
    private(set) var held: [Int64: HeldChannel] = [:]
    private var numbersByAudience: [[UInt8]: [Int64]] = [:]
    private var numbersByID: [[UInt8]: Int64] = [:]
    private var numbersByPhase: [KeptChannel.Phase: Set<Int64>] = [:]
    /// Records whose write has to be asked for.
    private(set) var dirty: Set<Int64> = []
    private var nextNumber: Int64 = 0

    var count: Int { self.held.count }

    subscript(number: Int64) -> HeldChannel? { self.held[number] }

    /// In ascending order, without those that leave.
    func numbers(in phase: KeptChannel.Phase) -> [Int64] { (self.numbersByPhase[phase] ?? []).sorted() }
    func count(in phase: KeptChannel.Phase) -> Int { self.numbersByPhase[phase]?.count ?? 0 }
    func number(id: [UInt8]) -> Int64? { self.numbersByID[id] }
    /// Of every life of an audience.
    func numbers(audience: [UInt8]) -> [Int64] { self.numbersByAudience[audience] ?? [] }
    func number(of owner: KeptOwner) -> Int64? {
        self.numbers(audience: owner.audience).first { self.held[$0]?.channel.owner == owner }
    }

    mutating func add(_ channel: KeptChannel) -> Int64 {
        let number = self.nextNumber
        self.restore(number, channel)
        return number
    }

    mutating func restore(_ number: Int64, _ channel: KeptChannel) {
        let held = HeldChannel(number: number, channel: channel)
        self.held[number] = held
        self.index(held)
        self.nextNumber = max(self.nextNumber, number &+ 1)
    }

    /// Changes what is known beside the record.
    mutating func note(_ number: Int64, _ body: (inout HeldChannel) -> Void) {
        guard let index = self.held.index(forKey: number) else { return }
        body(&self.held.values[index])
    }

    /// Changes the record, which then has to be written.
    mutating func change(_ number: Int64, _ body: (inout HeldChannel) -> Void) {
        guard var held = self.held[number], !held.isLeaving else { return }
        self.unindex(held)
        body(&held)
        held.isDirty = true
        self.held[number] = held
        self.dirty.insert(number)
        self.index(held)
    }

    /// The record is to go out of `state`; it is found no more.
    mutating func leave(_ number: Int64) {
        guard var held = self.held[number], !held.isLeaving else { return }
        self.unindex(held)
        held.isLeaving = true
        held.isDirty = true
        self.held[number] = held
        self.dirty.insert(number)
    }

    /// A write is asked for.
    mutating func begin(_ write: UInt64, of number: Int64) {
        self.dirty.remove(number)
        self.note(number) {
            $0.isDirty = false
            $0.write = write
        }
    }

    /// The tombstone is in `state`.
    mutating func remove(_ number: Int64) { self.held[number] = nil }

    private mutating func index(_ held: HeldChannel) {
        if let owner = held.channel.owner { self.numbersByAudience[owner.audience, default: []].append(held.number) }
        if !held.channel.id.isEmpty { self.numbersByID[held.channel.id] = held.number }
        self.numbersByPhase[held.channel.phase, default: []].insert(held.number)
    }

    private mutating func unindex(_ held: HeldChannel) {
        self.numbersByPhase[held.channel.phase]?.remove(held.number)
        if !held.channel.id.isEmpty { self.numbersByID[held.channel.id] = nil }
        guard let owner = held.channel.owner else { return }
        self.numbersByAudience[owner.audience]?.removeAll { $0 == held.number }
        if self.numbersByAudience[owner.audience]?.isEmpty == true { self.numbersByAudience[owner.audience] = nil }
    }
}
