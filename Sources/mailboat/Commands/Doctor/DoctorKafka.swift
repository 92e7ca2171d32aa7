import ArgumentParser
import CommandSupport
import KafkaLog
import PushWorker

/// Asks Kafka about everything that a worker needs. Blocks: use a thread of its own.
struct DoctorKafka {
    private let command: Doctor

    init(_ command: Doctor) { self.command = command }

    /// Asks one question after the other. Stops at the first that gets no answer.
    func findings() -> [DoctorFinding] {
        let login = self.login()
        // Without a token Kafka answers nothing.
        if let login, login.level == .fail { return [login] }
        let found = login.map { [$0] } ?? []
        do {
            return found + (try self.ask())
        } catch let failure as CommandFailure {
            // The failure advises to run this command, so only its text is kept.
            return found + [DoctorJudge.kafkaUnreachable(failure.text)]
        } catch {
            return found + [DoctorJudge.kafkaUnreachable("\(error)")]
        }
    }

    /// Finding about the token of a login by OAUTHBEARER; `nil`: the login is of another kind.
    private func login() -> DoctorFinding? {
        // Faults of the settings were reported before.
        let options = try? ClusterOptions.parse(["--config", self.command.config])
        guard let settings = try? options?.configuration().kafka.consumerSettings, let keeper = TokenKeeper.of(settings)
        else { return nil }
        do throws(TokenFault) {
            try keeper.obtain()
            return DoctorJudge.login(keeper.report)
        } catch {
            return DoctorJudge.login(error)
        }
    }

    private func ask() throws -> [DoctorFinding] {
        let words = ["--config", self.command.config, "--timeout", "\(self.command.timeout)"]
        let kafka = try KafkaOptions.parse(words)
        let configuration = try kafka.cluster.configuration()
        let brokers = try kafka.cluster.brokers()
        let session = try TopicsSession(
            kafka.cluster, replication: self.command.replication, minInsync: nil, limit: kafka.limit)
        let looked = try session.look()
        var findings = [
            DoctorFinding(
                level: .ok, check: .kafka, subject: brokers,
                found: "answers")
        ]
        findings += DoctorJudge.topics(looked.findings, reasonUnknown: looked.reasonUnknown)
        // Without the topics the group cannot have a position.
        guard !looked.findings.contains(where: { $0.setting == "exists" }) else { return findings }
        let group = configuration.kafka.groupID
        findings.append(try self.group(kafka, configuration))
        do {
            let session = try OffsetsSession(kafka, group: group)
            let positions = try session.positions(
                of: configuration.topics.events + [configuration.topics.routed], partitions: [])
            findings.append(
                DoctorJudge.offsets(group: group, positions, others: try session.otherLogs(among: positions)))
            findings.append(
                DoctorJudge.state(
                    topic: configuration.topics.state,
                    try StateLook.all(kafka, stateTopic: configuration.topics.state, positions).looks, group: group,
                    hasCommits: positions.contains { $0.committed != nil }))
        } catch {
            findings.append(
                DoctorFinding(
                    level: .fail, check: .offsets, subject: "group \(group)",
                    found: (error as? CommandFailure)?.text ?? "\(error)",
                    remedy: "a worker needs Read on the group and on its topics"))
        }
        return findings
    }

    private func group(_ kafka: KafkaOptions, _ configuration: WorkerConfiguration) throws -> DoctorFinding {
        let group = configuration.kafka.groupID
        do {
            let admin = try KafkaAdmin(try kafka.cluster.settings(for: .consumer), log: { _ in })
            return DoctorJudge.group(
                group, GroupCompany(try admin.group(group, within: kafka.limit), configuration))
        } catch let error as KafkaError {
            return DoctorJudge.groupUnknown(group, error)
        }
    }
}
