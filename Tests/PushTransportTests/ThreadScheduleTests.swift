import Foundation
import Synchronization
import Testing

@testable import PushTransport

@Suite struct ThreadScheduleTests {
    @Test(
        arguments: [
            ("1596514 2000999 1\n", 2_000), ("0 0 0\n", 0), ("9 9223372036854775807 1\n", 9_223_372_036_854_775),
            ("9 9223372036854775808 1\n", nil), ("9 99223372036854775807 1\n", nil), ("1 2\n", nil), ("1 -2 3\n", nil),
            ("", nil),
        ] as [(String, Int64?)]) func theSecondNumberIsTheWait(text: String, micros: Int64?)
    {
        #expect(ThreadSchedule.waitedMicros(of: Array(text.utf8)) == micros)
    }

    /// A thread's busy time is never less than its CPU time, even if the kernel's numbers are odd.
    @Test func aThreadIsAsBusyAsItsCPUTimeAtLeast() {
        // Busy time is read first and last, so its interval contains the interval of the CPU time.
        let busyBefore = MachineClock.threadBusyMicros()
        let cpuBefore = MachineClock.threadCPUMicros()
        while MachineClock.threadCPUMicros() < cpuBefore + 2_000 {}
        let cpuAfter = MachineClock.threadCPUMicros()
        let busyAfter = MachineClock.threadBusyMicros()
        #expect(busyAfter >= cpuAfter)
        #expect(busyAfter - busyBefore >= 2_000)
    }

    /// The data that the test's threads share.
    private final class Contest: Sendable {
        let begun = Atomic<Int>(0)
        /// Busy time of all threads beyond their CPU time, microseconds. In that time they waited for a core.
        let waitedMicros = Atomic<Int64>(0)
        let ended = DispatchSemaphore(value: 0)
    }

    /// There is one thread more than there are cores, so some threads wait for a core. Such waiting counts as busy
    /// time.
    @Test(.enabled(if: ThreadSchedule.waitedMicros() != nil, "this kernel does not say how long threads wait"))
    func aThreadThatWaitsForACoreIsBusy() {
        let count = ProcessInfo.processInfo.activeProcessorCount + 1
        let contest = Contest()
        for _ in 0..<count {
            Thread.detachNewThread {
                contest.begun.add(1, ordering: .sequentiallyConsistent)
                while contest.begun.load(ordering: .sequentiallyConsistent) < count {}
                let before = MachineClock.threadBusyMicros() - MachineClock.threadCPUMicros()
                let end = MachineClock.threadCPUMicros() + 20_000
                while MachineClock.threadCPUMicros() < end {}
                let after = MachineClock.threadBusyMicros() - MachineClock.threadCPUMicros()
                contest.waitedMicros.add(after - before, ordering: .sequentiallyConsistent)
                contest.ended.signal()
            }
        }
        for _ in 0..<count { contest.ended.wait() }
        // The two times are read one after the other, which adds a microsecond or two per thread. Waiting for a core
        // takes milliseconds.
        #expect(contest.waitedMicros.load(ordering: .sequentiallyConsistent) > 1_000)
    }
}
