import PushEngine
import PushModel

/// The judge's memory: what has been stored in Kafka, in that order.
struct SimulationEvidence {
    struct OutcomeNote {
        var name: String
        var into: SourcePosition?
        /// Whether the outcome says only that the event was done before.
        var isReplay: Bool
        /// Whether the outcome says that an attempt may have reached the phone before.
        var mayBeSent: Bool
        var worker: Int
        /// How much the judge had seen when the outcome was made.
        var madeAt: Int
        /// When the outcome was stored in Kafka, steady.
        var saidMillis: Int64
    }
    /// Sequence number of the newest note; each note increases it.
    private(set) var sequence = 0
    private(set) var outcomes: [SourcePosition: [OutcomeNote]] = [:]
    /// Events stored in the routed topic.
    private(set) var routed: Set<SourcePosition> = []
    private var consumed: [SourcePosition: (worker: Int, sequence: Int)] = [:]
    /// By activity and worker: when the worker made its last stored state record.
    private var states: [Int: [Int: Int]] = [:]
    /// By activity and worker: state records that their worker knows to be stored in Kafka.
    private var acknowledgedStates: [Int: [Int: Int]] = [:]
    /// By worker: when partitions were assigned to it.
    private var assignments: [Int: [Int]] = [:]
    /// By activity and worker: registrations that the worker has read, and when.
    private var registrations: [Int: [Int: [(number: Int, sequence: Int)]]] = [:]
    /// By worker and token: each time that the worker heard of a push that APNs has accepted.
    private var acceptances: [Int: [String: [Int]]] = [:]
    /// By worker, partition and key: the record in `state` that was made last.
    private var newestStates: [Int: [SimulatedKafka.Place: [[UInt8]: UInt64]]] = [:]

    /// By worker: number of the last record that it has made, and how much the judge had seen by then. Both grow.
    private var made: [Int: [(number: UInt32, sequence: Int)]] = [:]

    /// Notes that the worker has made everything up to this record by now.
    mutating func noteMade(_ acknowledgement: UInt64, worker: Int) {
        let number = UInt32(acknowledgement >> 32)
        guard number > self.made[worker]?.last?.number ?? 0 else { return }
        self.made[worker, default: []].append((number, self.sequence))
    }

    /// How much the judge had seen when a worker made a record, or a little later.
    func madeAt(_ acknowledgement: UInt64, worker: Int) -> Int {
        let (made, number) = (self.made[worker] ?? [], UInt32(acknowledgement >> 32))
        var places = 0..<made.count
        while !places.isEmpty {
            let middle = (places.lowerBound + places.upperBound) / 2
            places = made[middle].number < number ? middle + 1..<places.upperBound : places.lowerBound..<middle
        }
        return places.lowerBound < made.count ? made[places.lowerBound].sequence : self.sequence
    }

    mutating func consumed(_ position: SourcePosition, worker: Int) {
        self.sequence += 1
        self.consumed[position] = (worker, self.sequence)
    }

    /// Notes that a worker hears what became of a push.
    /// - Returns: how much the judge had seen before; records made from here on were made later.
    mutating func noteHeard() -> Int {
        self.sequence += 1
        return self.sequence - 1
    }

    mutating func noteAccepted(_ token: String, worker: Int) {
        self.acceptances[worker, default: [:]][token, default: []].append(self.noteHeard())
    }

    /// When a worker last heard, before it made a record, that APNs has accepted a push to a token; `nil`: never.
    func lastAccepted(_ token: String, worker: Int, before: Int) -> Int? {
        self.acceptances[worker]?[token]?.last { $0 < before }
    }

    mutating func noteRegistration(_ number: Int, of activity: Int, worker: Int) {
        self.registrations[activity, default: [:]][worker, default: []].append((number, self.sequence))
    }

    /// Registrations that a worker had read before it made a record, by the number of their event.
    func registrationsRead(of activity: Int, worker: Int, madeAt: Int) -> [Int] {
        (self.registrations[activity]?[worker] ?? []).filter { $0.sequence <= madeAt }.map(\.number)
    }

    /// Notes that a partition was assigned to the worker.
    mutating func noteAssignment(worker: Int) {
        self.sequence += 1
        self.assignments[worker, default: []].append(self.sequence)
    }

    func wasAssigned(_ worker: Int, after: Int, before: Int) -> Bool {
        self.assignments[worker]?.contains { $0 > after && $0 <= before } ?? false
    }

    /// Notes a state record.
    /// - Parameter madeAt: the sequence when the worker's engine made the record.
    mutating func noteState(activity: Int, worker: Int, madeAt: Int) {
        self.states[activity, default: [:]][worker] = max(self.states[activity]?[worker] ?? 0, madeAt)
    }

    /// Notes that the worker hears that the record is stored in `state`.
    mutating func noteAcknowledged(activity: Int, worker: Int, madeAt: Int) {
        self.acknowledgedStates[activity, default: [:]][worker] = max(
            self.acknowledgedStates[activity]?[worker] ?? 0, madeAt)
    }

    /// Notes that a record is stored in `state`. Returns the newest record of its key and worker that Kafka has taken,
    /// if that was made later. A restore then reads less than what was acknowledged.
    mutating func noteState(
        _ place: SimulatedKafka.Place, key: [UInt8], producer: Int, _ acknowledgement: UInt64
    ) -> UInt64? {
        let newest = self.newestStates[producer, default: [:]][place, default: [:]][key]
        if let newest, EngineRecord.isMade(acknowledgement, before: newest) { return newest }
        self.newestStates[producer, default: [:]][place, default: [:]][key] = acknowledgement
        return nil
    }

    mutating func noteRouted(_ position: SourcePosition) { self.routed.insert(position) }

    /// Notes an outcome. `false`: the record cannot be read.
    /// - Parameter isOfMany: the event there is for many phones. An outcome that names one phone is about that phone,
    ///   not about the event.
    mutating func noteOutcome(
        _ record: LoggedRecord, worker: Int, nowMillis: Int64, isOfMany: (SourcePosition) -> Bool
    ) -> Bool {
        let text = String(decoding: record.value, as: UTF8.self)
        let parts = text.split(separator: "\"into\":{", maxSplits: 1)
        guard let name = Self.text("\"outcome\":\"", in: parts[0]) else { return false }
        // The outcome says what became of a version at many phones.
        if Self.namesAboutMany.contains(name) { return true }
        guard let position = Self.position(in: parts[0]) else { return false }
        if isOfMany(position), parts[0].contains("\"token-hash\":\"") { return true }
        self.outcomes[position, default: []].append(
            OutcomeNote(
                name: name == Self.fannedOut ? "delivered" : name,
                into: parts.count > 1 ? Self.position(in: parts[1]) : nil,
                isReplay: name == "duplicate" && parts[0].contains("replayed: already applied"),
                mayBeSent: parts[0].contains("may have reached the device"), worker: worker,
                madeAt: record.madeAt, saidMillis: nowMillis))
        return true
    }

    /// When all members were last told an audience's event; `nil`: not yet. A new owner, which does not know that,
    /// tells them again.
    func lastTold(of position: SourcePosition) -> Int64? {
        (self.outcomes[position] ?? []).filter { $0.name == "delivered" }.map(\.saidMillis).max()
    }

    /// Why the worker may not say that it is done with the event; `nil`: it may.
    /// - Parameters:
    ///   - record: where it was read; an event that was forwarded twice has two records in the routed topic.
    ///   - activity: `nil`: a member of an audience; nobody here knows which record in `state` is the member's.
    ///   - isAcknowledged: the worker must have heard that its record is stored in `state`.
    func whyUnresolved(
        _ position: SourcePosition, record: SourcePosition, activity: Int?, isMisplaced: Bool, worker: Int,
        isAcknowledged: Bool
    ) -> String? {
        if isMisplaced {
            // An event that could not be forwarded has its outcome.
            let isDead = (self.outcomes[position] ?? []).contains { $0.name == "dead-lettered" }
            return isDead || self.routed.contains(position) ? nil : "it was not forwarded yet"
        }
        let mine = (self.outcomes[position] ?? []).filter { $0.worker == worker }
        if mine.contains(where: { $0.name == "duplicate" || $0.name == "dead-lettered" }) { return nil }
        guard let consumed = self.consumed[record], consumed.worker == worker else {
            return "it was not read by that worker"
        }
        guard let activity else { return nil }
        let states = isAcknowledged ? self.acknowledgedStates : self.states
        guard let state = states[activity]?[worker], state >= consumed.sequence else {
            return "no state record was \(isAcknowledged ? "acknowledged" : "written") since it was read"
        }
        return nil
    }

    /// Whether the event is stored in the routed topic.
    func isRouted(_ position: SourcePosition) -> Bool { self.routed.contains(position) }

    private static let namesAboutMany = [
        "pass", "start-pass", "audience", "channel-opened", "channel-closed", "channel-refused",
    ]
    /// The counterpart of `delivered` for an audience's event.
    private static let fannedOut = "fanned-out"

    /// Position of the event that an outcome is about.
    static func position(ofOutcome text: String) -> SourcePosition? {
        Self.position(in: text.split(separator: "\"into\":{", maxSplits: 1)[0])
    }

    private static func text(_ name: String, in text: Substring) -> String? {
        guard let range = text.firstRange(of: name) else { return nil }
        return String(text[range.upperBound...].prefix { $0 != "\"" })
    }

    private static func position(in text: Substring) -> SourcePosition? {
        guard let partition = Self.number("\"partition\":", in: text),
            let offset = Self.number("\"offset\":", in: text),
            let partition = Int32(exactly: partition)
        else { return nil }
        return SourcePosition(topic: 0, partition: partition, offset: offset)
    }

    private static func number(_ name: String, in text: Substring) -> Int64? {
        guard let range = text.firstRange(of: name) else { return nil }
        return Int64(text[range.upperBound...].prefix { $0.isNumber })
    }
}
