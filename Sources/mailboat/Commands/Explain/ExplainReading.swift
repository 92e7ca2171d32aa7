import CommandSupport
import Foundation
import KafkaLog
import PushEngine
import PushModel
import PushWorker

/// Gathers the facts about a key. Asks the cluster, and decides nothing. Blocks: use a thread of its own.
struct ExplainReading {
    let kafka: KafkaOptions
    var key: [UInt8]
    let app: String?
    /// The consumer group; `nil`: that of the configuration.
    let group: String?
    let outcomeCount: Int
    let recordCountMax: Int
    let nowMillis: Int64
    /// Receives what is being read.
    let progress: (String) -> Void

    func facts() throws -> ExplainFacts {
        let configuration = try self.kafka.cluster.configuration()
        let topics = configuration.topics
        let known = try self.look(at: topics.all)
        let tail = try TailReader(self.kafka)
        var records = ExplainRecords(key: self.key, app: self.app, nowMillis: self.nowMillis)
        var facts = ExplainFacts(key: String(decoding: self.key, as: UTF8.self), nowMillis: self.nowMillis)
        facts.reach = self.kafka.cluster.hint
        facts.settingsFile = self.kafka.cluster.settingsFile
        records.apps = try self.kafka.cluster.apps()
        records.environments = try self.kafka.cluster.environments()
        // Letters come first, because events are read back to the newest one that is not a dead letter.
        let letters = try self.read(topics.deadLetters, known, tail, enough: 1, &facts) {
            records.letter($0, topic: topics.deadLetters).map { ($0, true) }
        }
        let letterSearches = facts.searches
        facts.searches = []
        let refused = letters.filter { !$0.isOfMember }.compactMap(\.source)
        var streams: [[ExplainFacts.Event]] = []
        for topic in topics.events + [topics.routed] {
            let isRouted = topic == topics.routed
            let events = try self.read(topic, known, tail, enough: 1, isNeeded: !isRouted, &facts) { record in
                let event = records.event(record, topic: topic, isRouted: isRouted)
                return event.map { ($0, $0.isForPhone && !refused.contains($0.source)) }
            }
            streams.append(Array(events.prefix(Self.keptMax)))
        }
        facts.events = NewestFirst.merge(streams) { $0.place.writtenMillis }
        // Several apps may use the key. The newest event decides which one is meant.
        records.app = self.app ?? facts.newestForPhone?.app ?? facts.events.first?.app
        let stateReader = StateRecordReader(inputTopics: topics.events + [topics.routed])
        facts.state = .newest(
            of: try self.read(topics.state, known, tail, enough: 1, isNeeded: true, &facts) {
                records.state($0, topic: topics.state, reader: stateReader).map { ($0, true) }
            })
        if let state = facts.state, state.slot?.isAudience == true {
            facts.pauses = try self.pauses(of: state.app, topics.state, known, tail, records, stateReader, &facts)
        }
        facts.outcomes = try self.read(topics.outcomes, known, tail, enough: self.outcomeCount, &facts) {
            records.outcome($0, topic: topics.outcomes).map { ($0, true) }
        }
        if facts.events.first?.isMembership == true {
            try self.readMemberOutcomes(topics.outcomes, known, tail, records, into: &facts)
        }
        facts.otherApp = try self.otherApp(topics.state, known, tail, records, stateReader, facts)
        facts.searches += letterSearches
        facts.outcomes = Array(facts.outcomes.prefix(Self.keptMax))
        facts.letters = Array(letters.prefix(Self.keptMax))
        facts.settings = self.settings(configuration, facts)
        self.readProgress(topics.events + [topics.routed], known, group: facts.settings.group, into: &facts)
        return facts
    }

    /// Maximum number of records of each kind that are kept for a verdict. The newest are kept.
    static let keptMax = 1_000

    /// Pauses that operators have ordered, from the records in the key's partition. The record of a pause may be much
    /// older than that of the audience.
    private func pauses(
        of app: String, _ topic: String, _ known: Topics, _ tail: TailReader, _ records: ExplainRecords,
        _ reader: StateRecordReader, _ facts: inout ExplainFacts
    ) throws -> [ExplainFacts.Pause] {
        // This reading goes at least as far back as the previous one.
        facts.searches.removeAll { $0.topic == topic }
        var seen: Set<Bool> = []
        let found = try self.read(topic, known, tail, enough: 2, &facts) { record in
            records.pause(record, topic: topic, app: app, reader: reader).map {
                ($0, seen.insert($0.isOfApp).inserted)
            }
        }
        // The newest record counts: one for the app, and one for the audience.
        return [false, true].compactMap { isOfApp in found.first { $0.isOfApp == isOfApp }?.pause }
    }

    /// Reads the outcomes of a member of an audience. Their key is the hash of its token.
    private func readMemberOutcomes(
        _ topic: String, _ known: Topics, _ tail: TailReader, _ records: ExplainRecords, into facts: inout ExplainFacts
    ) throws {
        var token: [UInt8] = []
        guard (try? EventRules.memberToken(key: self.key.span, into: &token)) != nil else { return }
        let hash = StateRecordReader.hash(token)
        var (reading, records) = (self, records)
        reading.key = Array(hash.utf8)
        records.key = reading.key
        facts.memberHash = hash
        facts.outcomes += try reading.read(topic, known, tail, enough: self.outcomeCount, &facts) {
            records.outcome($0, topic: topic).map { ($0, true) }
        }
    }

    /// Another app under which the key has a live token; `nil`: none is known. Looked for only if the key has no token
    /// under the app of its newest event.
    private func otherApp(
        _ topic: String, _ known: Topics, _ tail: TailReader, _ records: ExplainRecords, _ reader: StateRecordReader,
        _ facts: ExplainFacts
    ) throws -> String? {
        let slot = facts.slot
        guard self.app == nil, let app = records.app, slot?.tokenHash == nil, slot?.channel == nil,
            slot?.isAudience != true
        else { return nil }
        var anyApp = records
        anyApp.app = nil
        var seen: Set<String> = [app]
        // Read into a copy of the facts, so that the report does not show how far this reading got.
        var facts = facts
        return try self.read(topic, known, tail, enough: 1, &facts) { record -> (String, Bool)? in
            guard let state = anyApp.state(record, topic: topic, reader: reader), seen.insert(state.app).inserted,
                state.slot?.tokenHash != nil, state.slot?.tokenIsDead == false
            else { return nil }
            return (state.app, true)
        }.first
    }

    // MARK: Topics

    /// Facts about the topics.
    private struct Topics {
        /// Partition counts of the topics that this client may see.
        var counts: [String: Int32] = [:]
        /// Why other topics cannot be seen.
        var refusals: [String: String] = [:]
    }

    private func look(at names: [String]) throws -> Topics {
        let settings = try self.kafka.settings(for: .consumer)
        return try self.kafka.cluster.ask("for its topics", within: self.kafka.limit) {
            () throws(KafkaError) -> Topics in
            let admin = try KafkaAdmin(settings, log: { _ in })
            var topics = Topics()
            for topic in try admin.describeTopics(names, within: self.kafka.limit) {
                topics.counts[topic.name] = Int32(topic.partitionCount)
            }
            for name in names where topics.counts[name] == nil {
                topics.refusals[name] =
                    try admin.refusal(toShow: name, within: self.kafka.limit).map { "\($0)" }
                    ?? "it does not exist: \(self.kafka.cluster.command("topics check")) looks at all topics, --config names them"
            }
            return topics
        }
    }

    /// Reads the key's partition of a topic backwards, and records in `facts` how far the reading got.
    /// - Parameters:
    ///   - enough: reading stops when this number of records count, as `pick` says.
    ///   - isNeeded: whether a verdict needs this topic. If so, a failure is thrown. Otherwise it is recorded.
    ///   - pick: reads a record, and says whether it counts.
    private func read<Found>(
        _ topic: String, _ known: Topics, _ tail: TailReader, enough: Int, isNeeded: Bool = false,
        _ facts: inout ExplainFacts, _ pick: (OwnedRecord) -> (Found, Bool)?
    ) throws -> [Found] {
        guard let count = known.counts[topic], count > 0 else {
            let problem = known.refusals[topic] ?? "it has no partitions"
            guard !isNeeded else { throw CommandFailure("\(topic) cannot be read: \(problem)") }
            facts.searches.append(.init(topic: topic, partition: -1, problem: problem))
            return []
        }
        let partition = TopicPartition(topic: topic, partition: Murmur2.partition(key: self.key.span, count: count))
        self.progress("reading \(topic)[\(partition.partition)] backwards")
        var countingCount = 0
        do throws(KafkaError) {
            // Records that do not count are kept as well: a registration older than the newest event is useful, too.
            let (found, reach) = try tail.pick(
                partition, recordCountMax: self.recordCountMax, isEnough: { countingCount >= enough }
            ) { record -> Found? in
                guard let (found, counts) = pick(record) else { return nil }
                if counts { countingCount += 1 }
                return found
            }
            facts.searches.append(
                .init(
                    topic: topic, partition: partition.partition, recordCount: reach.recordCount,
                    fromOffset: reach.fromOffset, endOffset: reach.endOffset, isWhole: reach.isWhole))
            return found
        } catch {
            guard !isNeeded else { throw CommandFailure("\(topic) cannot be read: \(error)") }
            facts.searches.append(.init(topic: topic, partition: partition.partition, problem: "\(error)"))
            return []
        }
    }

    /// Time limit for asking for the group's position, in seconds. The rest is worth showing without it.
    private static let groupSecondsMax = 5

    /// Reads the group's position. If the client may not ask for it, the facts are gathered without it.
    private func readProgress(
        _ topics: [String], _ known: Topics, group: String, into facts: inout ExplainFacts
    ) {
        // If the client lacks the right to ask, no answer comes, and the time limit ends the wait.
        var kafka = self.kafka
        kafka.timeout = min(kafka.timeout, Self.groupSecondsMax)
        for topic in topics {
            guard let count = known.counts[topic], count > 0 else { continue }
            let partition = Murmur2.partition(key: self.key.span, count: count)
            do {
                let positions = try OffsetsSession(kafka, group: group).positions(
                    of: [topic], partitions: [partition])
                for each in positions {
                    facts.progress.append(
                        .init(
                            topic: topic, partition: partition, committed: each.committed, lowOffset: each.lowOffset,
                            endOffset: each.endOffset))
                }
            } catch {
                facts.searches.append(
                    .init(
                        topic: "the group \(group)", partition: -1,
                        problem: "\(error); Describe on the group may be missing"))
                return
            }
        }
    }

    // MARK: Settings

    private func settings(_ configuration: WorkerConfiguration, _ facts: ExplainFacts) -> ExplainFacts.Settings {
        let named = self.app ?? facts.state?.app ?? facts.outcomes.first?.app ?? facts.events.first?.app
        let configured = configuration.apps.first { $0.bundleID == named }?.engine
        let app =
            configured ?? (named == nil ? configuration.apps.first?.engine : nil) ?? AppConfiguration(bundleID: "")
        let hasFile = self.kafka.cluster.settingsFile != nil
        return ExplainFacts.Settings(
            hasFile: hasFile, group: self.group ?? configuration.kafka.groupID,
            outcomesPublish: configuration.engine.outcomePublication.rawValue,
            isAppConfigured: !hasFile || named == nil || configured != nil, budgetPerHour: app.budgetPerHour,
            budgetFrequentPerHour: app.budgetFrequentPerHour, budgetReserve: app.budgetReserve,
            budgetPolicy: app.budgetPolicy.rawValue, lowPriorityWindowMillis: app.lowPriorityWindowMillis,
            minimumDistanceMillis: app.minimumDistanceMillis, registrationWaitMillis: app.registrationWaitMillis,
            lifetimeMillis: configuration.engine.lifetimeMillis,
            retryBackoffMinMillis: configuration.engine.retryBackoffMinMillis,
            retryBackoffMaxMillis: configuration.engine.retryBackoffMaxMillis)
    }
}
