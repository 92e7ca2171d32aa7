import PushModel
import Testing

@testable import PushEngine

/// Tests `Dispatch` alone: what an attempt costs, and how long a failed one waits.
@Suite struct DepartureTests {
    /// The reserve of the budget is for alerts and ends. A push that gets no unit leaves at low priority.
    @Test func theReserveIsForWhatMustNotWait() {
        let bench = DispatchBench {
            $0.apps[0].budgetPerHour = 3
            $0.apps[0].budgetReserve = 2
            $0.apps[0].budgetFrequentPerHour = 5
        }
        let slot = bench.makeSlot("a")
        func send(alert: Bool = false, isEnd: Bool = false) -> PushPriority {
            bench.wait(slot, alert: alert, isEnd: isEnd)
            let priority = bench.depart(slot)
            bench.arrive(slot)
            return priority
        }
        #expect(send() == .high && send() == .low)
        #expect(send(alert: true) == .high && send(isEnd: true) == .high && send(alert: true) == .low)
        #expect(bench.counters.pushesHighPriority == 3 && bench.counters.pushesDowngraded == 2)
        bench[slot].frequentUpdates = true
        #expect(send() == .low && send(alert: true) == .high, "two more units, both of the reserve")
        bench.advance(RollingBudget.windowMillis)
        #expect(bench.unitsOut(slot) == 0 && send() == .high)
    }

    /// A push of low priority takes no unit of the budget.
    @Test func lowPriorityCostsNothing() {
        let bench = DispatchBench()
        let slot = bench.makeSlot("a")
        bench.wait(slot, .low)
        #expect(bench.depart(slot) == .low && bench.unitsOut(slot) == 0 && bench.budgetCount == 0)
        bench.arrive(slot)
        #expect(bench.counters.pushesDowngraded == 0)
    }

    /// APNs refuses a push or does not process it. The push's unit returns at once.
    @Test func aRefundedUnitIsThereAgain() {
        let bench = DispatchBench {
            $0.apps[0].budgetPerHour = 1
            $0.apps[0].budgetReserve = 0
        }
        let slot = bench.makeSlot("a")
        for _ in 0..<3 {
            bench.wait(slot)
            #expect(bench.depart(slot) == .high && bench.unitsOut(slot) == 1)
            bench.arrive(slot, refunds: true)
            #expect(bench.unitsOut(slot) == 0)
        }
    }

    /// A departure sets the earliest time of the slot's next push, gives the attempt a new id, and is counted.
    @Test func aDepartureIsNoted() {
        let bench = DispatchBench(partitionCount: 2) { $0.apps[0].minimumDistanceMillis = 1_500 }
        let slot = bench.makeSlot("a", partition: 1)
        bench[slot].notBeforeMillis = 5
        bench[slot].tokenGeneration = 3
        let update = bench.wait(slot)
        let before = bench[update]
        _ = bench.depart(slot)
        #expect(bench[slot].notBeforeMillis == bench.now.steadyMillis + 1_500)
        #expect(bench[update].sequence == before.sequence + 1 && bench[update].tokenGeneration == 3)
        #expect(bench[update].sentMillis == bench.now.steadyMillis)
        #expect(bench[update].apnsID.0 >> 12 & 0xf == 4 && bench[update].apnsID.1 >> 62 == 0b10, "a UUID, version 4")
        #expect(bench.counters.inFlight == 1 && bench.counters.pushesSent == 1)
        #expect(bench.memory.partitions[1].inFlightCount == 1 && bench.memory.partitions[0].inFlightCount == 0)
        bench.dispatch.takeDistanceBack(update, in: &bench.memory)
        #expect(bench[slot].notBeforeMillis == 5)
        bench.arrive(slot)
        #expect(bench.counters.inFlight == 0 && bench.memory.partitions[1].inFlightCount == 0)
    }

    /// The wait after a failure doubles with each further failure, up to a limit. Jitter shortens the wait by at most
    /// half.
    @Test func aFailedAttemptRestsLongerEachTime() {
        let bench = DispatchBench()
        let slot = bench.makeSlot("a")
        for attempt in 0..<30 {
            let full = min(60_000, 1_000 << Int64(min(attempt, 10)))
            let millis = bench.backOff(slot)
            #expect(millis >= full / 2 && millis <= full, "attempt \(attempt)")
        }
        bench.dispatch.forgetFailures(slot, in: &bench.memory)
        #expect(bench[slot].backoffUntilMillis == .min)
        #expect(bench.backOff(slot) <= 1_000)
    }

    /// `Retry-After` is honoured up to an hour. A longer one counts as an hour.
    @Test(arguments: [(7, 7_000), (3_600, 3_600_000), (90_000, 3_600_000)] as [(Int64, Int64)])
    func aServersWishIsHonoured(seconds: Int64, millis: Int64) {
        let bench = DispatchBench()
        #expect(bench.backOff(bench.makeSlot("a"), retryAfterSeconds: seconds) == millis)
    }

    @Test func aWishThatMakesNoSenseChangesNothing() {
        let bench = DispatchBench()
        let slot = bench.makeSlot("a")
        #expect((500...1_000).contains(bench.backOff(slot, retryAfterSeconds: -5)))
        for _ in 0..<10 { #expect((200...400).contains(bench.backOff(slot, millisMax: 400))) }
    }

    /// After a release in good order no push counts as unrecorded, because the former owner has counted its own pushes.
    @Test func afterAReleaseNothingIsCounted() {
        let bench = DispatchBench()
        let wall = bench.now.wallMillis
        bench.memory.partitions[0].meet(takenOverWallMillis: [wall - 50_000, wall - 20_000])
        bench.memory.partitions[0].meetRelease(epoch: 1)
        let slot = bench.makeSlot("a")
        bench[slot].ownersSinceRecord = 2
        bench.dispatch.countUnrecordedPush(slot, recordMillis: wall - 30_000, in: &bench.memory, now: bench.now)
        #expect(bench.unitsOut(slot) == 0)
    }

    /// Pushes that may have left unrecorded count against the budget: one for each takeover after the event was
    /// written, and one more. They are counted once for a slot.
    @Test func whatMayHaveGoneUnrecordedIsCountedOnce() {
        let bench = DispatchBench()
        let wall = bench.now.wallMillis
        // The first owner took over before the event was written, the other two after it.
        bench.memory.partitions[0].meet(takenOverWallMillis: [wall - 50_000, wall - 20_000, wall - 10_000])
        let slot = bench.makeSlot("a")
        bench[slot].ownersSinceRecord = 3
        func count() {
            bench.dispatch.countUnrecordedPush(slot, recordMillis: wall - 30_000, in: &bench.memory, now: bench.now)
        }
        count()
        #expect(bench.unitsOut(slot) == 3, "one for each of the two, and one for the last push of all")
        count()
        #expect(bench.unitsOut(slot) == 3)
        let recent = bench.makeSlot("b")
        bench[recent].ownersSinceRecord = 1
        bench.dispatch.countUnrecordedPush(recent, recordMillis: wall - 30_000, in: &bench.memory, now: bench.now)
        #expect(bench.unitsOut(recent) == 2, "its record is newer than two of them")
        bench.advance(RollingBudget.windowMillis - 10_000)
        #expect(bench.unitsOut(recent) == 1)
    }
}
