import Foundation

/// Decides which of two releases each worker runs, and when. While workers change, both releases share the partitions.
///
/// - At first all workers run the former release.
/// - From a quarter of the run on, the workers change to the current release, one after the other.
/// - From half of the run on, they change back to the former release.
/// - From three quarters of the run on, they change to the current release for good.
struct ReleaseSchedule: Equatable, Sendable {
    let former: URL
    let current: URL
    let workerCount: Int
    let durationMillis: Int64
    /// Number of changes: forward, back, and forward again.
    static let changeCount = 3

    /// Executable of the release that a worker runs at some time.
    /// - Parameter millis: time since the run began.
    func executable(worker: Int, atMillis millis: Int64) -> URL {
        let changes = (0..<Self.changeCount).count { self.changeMillis($0, worker: worker) <= millis }
        return changes % 2 == 0 ? self.former : self.current
    }
    /// When a worker is stopped and started as the other release, milliseconds since the run began.
    func changeMillis(_ change: Int, worker: Int) -> Int64 {
        let quarter = self.durationMillis / 4
        return quarter * Int64(change + 1) + quarter * Int64(worker) / Int64(self.workerCount + 1)
    }
}
