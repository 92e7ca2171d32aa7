import CommandSupport
import DeviceModel
import Foundation
import KafkaLog
import PushModel
import Upstream

/// Compares what is in Kafka and on the phones with what was published. The audit takes only two things from the
/// workers: their long turns, and their counts of refused records.
///
/// The log decides the order of events. A producer whose acknowledgement was lost may have written a record twice.
struct ChaosAudit {
    /// Records and offsets that are read back from Kafka after everything has settled.
    struct Logs {
        var events: [OwnedRecord] = []
        var outcomes: [OwnedRecord] = []
        var deadLetters: [OwnedRecord] = []
        /// Input and routed partitions, with the group's offset and the end of the log.
        var positions: [PartitionPositions] = []
    }

    typealias Position = EventOutcome.Position

    private(set) var eventsLost = 0
    private(set) var devicesChecked = 0
    private(set) var devicesEquivalent = 0
    private(set) var budgetViolations = 0
    /// Number of starts whose outcome is `unknown`.
    private(set) var startsUnknown = 0
    /// Number of source positions with more than one outcome record.
    private(set) var repeatedOutcomes = 0
    /// Number of source positions for which two owners wrote different outcomes. `OutcomeAgreement` decides which one
    /// counts.
    private(set) var differingOutcomes = 0
    /// Number of outcomes by name. Each source position counts once for each different outcome.
    private(set) var outcomeCounts: [String: Int] = [:]
    /// Counts that `judgeChannels` fills in.
    var channelCounts = ChannelCounts()
    /// Counts that `judgeMembers` fills in. `judgeStarts` adds start members to `held`.
    var memberCounts = MemberCounts()
    /// Counts that `judgeStarts` fills in.
    var startCounts = StartCounts()
    /// Counts that `readRefusals` and the judges of events and dead letters fill in.
    var refusalCounts = RefusalCounts()
    var refusals = RefusalScene()
    /// When each dead letter was written, by the position of the record that it is about.
    var letterMillis: [Position: Int64] = [:]
    /// Good events that `routed` did not take.
    var refusedByRouted: Set<Position> = []
    /// Activities whose registration is among `refusedByRouted`.
    var refusedActivities: Set<String> = []
    /// Bad records that were set aside.
    var setAside: Set<Position> = []
    /// Bad records that were set aside and whose outcome was refused.
    var unpublished: Set<Position> = []
    /// Records whose dead letter was refused and that were forwarded after all.
    var forwardedUnwritten: Set<Position> = []
    /// One line for each broken promise, at most `faultsMax`.
    private(set) var faults: [String] = []
    private(set) var faultCount = 0

    static let faultsMax = 200

    private var outcomes: [Position: [EventOutcome]] = [:]
    /// Outcomes of single start members, by the start's position and the token's hash.
    private(set) var failedStarts: [Position: [String: [EventOutcome]]] = [:]
    /// Audiences with start members.
    let startAudiences: Set<String>
    let startTokens: Set<String>
    /// Every published record, by key and value.
    private let publications: [RecordBytes: Publication]
    let topic: String
    /// The partition count that decides where keys belong, even if partitions were added. `nil` means that every record
    /// is where its key belongs unless it is marked as misplaced.
    private let partitionCount: Int32?
    private let deletedChannels: Set<String>

    struct RecordBytes: Hashable {
        var key: [UInt8]
        var value: [UInt8]
    }

    /// Judges a run.
    /// - Parameters:
    ///   - publications: all published records. No two have equal keys and values.
    ///   - acknowledgedCount: number of records that Kafka acknowledged.
    ///   - topic: the events topic.
    ///   - partitionCount: the topic's count at first, or `nil` when no partition was added.
    ///   - refusals: facts about records that Kafka refused for good.
    ///   - channels: facts about channels that the logs do not contain.
    ///   - audiences: facts about members of audiences that the logs do not contain.
    ///   - starts: facts about start members that the logs do not contain.
    ///   - phone: the phone behind a token, or `nil` when nothing was ever pushed to it.
    init(
        _ logs: Logs, publications: [Publication], acknowledgedCount: Int, topic: String,
        partitionCount: Int32? = nil, budgetPerHour: Int, refusals: RefusalScene = RefusalScene(),
        channels: ChannelScene = ChannelScene(), audiences: AudienceScene = AudienceScene(),
        starts: StartScene = StartScene(), phone: (_ token: String) -> Device?
    ) throws {
        self.topic = topic
        self.partitionCount = partitionCount
        self.deletedChannels = channels.deleted
        let starters = publications.compactMap(\.membership).filter(\.isStartToken)
        self.startAudiences = Set(starters.compactMap(\.audience))
        self.startTokens = Set(starters.map(\.token))
        self.publications = Dictionary(
            publications.map { (RecordBytes(key: $0.recordKey ?? [], value: $0.value), $0) },
            uniquingKeysWith: { first, _ in first })
        if logs.events.count < acknowledgedCount {
            self.fault("\(acknowledgedCount) records were acknowledged, but the log has only \(logs.events.count)")
        }
        try self.readOutcomes(logs.outcomes)
        self.readRefusals(refusals, logs)
        self.judgeEvents(logs.events)
        self.judgeDeadLetters(logs.deadLetters)
        self.judgeRefusals()
        self.judgePositions(logs.positions)
        try self.judgePhones(logs.events, budgetPerHour: budgetPerHour, phone: phone)
        try self.judgeChannels(channels, logs.events, phone: phone)
        try self.judgeMembers(audiences, logs.events, phone: phone)
        try self.judgeStarts(starts, logs)
    }

    mutating func fault(_ text: String) {
        self.faultCount += 1
        if self.faults.count < Self.faultsMax { self.faults.append(text) }
    }

    // MARK: Events and outcomes

    private mutating func readOutcomes(_ records: [OwnedRecord]) throws {
        for outcome in try EventOutcome.all(in: records) {
            guard outcome.topic == self.topic else {
                self.fault("an outcome names the topic \(outcome.topic), which is not \(self.topic)")
                continue
            }
            if outcome.isOfMember, let audience = outcome.audience, let hash = outcome.tokenHash,
                self.startAudiences.contains(audience)
            {
                self.failedStarts[outcome.position, default: [:]][hash, default: []].append(outcome)
                continue
            }
            if outcome.isOfMember {
                self.memberCounts.failures[outcome.reason ?? outcome.outcome, default: 0] += 1
                continue
            }
            self.outcomes[outcome.position, default: []].append(outcome)
        }
    }

    func publication(of record: OwnedRecord) -> Publication? {
        self.publications[RecordBytes(key: record.key ?? [], value: record.value ?? [])]
    }

    func outcomes(of record: OwnedRecord) -> [EventOutcome] { self.outcomes(at: Position(of: record)) }

    /// Whether the record's key belongs to another partition, by `partitionCount`. Such a record is forwarded, for
    /// example after the topic has grown.
    func isElsewhere(_ record: OwnedRecord) -> Bool {
        guard let count = self.partitionCount, let key = record.key else { return false }
        return Murmur2.partition(key: key.span, count: count) != record.partition
    }

    func outcomes(at position: Position) -> [EventOutcome] { self.outcomes[position] ?? [] }

    /// Whether the event was given up because its channel was deleted. An owner may have written `delivered` and died.
    /// The successor sends the event again and finds the channel deleted. It writes `unknown` if it cannot know whether
    /// the phones got the event.
    private func channelHasGone(_ publication: Publication, _ outcome: EventOutcome) -> Bool {
        guard self.deletedChannels.contains(publication.activity) else { return false }
        return outcome.outcome == "unknown"
            || outcome.outcome == "rejected" && Self.goneReasons.contains(outcome.reason ?? "")
    }

    private mutating func judgeEvents(_ records: [OwnedRecord]) {
        var firstSeen: Set<RecordBytes> = []
        for record in records {
            let place = "\(record.keyText ?? "") (\(self.topic)[\(record.partition)]@\(record.offset))"
            guard let publication = self.publication(of: record) else {
                self.fault("\(place): nobody published this record")
                continue
            }
            let isRepeat = !firstSeen.insert(RecordBytes(key: record.key ?? [], value: record.value ?? [])).inserted
            let found = self.outcomes(of: record)
            if found.count > 1 { self.repeatedOutcomes += 1 }
            for name in Set(found.map(\.outcome)) { self.outcomeCounts[name, default: 0] += 1 }
            if publication.outcomes == ["dead-lettered"] { self.setAside.insert(Position(of: record)) }
            if found.isEmpty, self.isUnpublished(publication, record) { continue }
            if found.isEmpty {
                self.eventsLost += 1
                self.fault("\(place): \(EventOutcome.missing(publication.outcomes))")
                continue
            }
            let isRefused = self.isRefusedByRouted(publication, record, found)
            let settled = found.filter {
                !self.channelHasGone(publication, $0) && !(isRefused && $0.outcome == "dead-lettered")
            }
            let agreement = OutcomeAgreement(settled.map(\.outcome))
            if case .counts = agreement { self.differingOutcomes += 1 }
            // The second of two equal records is an event of its own, and may end as `late`.
            if !isRepeat {
                for fault in EventOutcome.contradiction(agreement) { self.fault("\(place): \(fault)") }
            }
            let isDuplicate = publication.outcomes == ["duplicate"]
            let real = found.filter {
                ($0.outcome != "duplicate" || isDuplicate) && !(isRepeat && $0.outcome == "late")
                    && !(isRefused && $0.outcome == "dead-lettered")
            }
            if real.isEmpty, !isRepeat, !isRefused {
                let reasons = Set(found.compactMap(\.reason)).sorted().joined(separator: "; ")
                self.fault(
                    "\(place): only \(EventOutcome.words(Set(found.map(\.outcome)))) (\(reasons)), expected \(EventOutcome.words(publication.outcomes))"
                )
            }
            let unexcused = real.filter {
                !self.channelHasGone(publication, $0)
                    && !($0.outcome == "unregistered" && self.refusedActivities.contains(publication.activity))
            }
            for fault in EventOutcome.unexpected(in: unexcused, expected: publication.outcomes) {
                self.fault("\(place): \(fault)")
            }
        }
    }

    private mutating func judgeDeadLetters(_ records: [OwnedRecord]) {
        var letters: Set<Position> = []
        for record in records {
            guard let position = self.position(of: record) else {
                self.fault("the dead letter \(record.partition)@\(record.offset) does not say where it comes from")
                continue
            }
            letters.insert(position)
        }
        let told = Set(self.outcomes.filter { $0.value.contains { $0.outcome == "dead-lettered" } }.keys)
        for position in told.subtracting(letters).subtracting(self.forwardedUnwritten) where !self.isGivenUp(position) {
            self.fault(
                "\(self.topic)[\(position.partition)]@\(position.offset): dead-lettered, but there is no dead letter")
        }
        for position in letters.subtracting(told) where !self.unpublished.contains(position) {
            self.fault("\(self.topic)[\(position.partition)]@\(position.offset): a dead letter, but no outcome says so")
        }
    }

    private mutating func judgePositions(_ positions: [PartitionPositions]) {
        for position in positions where position.endOffset > 0 {
            guard let committed = position.committed, committed == position.endOffset else {
                self.fault(
                    "\(position.topicPartition) is committed up to \(position.committed.map { "\($0)" } ?? "nothing"), the log ends at "
                        + "\(position.endOffset)")
                continue
            }
        }
    }

    // MARK: Phones

    private struct Expectation {
        var reference = ReferenceDevice()
        var token: String?
        /// Whether the start's answer was lost, so that nobody knows whether the card is there.
        var cardIsUncertain = false
        /// Latest plausible record time so far. An event whose record time is not plausible is judged at this time.
        var timedMillis: Int64 = 1_483_228_800_000
        var story: [String] = []
    }

    /// Judges that every phone shows what it would show if the log's events had been pushed one by one.
    private mutating func judgePhones(
        _ records: [OwnedRecord], budgetPerHour: Int, phone: (_ token: String) -> Device?
    ) throws {
        var expectations: [String: Expectation] = [:]
        for record in records {
            guard let publication = self.publication(of: record), publication.event != nil || publication.token != nil
            else { continue }
            // Channels and audiences have their own judges.
            guard publication.event?.channel == nil, publication.event?.audience == nil else { continue }
            let names = self.outcomes(of: record).map(\.outcome)
            try Self.take(publication, record, names, &expectations[publication.activity, default: Expectation()])
        }
        for (activity, expectation) in expectations.sorted(by: { $0.key < $1.key }) {
            // An activity whose registration was refused gets no pushes.
            guard let token = expectation.token, !self.refusedActivities.contains(activity) else { continue }
            let actual = phone(token) ?? Device()
            if actual.highPriorityPeak > budgetPerHour {
                self.budgetViolations += 1
                self.fault(
                    "\(activity): \(actual.highPriorityPeak) high-priority pushes in an hour, the budget is \(budgetPerHour)"
                )
            }
            if expectation.cardIsUncertain {
                self.startsUnknown += 1
                if actual.phase == .untouched { continue }
            }
            self.devicesChecked += 1
            if let difference = actual.firstDifference(from: expectation.reference.device) {
                self.fault(
                    "\(activity): \(difference)\n" + expectation.story.map { "      \($0)" }.joined(separator: "\n"))
            } else {
                self.devicesEquivalent += 1
            }
        }
    }

    private static func take(
        _ publication: Publication, _ record: OwnedRecord, _ outcomes: [String], _ expectation: inout Expectation
    ) throws {
        expectation.token = publication.token ?? expectation.token
        let what =
            publication.event.map { "\($0.kind.rawValue) \($0.contentState ?? "")\($0.alert ?? "")" } ?? "register"
        expectation.story.append("[\(record.partition)]@\(record.offset) \(what) \(Set(outcomes).sorted())")
        guard let event = publication.event else { return }
        let mattered = outcomes.filter { $0 != "duplicate" }
        // An event that became only a dead letter does not change the phone.
        if !mattered.isEmpty, mattered.allSatisfy({ $0 == "dead-lettered" }) { return }
        // A start whose outcomes are all `duplicate` is a second copy, written because the first acknowledgement was
        // lost. It does not count.
        if event.kind == .start {
            if mattered.isEmpty { return }
            if mattered.allSatisfy({ $0 == "unknown" }) { expectation.cardIsUncertain = true }
        }
        let isTimed = publication.recordMillis == nil
        if isTimed { expectation.timedMillis = max(expectation.timedMillis, record.timestampMillis) }
        let recordMillis = isTimed ? record.timestampMillis : expectation.timedMillis
        try expectation.reference.take(payload: event.payload(recordMillis: recordMillis), nowMillis: recordMillis)
    }
}
