import PushModel

@testable import PushEngine

/// Partitions in a later state, for tests that begin there.
extension PartitionState {
    /// Makes the partition run: its restore is over, its markers are acknowledged, and it may push.
    mutating func run(epoch: Int64 = 0, logs: [LogID] = []) {
        _ = self.markerAcknowledged(claimNumber: 0, offset: epoch)
        self.restored(logs: logs, replayEnds: logs.map { _ in 0 }, isOfNewLog: false)
        _ = self.markerAcknowledged(claimNumber: 0, offset: epoch + 1)
        _ = self.opensForPushes()
    }
    /// Begins another epoch of the partition's owner.
    mutating func begin(epoch: Int64) {
        self.claimBegins()
        self.claimWritten(1)
        _ = self.markerAcknowledged(claimNumber: self.claimNumber, offset: epoch)
    }
    /// Adds former owners that a restore has met, each with the time of its takeover by its own clock.
    mutating func meet(takenOverWallMillis: [Int64]) {
        for (epoch, millis) in takenOverWallMillis.enumerated() {
            let marker = MarkerRecord(
                epoch: Int64(epoch), takenOverWallMillis: millis, partitionCount: 1, clusterID: [])
            _ = self.met(marker, header: nil, at: Int64(epoch) + 1)
        }
    }
    /// Adds that the newest former owner released the partition in good order. `epoch` is that owner's epoch.
    mutating func meetRelease(epoch: Int64) {
        let marker = MarkerRecord(epoch: epoch, takenOverWallMillis: 0, partitionCount: 1, clusterID: [])
        _ = self.met(marker, header: .released, at: epoch + 1)
    }
}

extension PartitionTable {
    /// Assigns the partition again, and changes it.
    mutating func reassign(_ partition: PartitionIndex, _ change: (inout PartitionState) -> Void) {
        let number = self[partition].number
        self.remove(partition)
        let index = self.add(number: number)
        precondition(index == partition, "another place is free")
        change(&self[partition])
    }
}
