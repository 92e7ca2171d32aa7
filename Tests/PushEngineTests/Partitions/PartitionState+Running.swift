import PushModel

@testable import PushEngine

/// Partitions as their own steps make them, for tests that begin later.
extension PartitionState {
    /// Its restore is over, its markers are acknowledged, and nothing keeps its pushes.
    mutating func run(epoch: Int64 = 0, logs: [LogID] = []) {
        _ = self.markerAcknowledged(claimNumber: 0, offset: epoch)
        self.restored(logs: logs, replayEnds: logs.map { _ in 0 }, isOfNewLog: false)
        _ = self.markerAcknowledged(claimNumber: 0, offset: epoch + 1)
        _ = self.opensForPushes()
    }
    /// Another epoch of its owner begins.
    mutating func begin(epoch: Int64) {
        self.claimBegins()
        self.claimWritten(1)
        _ = self.markerAcknowledged(claimNumber: self.claimNumber, offset: epoch)
    }
    /// Owners that the restore has met at work, each with its clock when it took over.
    mutating func meet(takenOverWallMillis: [Int64]) {
        for (epoch, millis) in takenOverWallMillis.enumerated() {
            let marker = MarkerRecord(
                epoch: Int64(epoch), takenOverWallMillis: millis, partitionCount: 1, clusterID: [])
            _ = self.met(marker, takeovers: nil, at: Int64(epoch) + 1)
        }
    }
}

extension PartitionTable {
    /// Makes the partition as if assigned anew, with that done to it since.
    mutating func reassign(_ partition: PartitionIndex, _ change: (inout PartitionState) -> Void) {
        let number = self[partition].number
        self.remove(partition)
        let index = self.add(number: number)
        precondition(index == partition, "another place is free")
        change(&self[partition])
    }
}
