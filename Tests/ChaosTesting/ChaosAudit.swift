import CommandSupport
import DeviceModel
import Foundation
import KafkaLog
import PushModel
import Upstream

/// Holds what lies in Kafka and on the phones against what was published. Knows nothing of the workers.
///
/// The log itself is the truth of what happened in which order: a producer whose acknowledgement was lost may have written a record twice.
struct ChaosAudit {
    /// What is read back from Kafka when everything has settled.
    struct Logs {
        var events: [OwnedRecord] = []
        var outcomes: [OwnedRecord] = []
        var deadLetters: [OwnedRecord] = []
        /// Input and routed partitions with where the group is and where the log ends.
        var positions: [PartitionPositions] = []
    }

    struct Position: Hashable {
        var partition: Int32
        var offset: Int64

        init(partition: Int32, offset: Int64) {
            self.partition = partition
            self.offset = offset
        }

        init(of record: OwnedRecord) { self.init(partition: record.partition, offset: record.offset) }
    }

    private(set) var eventsLost = 0
    private(set) var devicesChecked = 0
    private(set) var devicesEquivalent = 0
    private(set) var budgetViolations = 0
    /// Starts whose outcome says that nobody knows whether they arrived.
    private(set) var startsUnknown = 0
    /// Source positions with more than one outcome record.
    private(set) var repeatedOutcomes = 0
    /// Source positions where two owners said different things, and one of these counts (`OutcomeAgreement`).
    private(set) var differingOutcomes = 0
    /// By name; each source position counts once for each different outcome it has.
    private(set) var outcomeCounts: [String: Int] = [:]
    /// Filled in by `judgeChannels` and `judgeMembers`.
    var channelCounts = ChannelCounts()
    var memberCounts = MemberCounts()
    /// Filled in by `judgeStarts`.
    var startCounts = StartCounts()
    /// Filled in by `readRefusals`, and while events and dead letters are judged.
    var refusalCounts = RefusalCounts()
    var refusals = RefusalScene()
    /// When each dead letter was written, by where its record lay.
    var letterMillis: [Position: Int64] = [:]
    /// Good events that `routed` did not take, and activities with a registration among them.
    var refusedByRouted: Set<Position> = []
    var refusedActivities: Set<String> = []
    /// Records that are bad, and those of them whose outcome was refused.
    var setAside: Set<Position> = []
    var unpublished: Set<Position> = []
    /// Their dead letters were refused, and they were forwarded after all.
    var forwardedUnwritten: Set<Position> = []
    /// One line for each promise that was broken; at most `faultsMax` of them.
    private(set) var faults: [String] = []
    private(set) var faultCount = 0

    static let faultsMax = 200

    /// One record of the outcomes topic.
    struct Outcome: Decodable {
        var outcome: String
        var topic: String
        var partition: Int32
        var offset: Int64
        var reason: String?
        /// A member's audience and token.
        var audience: String?
        var tokenHash: String?
        /// Stamp of the version of an audience's event, and what took its place.
        var version: Int64?
        var into: Source?
        /// When it was written, milliseconds since 1970: the record's time.
        var writtenMillis: Int64 = 0

        /// Where an event lies.
        struct Source: Decodable {
            var partition: Int32
            var offset: Int64
        }

        private enum CodingKeys: String, CodingKey {
            case outcome, topic, partition, offset, reason, audience, version, into
            case tokenHash = "token-hash"
        }

        /// It tells of one member whom the event did not reach, and not of the event.
        var isOfMember: Bool {
            !["applied", "duplicate"].contains(self.outcome) && self.audience != nil && self.tokenHash != nil
        }
    }

    private var outcomes: [Position: [Outcome]] = [:]
    /// Outcomes of single start members, by the start's position and the token's hash.
    private(set) var failedStarts: [Position: [String: [Outcome]]] = [:]
    /// Audiences with start members.
    let startAudiences: Set<String>
    let startTokens: Set<String>
    /// What each published record was, by key and value.
    private let publications: [RecordBytes: Publication]
    let topic: String
    /// The count that counts, whatever was added; `nil`: records lie where their keys have them, but for those that are said to be misplaced.
    private let partitionCount: Int32?
    private let deletedChannels: Set<String>

    struct RecordBytes: Hashable {
        var key: [UInt8]
        var value: [UInt8]
    }

    /// - Parameters:
    ///   - publications: everything that was published; no two have the same key and value.
    ///   - acknowledgedCount: records Kafka said it took.
    ///   - topic: where they were published.
    ///   - partitionCount: of the topic at first; `nil`: none was added.
    ///   - refusals: what is known of records that Kafka refused for good.
    ///   - channels: what is known of channels besides.
    ///   - audiences: what is known of the members of audiences besides.
    ///   - starts: what is known of start members besides.
    ///   - phone: the phone behind a token; `nil`: nothing was ever pushed to it.
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
        let decoder = JSONDecoder()
        for record in records {
            guard try OutcomeScope.isOneEvent(record.value ?? []) else { continue }
            var outcome = try decoder.decode(Outcome.self, from: Data(record.value ?? []))
            outcome.writtenMillis = record.timestampMillis
            guard outcome.topic == self.topic else {
                self.fault("an outcome names the topic \(outcome.topic), which is not \(self.topic)")
                continue
            }
            if outcome.isOfMember, let audience = outcome.audience, let hash = outcome.tokenHash,
                self.startAudiences.contains(audience)
            {
                let position = Position(partition: outcome.partition, offset: outcome.offset)
                self.failedStarts[position, default: [:]][hash, default: []].append(outcome)
                continue
            }
            if outcome.isOfMember {
                self.memberCounts.failures[outcome.reason ?? outcome.outcome, default: 0] += 1
                continue
            }
            self.outcomes[Position(partition: outcome.partition, offset: outcome.offset), default: []].append(outcome)
        }
    }

    func publication(of record: OwnedRecord) -> Publication? {
        self.publications[RecordBytes(key: record.key ?? [], value: record.value ?? [])]
    }

    func outcomes(of record: OwnedRecord) -> [Outcome] { self.outcomes(at: Position(of: record)) }

    /// By the count that counts its key has another partition: it is forwarded, as where the topic has grown.
    func isElsewhere(_ record: OwnedRecord) -> Bool {
        guard let count = self.partitionCount, let key = record.key else { return false }
        return Murmur2.partition(key: key.span, count: count) != record.partition
    }

    func outcomes(at position: Position) -> [Outcome] { self.outcomes[position] ?? [] }

    /// The event was given up because its channel had gone. An owner that died over it may have said that it was delivered, just before: the
    /// successor sends it again and finds the channel gone. When it cannot tell whether the phones got it, it says `unknown`.
    private func channelHasGone(_ publication: Publication, _ outcome: Outcome) -> Bool {
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
                self.fault("\(place): no outcome, expected \(Self.words(publication.outcomes))")
                continue
            }
            let isRefused = self.isRefusedByRouted(publication, record, found)
            let settled = found.filter {
                !self.channelHasGone(publication, $0) && !(isRefused && $0.outcome == "dead-lettered")
            }
            switch OutcomeAgreement(settled.map(\.outcome)) {
            case .agree: break
            case .counts: self.differingOutcomes += 1
            case .contradict(let names):
                // The second of two records that are alike is an event of its own, and may be late.
                if !isRepeat { self.fault("\(place): \(names.joined(separator: " and ")) contradict each other") }
            }
            let isDuplicate = publication.outcomes == ["duplicate"]
            let real = found.filter {
                ($0.outcome != "duplicate" || isDuplicate) && !(isRepeat && $0.outcome == "late")
                    && !(isRefused && $0.outcome == "dead-lettered")
            }
            if real.isEmpty, !isRepeat, !isRefused {
                let reasons = Set(found.compactMap(\.reason)).sorted().joined(separator: "; ")
                self.fault(
                    "\(place): only \(Self.words(Set(found.map(\.outcome)))) (\(reasons)), expected \(Self.words(publication.outcomes))"
                )
            }
            for outcome in real
            where !publication.outcomes.contains(outcome.outcome) && !self.channelHasGone(publication, outcome)
                && !(outcome.outcome == "unregistered" && self.refusedActivities.contains(publication.activity))
            {
                let reason = outcome.reason.map { " (\($0))" } ?? ""
                self.fault("\(place): \(outcome.outcome)\(reason), expected \(Self.words(publication.outcomes))")
            }
        }
    }

    private static func words(_ names: Set<String>) -> String { names.sorted().joined(separator: " or ") }

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
        /// The start's answer was lost: the card may be there or not.
        var cardIsUncertain = false
        /// Time of the newest event whose record has one that can be true: others come behind it.
        var timedMillis: Int64 = 1_483_228_800_000
        var story: [String] = []
    }

    /// What every phone would show had the log's events been pushed one by one, and what it shows.
    private mutating func judgePhones(
        _ records: [OwnedRecord], budgetPerHour: Int, phone: (_ token: String) -> Device?
    ) throws {
        var expectations: [String: Expectation] = [:]
        for record in records {
            guard let publication = self.publication(of: record), publication.event != nil || publication.token != nil
            else { continue }
            // Channels and audiences have judges of their own.
            guard publication.event?.channel == nil, publication.event?.audience == nil else { continue }
            let names = self.outcomes(of: record).map(\.outcome)
            try Self.take(publication, record, names, &expectations[publication.activity, default: Expectation()])
        }
        for (activity, expectation) in expectations.sorted(by: { $0.key < $1.key }) {
            // Without its registration an activity is not reached.
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
        // Left aside, as it became a dead letter only.
        if !mattered.isEmpty, mattered.allSatisfy({ $0 == "dead-lettered" }) { return }
        // A record written twice by a producer that did not hear of the first: the second start is none.
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
