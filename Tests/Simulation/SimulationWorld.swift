import DeviceModel
import PushEngine
import PushModel

/// The whole of decoding, engine, changelog and restore on a virtual clock, with a simulated Kafka, APNs and phones. One seed is one run.
package struct SimulationWorld: ~Copyable {
    static let beginMillis: Int64 = 1_000_000
    static let topics = ["liveactivity.events", "liveactivity.routed"]

    package let seed: UInt64
    /// Tells what happens, line by line; `nil`: nobody listens.
    let trace: ((String) -> Void)?
    var random: SplitMix64
    package let plan: SimulationPlan
    var kafka = SimulatedKafka()
    var engine: ShardEngine
    var steadyMillis = Self.beginMillis
    var wallOffsetMillis: Int64 = 1_700_000_000_000
    var phones: [SimulatedPhone] = []
    var written: [SourcePosition: WrittenEvent] = [:]
    var order: [SourcePosition] = []
    var positions: [SimulatedKafka.Place: Int64] = [:]
    var flights: [Flight] = []
    var flightCount = 0
    /// What did not hold; empty: everything did.
    package internal(set) var faults: [String] = []
    var faultsAreOn = true
    /// By activity: times at which units of high priority return; `Int64.max` while unanswered.
    var budgetReturns: [[(id: PushID, returns: Int64, isRefunded: Bool)]]
    var lastStamps: [Int64]
    var lastBodies: [String]
    var restarts = 0
    var sentBodies: Set<[UInt8]> = []

    struct Flight {
        var number: Int
        var id: PushID
        var activity: Int
        var token: String
        var isStart: Bool
        var body: [UInt8]
        var priority: Int
        /// When the request reaches APNs, and when its answer comes.
        var arrivesMillis: Int64
        var answersMillis: Int64
        var result: PushAnswer.Result?
        var isApplied: Bool
        var engineLives = true
    }

    package init(seed: UInt64, trace: ((String) -> Void)? = nil) {
        self.seed = seed
        self.trace = trace
        self.random = SplitMix64(seed: seed)
        self.plan = SimulationPlan(random: &self.random)
        self.engine = Self.makeEngine(self.plan, seed: seed)
        self.budgetReturns = Array(repeating: [], count: self.plan.activities)
        self.lastStamps = Array(repeating: 0, count: self.plan.activities)
        self.lastBodies = Array(repeating: "", count: self.plan.activities)
        for number in 0..<self.plan.activities {
            self.phones.append(SimulatedPhone(key: "order-\(number)", lastEventSeconds: self.now.wallSeconds))
        }
    }

    static func makeEngine(_ plan: SimulationPlan, seed: UInt64) -> ShardEngine {
        var configuration = EngineConfiguration(
            apps: [plan.app], inputTopics: Self.topics, routedTopicIndex: 1, partitionCount: plan.partitions)
        configuration.outcomePublication = .all
        return ShardEngine(configuration: configuration, randomSeed: seed)
    }

    var now: EngineTime {
        EngineTime(steadyMillis: self.steadyMillis, wallMillis: self.steadyMillis + self.wallOffsetMillis)
    }

    mutating func chance(_ percent: Int) -> Bool {
        self.faultsAreOn && Int.random(in: 0..<100, using: &self.random) < percent
    }

    /// How long the run lasted on the virtual clock.
    package var simulatedMillis: Int64 { self.steadyMillis - Self.beginMillis }

    mutating func fail(_ text: String) {
        if self.faults.count < 20 { self.faults.append("seed \(self.seed): \(text)") }
    }

    // MARK: A run

    /// Plays the whole run.
    package mutating func run() {
        self.assignAll()
        var crashesLeft = self.plan.crashes
        var stepsLeft = self.plan.clockSteps
        for _ in 0..<self.plan.events {
            self.writeSomething()
            let until = self.steadyMillis + Int64.random(in: 0...self.plan.gapMillisMax, using: &self.random)
            self.runUntil(until)
            if crashesLeft > 0, self.chance(6) {
                crashesLeft -= 1
                self.crash()
            }
            if stepsLeft > 0, self.chance(3) {
                stepsLeft -= 1
                self.wallOffsetMillis += Int64.random(in: -200_000...30_000, using: &self.random)
            }
        }
        self.faultsAreOn = false
        // Waits for tokens, deferred budgets and backoff: a little more than the life of an activity settles everything.
        self.runUntil(self.steadyMillis + 14 * 3_600_000)
        self.checkSettled()
    }

    /// Runs from one thing that happens to the next.
    mutating func runUntil(_ endMillis: Int64) {
        var turns = 0
        while true {
            self.turn()
            turns += 1
            if turns > 200_000 {
                self.fail("the world does not come to rest")
                return
            }
            var next = endMillis
            if let deadline = self.engine.nextDeadlineMillis { next = min(next, deadline) }
            if let arrival = self.kafka.nextArrivalMillis { next = min(next, arrival) }
            for flight in self.flights {
                if !flight.isApplied { next = min(next, flight.arrivesMillis) }
                if flight.result != nil { next = min(next, flight.answersMillis) }
            }
            guard next < endMillis else { break }
            self.steadyMillis = max(self.steadyMillis + (next <= self.steadyMillis ? 1 : 0), next)
        }
        self.steadyMillis = max(self.steadyMillis, endMillis)
        self.turn()
    }

    /// What the runner does in one turn of its loop, and what the world does meanwhile.
    mutating func turn() {
        for (acknowledgement, offset) in self.kafka.arrivals(nowMillis: self.steadyMillis, random: &self.random) {
            self.engine.acknowledged(acknowledgement, offset: offset, now: self.now)
        }
        self.finishRestores()
        self.fly()
        self.consume()
        self.engine.advance(now: self.now)
        self.push()
        self.produce()
        for commit in self.engine.takeCommits() { self.commit(commit) }
        self.checkInvariants()
    }

    // MARK: Kafka

    mutating func produce() {
        let batch = self.engine.batch
        self.engine.batch.removeAll()
        for record in batch.records {
            var logged = LoggedRecord(key: Array(batch.bytes[record.key]), value: Array(batch.bytes[record.value]))
            logged.hasKey = record.hasKey
            logged.isTombstone = record.isTombstone
            logged.timestampMillis = record.timestampMillis
            logged.headers = record.headers.map {
                let header = batch.headers[$0]
                return (
                    String(decoding: batch.bytes[header.name], as: UTF8.self),
                    String(decoding: batch.bytes[header.value], as: UTF8.self)
                )
            }
            let topic: SimulatedKafka.Topic =
                switch record.topic {
                case .state: .state
                case .outcomes: .outcomes
                case .deadLetters: .deadLetters
                case .routed: .routed
                }
            self.kafka.send(
                logged, to: SimulatedKafka.Place(topic: topic, partition: max(0, record.partition)),
                acknowledgement: record.acknowledgement,
                nowMillis: self.steadyMillis, random: &self.random)
        }
    }

    mutating func commit(_ commit: CommitPosition) {
        let place = SimulatedKafka.Place(topic: commit.topic == 0 ? .events : .routed, partition: commit.partition)
        if commit.nextOffset > self.kafka.end(place) {
            self.fail("committed \(commit.nextOffset) past the end of \(place)")
        }
        if commit.nextOffset < self.kafka.committed[place] ?? 0 { self.fail("a commit went back in \(place)") }
        self.kafka.commit(place, commit.nextOffset)
    }

    mutating func consume() {
        for partition in 0..<self.plan.partitions {
            for (topic, kind) in [(UInt16(0), SimulatedKafka.Topic.events), (1, .routed)] {
                let place = SimulatedKafka.Place(topic: kind, partition: partition)
                guard var position = self.positions[place] else { continue }
                while self.engine.wantsRecords, let record = self.kafka.record(place, position) {
                    self.consume(record, topic: topic, partition: partition, offset: position)
                    position += 1
                }
                self.positions[place] = position
            }
        }
    }

    private mutating func consume(_ record: LoggedRecord, topic: UInt16, partition: Int32, offset: Int64) {
        var origin: SourcePosition?
        var timestamp = record.timestampMillis
        if topic == 1 {
            let headers = Dictionary(
                record.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
            origin = SourcePosition(
                topic: 0, partition: Int32(headers["mailboat-partition"]!)!, offset: Int64(headers["mailboat-offset"]!)!
            )
            timestamp = Int64(headers["mailboat-timestamp"]!)!
        }
        self.engine.consume(
            InputRecord(
                topic: topic, partition: partition, offset: offset, timestampMillis: timestamp, hasKey: record.hasKey,
                hasValue: !record.isTombstone, origin: origin),
            key: record.key.span, value: record.value.span, traceparent: [UInt8]().span, now: self.now)
    }

    // MARK: Ownership

    mutating func assignAll() {
        for partition in 0..<self.plan.partitions { self.engine.partitionAssigned(partition, now: self.now) }
    }

    mutating func finishRestores() {
        for partition in 0..<self.plan.partitions {
            let events = SimulatedKafka.Place(topic: .events, partition: partition)
            guard self.positions[events] == nil, let marker = self.engine.markerOffset(partition: partition) else {
                continue
            }
            let state = SimulatedKafka.Place(topic: .state, partition: partition)
            for offset in 0...marker {
                guard let record = self.kafka.record(state, offset), !record.isGone else { continue }
                let result = self.engine.restore(
                    partition: partition, key: record.key.span, value: record.value.span,
                    isTombstone: record.isTombstone, offset: offset,
                    now: self.now)
                if result != .restored, result != .ignored { self.fail("restore said \(result)") }
            }
            let routed = SimulatedKafka.Place(topic: .routed, partition: partition)
            let ends = [events, routed].enumerated().map {
                CommitPosition(topic: UInt16($0.offset), partition: partition, nextOffset: self.kafka.end($0.element))
            }
            let starts = [events, routed].enumerated().map {
                CommitPosition(
                    topic: UInt16($0.offset), partition: partition, nextOffset: self.kafka.committed[$0.element] ?? 0)
            }
            self.engine.restoreFinished(partition: partition, logEnds: ends, starts: starts, now: self.now)
            self.positions[events] = starts[0].nextOffset
            self.positions[routed] = starts[1].nextOffset
        }
    }

    /// Kill -9, and a new worker in its place. What is in a socket may still arrive.
    mutating func crash() {
        self.restarts += 1
        self.trace?("t=\(self.steadyMillis) CRASH")
        self.kafka.producerDied(random: &self.random)
        for flight in self.flights.indices {
            self.flights[flight].engineLives = false
            for unit in self.budgetReturns[self.flights[flight].activity].indices
            where self.budgetReturns[self.flights[flight].activity][unit].returns == .max {
                // Nobody will learn the answer; the successor may count it from the record or not at all.
                self.budgetReturns[self.flights[flight].activity][unit].returns = self.steadyMillis
            }
        }
        if Bool.random(using: &self.random) {
            for partition in 0..<self.plan.partitions {
                self.kafka.compact(SimulatedKafka.Place(topic: .state, partition: partition))
            }
        }
        self.positions = [:]
        self.engine = Self.makeEngine(self.plan, seed: self.random.next())
        self.steadyMillis += Int64.random(in: 1_100...5_000, using: &self.random)
        self.assignAll()
    }
}
