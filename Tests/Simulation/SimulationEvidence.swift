import PushEngine
import PushModel

/// The judge's memory of what was stored in Kafka, and in which order.
struct SimulationEvidence {
    struct SeenOutcome {
        var name: String
        var into: SourcePosition?
        /// Whether the outcome says only that the event was already processed earlier.
        var isReplay: Bool
        /// Whether the outcome says that an earlier attempt may have reached the phone.
        var mayBeSent: Bool
        /// Whether the outcome reports an answer of APNs.
        var isOfAPNs: Bool
        var worker: Int
        /// Sequence number of the judge's evidence when the outcome was made.
        var madeAt: Int
        /// When the outcome was stored in Kafka, by the steady clock.
        var saidMillis: Int64
    }
    /// Number by which the judge compares moments. Each event read, answer heard and partition assigned increases it.
    private(set) var sequence = 0
    private(set) var outcomes: [SourcePosition: [SeenOutcome]] = [:]
    /// Events stored in the routed topic.
    private(set) var routed: Set<SourcePosition> = []
    private var consumed: [SourcePosition: (worker: Int, sequence: Int)] = [:]
    /// Sequence number at which a worker made its newest state record that is stored in Kafka, by activity and worker.
    private var states: [Int: [Int: Int]] = [:]
    /// Sequence number at which a worker made its newest state record whose acknowledgement it has, by activity and
    /// worker.
    private var acknowledgedStates: [Int: [Int: Int]] = [:]
    /// Sequence numbers at which partitions were assigned to a worker, by worker.
    private var assignments: [Int: [Int]] = [:]
    /// Registrations that a worker has read, with the sequence number at that moment, by activity and worker.
    private var registrations: [Int: [Int: [(number: Int, sequence: Int)]]] = [:]
    /// Sequence numbers at which a worker got the answer that APNs accepted a push, by worker and token.
    private var acceptances: [Int: [String: [Int]]] = [:]
    /// For each key, the acknowledgement of its newest record that is stored in `state`, by worker and log. The newest
    /// record is the one that was made last.
    private var newestStates: [Int: [SimulatedKafka.LogID: [[UInt8]: UInt64]]] = [:]

    /// How many records a worker had made, with the sequence number at that moment, by worker. Both numbers grow.
    private var made: [Int: [(number: UInt32, sequence: Int)]] = [:]

    /// Remembers that the worker has made this record and all earlier ones by now.
    mutating func rememberMade(_ acknowledgement: UInt64, worker: Int) {
        let number = UInt32(acknowledgement >> 32)
        guard number > self.made[worker]?.last?.number ?? 0 else { return }
        self.made[worker, default: []].append((number, self.sequence))
    }

    /// Sequence number of the evidence when a worker made a record. It may be a little too high.
    func madeAt(_ acknowledgement: UInt64, worker: Int) -> Int {
        let (made, number) = (self.made[worker] ?? [], UInt32(acknowledgement >> 32))
        var range = 0..<made.count
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            range = made[middle].number < number ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound < made.count ? made[range.lowerBound].sequence : self.sequence
    }

    mutating func consumed(_ position: SourcePosition, worker: Int) {
        self.sequence += 1
        self.consumed[position] = (worker, self.sequence)
    }

    /// Counts a worker's receipt of an answer to a push.
    /// - Returns: the sequence number before this call. Records that are made after it have a greater number.
    mutating func rememberHeard() -> Int {
        self.sequence += 1
        return self.sequence - 1
    }

    mutating func rememberAccepted(_ token: String, worker: Int) {
        self.acceptances[worker, default: [:]][token, default: []].append(self.rememberHeard())
    }

    /// The last sequence number below `before` at which a worker got the answer that APNs accepted a push to the token.
    /// `nil`: there is none.
    func lastAccepted(_ token: String, worker: Int, before: Int) -> Int? {
        self.acceptances[worker]?[token]?.last { $0 < before }
    }

    mutating func rememberRegistration(_ number: Int, of activity: Int, worker: Int) {
        self.registrations[activity, default: [:]][worker, default: []].append((number, self.sequence))
    }

    /// Registrations that a worker had read before it made a record, as indexes into the world's order.
    func registrationsRead(of activity: Int, worker: Int, madeAt: Int) -> [Int] {
        (self.registrations[activity]?[worker] ?? []).filter { $0.sequence <= madeAt }.map(\.number)
    }

    /// Remembers that a partition was assigned to the worker.
    mutating func rememberAssignment(worker: Int) {
        self.sequence += 1
        self.assignments[worker, default: []].append(self.sequence)
    }

    func wasAssigned(_ worker: Int, after: Int, before: Int) -> Bool {
        self.assignments[worker]?.contains { $0 > after && $0 <= before } ?? false
    }

    /// Remembers that a state record was stored.
    /// - Parameter madeAt: the sequence number when the worker's engine made the record.
    mutating func rememberState(activity: Int, worker: Int, madeAt: Int) {
        self.states[activity, default: [:]][worker] = max(self.states[activity]?[worker] ?? 0, madeAt)
    }

    /// Remembers that the worker has got the acknowledgement of a state record.
    mutating func rememberAcknowledged(activity: Int, worker: Int, madeAt: Int) {
        self.acknowledgedStates[activity, default: [:]][worker] = max(
            self.acknowledgedStates[activity]?[worker] ?? 0, madeAt)
    }

    /// Remembers that a record was stored in `state`.
    /// - Returns: the acknowledgement of a newer record with the same key and worker that was stored before this one. A
    ///   restore would read the older record last. `nil`: there is no such record.
    mutating func rememberState(
        _ logID: SimulatedKafka.LogID, key: [UInt8], producer: Int, _ acknowledgement: UInt64
    ) -> UInt64? {
        let newest = self.newestStates[producer, default: [:]][logID, default: [:]][key]
        if let newest, EngineRecord.isMade(acknowledgement, before: newest) { return newest }
        self.newestStates[producer, default: [:]][logID, default: [:]][key] = acknowledgement
        return nil
    }

    mutating func rememberRouted(_ position: SourcePosition) { self.routed.insert(position) }

    /// Remembers an outcome.
    /// - Parameter isOfMany: whether the event at a position is for many phones. An outcome of such an event that names
    ///   one phone is about that phone, not about the event.
    /// - Returns: `false` if the record cannot be read.
    mutating func rememberOutcome(
        _ record: LoggedRecord, worker: Int, nowMillis: Int64, isOfMany: (SourcePosition) -> Bool
    ) -> Bool {
        let text = String(decoding: record.value, as: UTF8.self)
        let parts = text.split(separator: "\"into\":{", maxSplits: 1)
        guard let name = Self.text("\"outcome\":\"", in: parts[0]) else { return false }
        // An outcome with one of these names is about a version at many phones, or about a channel.
        if Self.namesAboutMany.contains(name) { return true }
        guard let position = Self.position(in: parts[0]) else { return false }
        if isOfMany(position), parts[0].contains("\"token-hash\":\"") { return true }
        self.outcomes[position, default: []].append(
            SeenOutcome(
                name: name == Self.fannedOut ? "delivered" : name,
                into: parts.count > 1 ? Self.position(in: parts[1]) : nil,
                isReplay: name == "duplicate" && parts[0].contains("replayed: already applied"),
                mayBeSent: parts[0].contains("may have reached the device"),
                isOfAPNs: parts[0].contains("\"status\":"), worker: worker,
                madeAt: record.madeAt, saidMillis: nowMillis))
        return true
    }

    /// When the last `fanned-out` outcome of an audience's event was written. `nil`: none was written. A new owner does
    /// not know of that outcome, and writes it again.
    func lastReported(of position: SourcePosition) -> Int64? {
        (self.outcomes[position] ?? []).filter { $0.name == "delivered" }.map(\.saidMillis).max()
    }

    /// Why the worker must not treat the event as resolved yet. `nil`: it may.
    /// - Parameters:
    ///   - record: position at which the event was read. An event that was forwarded twice has two records in `routed`.
    ///   - activity: the event's activity. It is `nil` for a join, leave or `open`, because the judge does not know
    ///     which `state` record covers such an event.
    ///   - isAcknowledged: whether the worker must also have the acknowledgement of the activity's `state` record.
    func whyUnresolved(
        _ position: SourcePosition, record: SourcePosition, activity: Int?, isMisplaced: Bool, worker: Int,
        isAcknowledged: Bool
    ) -> String? {
        if isMisplaced {
            // An event that could not be forwarded has its outcome in the partition in which it was written.
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
    /// Outcome of an audience's event that means the same as `delivered` for an activity's event.
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
