import Foundation

/// Which of two releases each worker runs, and when: all the former one at first; from a quarter of the run on one worker after the other this one; from
/// half of it on the former one again; and from three quarters on this one, to stay. While they change, workers of both share the partitions.
struct ReleaseSchedule: Equatable, Sendable {
    let former: URL
    let current: URL
    let workerCount: Int
    let durationMillis: Int64
    /// Forth, back, and forth again.
    static let changeCount = 3

    /// - Parameter millis: since the run began.
    func executable(worker: Int, atMillis millis: Int64) -> URL {
        let changes = (0..<Self.changeCount).count { self.changeMillis($0, worker: worker) <= millis }
        return changes % 2 == 0 ? self.former : self.current
    }
    /// When a worker is to be stopped, and started as the other release.
    func changeMillis(_ change: Int, worker: Int) -> Int64 {
        let quarter = self.durationMillis / 4
        return quarter * Int64(change + 1) + quarter * Int64(worker) / Int64(self.workerCount + 1)
    }
}
