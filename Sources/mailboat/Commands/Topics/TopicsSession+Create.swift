import ArgumentParser
import CommandSupport
import KafkaLog

/// The work of `mailboat topics create`.
extension TopicsSession {
    /// Creates missing topics.
    /// - Parameter isRehearsal: whether to create nothing. Prints what would be created, and asks the cluster whether
    ///   it would accept it.
    func create(isRehearsal: Bool = false) throws {
        let missing = self.plan.missing(existing: try self.existing())
        if missing.isEmpty { self.remark("nothing to create: all \(self.plan.topics.count) topics exist") }
        guard !isRehearsal else { return try self.rehearse(missing) }
        let answers = try self.createTopics(missing)
        let refused = try self.refusedSettings(answers, missing)
        for answer in answers {
            let topic = missing.first { $0.name == answer.name }
            let settings = refused[answer.name] ?? []
            StandardOutput.print(
                self.isJSON
                    ? TopicsTable.json(answer, topic, refused: settings)
                    : TopicsTable.line(answer, topic, refused: settings))
        }
        self.sayHowToLeaveOut(refused)
        if answers.contains(where: { $0.error != nil }) { throw ExitCode(1) }
        try self.waitUntilShown(missing)
        try self.check()
    }

    private func rehearse(_ missing: [NewTopic]) throws {
        guard !missing.isEmpty else { return }
        var answers: [TopicAnswer] = []
        var reasonNotAsked: String?
        do throws(KafkaError) {
            answers = try self.admin.createTopics(missing, within: self.limit, isOnlyAsked: true)
        } catch  where error.code == .unsupportedFeature {
            reasonNotAsked = error.text
        } catch { throw self.failure(error) }
        let refused = try self.refusedSettings(answers, missing)
        for topic in missing {
            let answer = answers.first { $0.name == topic.name }
            let settings = refused[topic.name] ?? []
            for line in self.isJSON
                ? [TopicsTable.rehearsedJSON(topic, answer, refused: settings)]
                : TopicsTable.rehearsed(topic, answer, refused: settings)
            { StandardOutput.print(line) }
        }
        self.sayHowToLeaveOut(refused)
        if let reasonNotAsked {
            self.remark("\(self.brokers) was not asked whether it would create them: \(reasonNotAsked).")
        }
        self.remark("Nothing was created.")
        if answers.contains(where: { $0.error != nil }) { throw ExitCode(1) }
    }

    /// The settings that made the cluster refuse topics, by topic.
    private func refusedSettings(_ answers: [TopicAnswer], _ asked: [NewTopic]) throws -> [String: [String]] {
        let refused = asked.filter { topic in
            answers.first { $0.name == topic.name }?.error?.isOfTopicSettings ?? false
        }
        guard !refused.isEmpty else { return [:] }
        let status = StatusLine()
        defer { status.end() }
        status.show("asking which settings are refused")
        do throws(KafkaError) {
            return try self.admin.refusedSettings(of: refused, first: TopicPlan.requiredSettings, within: self.limit)
        } catch {
            // Without this answer, only the broker's own message can be shown.
            self.remark("\(self.brokers) cannot be asked which settings it refuses: \(error)")
            return [:]
        }
    }

    /// Explains how to leave refused settings out.
    /// - Parameter refused: settings by topic.
    private func sayHowToLeaveOut(_ refused: [String: [String]]) {
        for line in TopicsTable.leavingOut(refused) { self.remark(line) }
    }

    /// Waits until topics are visible. A cluster may report a topic as created before its metadata shows it.
    private func waitUntilShown(_ created: [NewTopic]) throws {
        let clock = ContinuousClock()
        let beganAt = clock.now
        var wait = TopicWait(for: created, limitMillis: Int64(self.limit / .milliseconds(1)))
        let status = StatusLine()
        var reportedAt: ContinuousClock.Instant?
        while true {
            let elapsed = clock.now - beganAt
            switch wait.looked(try self.existing(), elapsedMillis: Int64(elapsed / .milliseconds(1))) {
            case .done: return status.end()
            case .overdue(let missing):
                throw CommandFailure(
                    "created, but \(self.brokers) does not show \(missing.joined(separator: ", ")) after "
                        + "\(self.limit.components.seconds) s: run 'mailboat topics check' in a moment, or give a longer --timeout"
                )
            case .lookAgain(let afterMillis, let missing):
                status.show("waiting for the cluster to show \(missing.joined(separator: ", "))")
                if reportedAt.map({ clock.now - $0 >= Self.reportInterval }) ?? (elapsed >= .seconds(1)) {
                    // The topic may exist and be hidden from this client. Then waiting does not help.
                    try self.nameHidden(Set(self.plan.topics.map(\.name)).subtracting(missing))
                    status.report(
                        "waiting for the cluster to show \(missing.joined(separator: ", ")) (\(elapsed.components.seconds) s)"
                    )
                    reportedAt = clock.now
                }
                Sleeping.sleep(.milliseconds(afterMillis))
            }
        }
    }

    /// How often a long wait is reported where nobody watches a terminal.
    private static let reportInterval = Duration.seconds(5)

    private func createTopics(_ missing: [NewTopic]) throws -> [TopicAnswer] {
        do throws(KafkaError) {
            return try self.admin.createTopics(missing, within: self.limit)
        } catch  where error.code == .unsupportedFeature {
            throw CommandFailure(
                "\(self.brokers) cannot create topics: \(error.text). Start 'mailboat embedded-kafka' with --topic for each: "
                    + missing.map { "\($0.name):\($0.partitionCount)" }.joined(separator: " "))
        } catch { throw self.failure(error) }
    }

    private func failure(_ error: KafkaError) -> CommandFailure {
        CommandFailure("\(self.brokers) cannot be asked to create topics: \(error)")
    }
}
