import KafkaLog
import Logging
import Synchronization

/// Two workers with one `kafka.group-instance-id`: the one that was replaced waits until the id is free.
extension GroupCoordinator {
    /// Gives up all partitions, which the other process already has, and waits. If this worker ended instead, somebody
    /// would start it again, and it would replace the other process.
    func fenced(_ id: String, _ error: KafkaError) async {
        let isFirst = self.isFenced.withLock { isFenced in
            defer { isFenced = true }
            return !isFenced
        }
        // The finished consumer reports the error again when it is closed.
        guard isFirst else { return }
        let wait = FencedWait(id: id)
        self.logger.error(
            "another process has taken this worker's place in the group",
            metadata: ["cause": "\(error)", "remedy": "\(wait.text)"])
        self.hub.updateGroup { report in
            report.hasJoined = false
            report.errors["fenced"] = wait.text
        }
        let partitions = self.hub.group.given.sorted()
        self.departures.withLock { $0.lost(partitions) }
        _ = self.committer.take(partitions)
        self.committer.metadataStore.forget(partitions)
        await self.forget(partitions)
        // The wait is a task of its own, because a closed consumer still reports events that must be handled.
        Task { await self.regain(wait) }
    }

    private func regain(_ wait: FencedWait) async {
        var wait = wait
        _ = await self.seat.consumer.close(within: Self.fencedCloseDurationMax)
        while !self.isStopping.withLock({ $0 }) {
            switch await self.members() {
            case .success(let members):
                if wait.looked(members) == .join {
                    // This event is queued behind all events that the former consumer has reported.
                    _ = self.incoming.yield(.instanceIDIsFree)
                    return
                }
            case .failure(let error) where error.isRefusal || error.code == .unsupportedFeature:
                // Without the group's members, this worker cannot find out when the other process is gone.
                return self.fail("\(wait.text); the group cannot be asked for its members: \(error)")
            case .failure: _ = wait.looked(nil)
            }
            let text = wait.text
            self.hub.updateGroup { $0.errors["fenced"] = text }
            try? await Task.sleep(for: FencedWait.interval)
        }
    }

    private static let fencedCloseDurationMax: Duration = .seconds(5)

    private func members() async -> Result<[GroupMember], KafkaError> {
        let (kafka, log) = (self.configuration.kafka, self.kafkaLines.handler)
        return await NamedThread.run("kafka-fenced") {
            do throws(KafkaError) {
                let admin = try KafkaAdmin(kafka.consumerSettings, log: log)
                return .success(try admin.members(of: kafka.groupID, within: .seconds(5)))
            } catch { return .failure(error) }
        }
    }

    func sitDown() {
        self.isFenced.withLock { $0 = false }
        do throws(KafkaError) {
            // There is no new consumer if the worker is stopping.
            guard let consumer = try self.seat.renew() else { return }
            self.logger.notice("no other process has this worker's group-instance-id now; joining the group again")
            self.hub.updateGroup { $0.errors["fenced"] = nil }
            self.committer.use(consumer)
            try self.start(consumer)
        } catch {
            guard !self.isStopping.withLock({ $0 }) else { return }
            self.fail("the group cannot be joined again: \(error)")
        }
    }
}
