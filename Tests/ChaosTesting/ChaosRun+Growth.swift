import CommandSupport
import KafkaLog

/// Judges how workers handled a topic that got more partitions.
extension ChaosRun {
    /// Whether growth is the only fault. Then every worker has to stay ready, and none may end.
    private var isGrowthAlone: Bool {
        self.wish.kinds.contains(.topicGrown) && self.wish.kinds.allSatisfy(\.isOnce) && self.wish.former == nil
    }

    /// Checks that all workers are ready while events flow, if growth is the only fault.
    func lookAtGrownWorkers() async throws {
        guard self.isGrowthAlone, self.injector.counts[.topicGrown] != nil else { return }
        for worker in self.stage.workers where try await !worker.isReady() {
            self.growthFaults.append(
                "\(worker.name) was not ready after a topic had got more partitions: \(try await worker.readiness() ?? "it does not answer")"
            )
        }
    }

    func growthFaults(_ logs: ChaosAudit.Logs) async throws -> [String] {
        guard self.injector.counts[.topicGrown] != nil else { return [] }
        var faults = Array(Set(self.growthFaults)).sorted()
        if !logs.events.contains(where: { $0.partition >= ChaosStage.partitionCount }) {
            faults.append("no record came to the partition that was added")
        }
        for worker in self.stage.workers where try await !worker.isReady() {
            faults.append("\(worker.name) is not ready at the end, and a topic has got more partitions")
        }
        if self.isGrowthAlone { faults += self.injector.unexpectedEnds }
        return faults
    }

    var growthLines: [String] {
        guard !self.stage.partitionCounts.isEmpty else { return [] }
        let counts = self.stage.partitionCounts.sorted { $0.key < $1.key }.map { "\($0.key) to \($0.value)" }
        return [
            "topics grown        \(counts.joined(separator: ", ")), from \(ChaosStage.partitionCount) partitions each"
        ]
    }
}
