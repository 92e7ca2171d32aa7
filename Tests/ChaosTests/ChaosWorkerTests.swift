import Foundation
import Testing

@testable import ChaosTesting

@Suite struct ChaosWorkerTests {
    @Test("Only the clock makes a stop overdue, and only in the life that was told to stop")
    func stopIsOverdueByTheClock() {
        let worker = ChaosWorker(
            executable: URL(fileURLWithPath: "/nowhere/mailboat"), number: 1, adminPort: 1, directory: "/nowhere")
        let start = ContinuousClock.now
        #expect(!worker.isStopOverdue(at: start + .seconds(3_600)))

        worker.stop(at: start)
        #expect(worker.isExpectedToEnd)
        #expect(!worker.isStopOverdue(at: start))
        #expect(!worker.isStopOverdue(at: start + ChaosWorker.stopDurationMax))
        #expect(worker.isStopOverdue(at: start + ChaosWorker.stopDurationMax + .milliseconds(1)))

        // The start fails, because the executable does not exist. It still begins a new life, in which the worker was
        // not told to stop.
        #expect(throws: (any Error).self) { try worker.start() }
        #expect(!worker.isStopOverdue(at: start + .seconds(3_600)))
    }
}
