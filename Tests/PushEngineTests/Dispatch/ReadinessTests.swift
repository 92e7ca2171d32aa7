import PushModel
import Testing

@testable import PushEngine

/// Tests `Dispatch` alone: whether a slot could send now, and when it is looked at again.
@Suite struct ReadinessTests {
    private typealias Readiness = Dispatch.Readiness

    /// A slot with a token and an update of high priority may send. Each of the changes below blocks the slot by
    /// itself, however long the slot waits.
    @Test func whatOnlySomethingFromOutsideHelps() {
        func readiness(_ change: (DispatchBench, SlotID) -> Void) -> Readiness {
            let bench = DispatchBench()
            let slot = bench.makeSlot("a")
            bench.wait(slot)
            change(bench, slot)
            return bench.readiness(slot)
        }
        #expect(readiness { _, _ in } == .ready)
        #expect(readiness { $0[$1].pending = .none } == .blocked)
        #expect(readiness { $0[$1].inFlight = $0.memory.updates.make(slot: $1) } == .blocked)
        #expect(readiness { $0[$1].awaitsStateRecord = true } == .blocked)
        #expect(readiness { $0[$1].tokenStanding = .dead } == .blocked)
        #expect(readiness { $0[$1].tokenStanding = .doubted } == .blocked)
        #expect(readiness { bench, slot in bench.memory.slots.clearToken(of: slot) } == .blocked)
        #expect(
            readiness { bench, _ in
                bench.memory.partitions.reassign(0) { $0.inletOpened(logs: [], wallMillis: 0) }
            } == .blocked)
        #expect(readiness { bench, _ in bench.memory.partitions[0].beginRelease() } == .blocked)
        // There is no route for this environment.
        #expect(readiness { $0[$1].environment = .development } == .blocked)
    }

    @Test func aStartBringsItsOwnToken() {
        let bench = DispatchBench()
        let slot = bench.makeSlot("a", token: [])
        bench.wait(slot, isStart: true)
        #expect(bench.readiness(slot) == .ready)
    }

    /// If a slot has to wait for several reasons, it may send when the last wait is over.
    @Test func whatTimeAloneChanges() {
        func wait(_ priority: PushPriority, _ change: (DispatchBench, SlotID) -> Void) -> Readiness {
            let bench = DispatchBench { $0.apps[0].lowPriorityWindowMillis = 700 }
            let slot = bench.makeSlot("a")
            bench.wait(slot, priority)
            change(bench, slot)
            let begun = bench.now.steadyMillis
            guard case .at(let millis) = bench.readiness(slot) else { return bench.readiness(slot) }
            bench.advance(millis - begun - 1)
            #expect(bench.readiness(slot) == .at(millis: millis), "not before")
            bench.advance(1)
            #expect(bench.readiness(slot) == .ready)
            return .at(millis: millis - begun)
        }
        #expect(wait(.low) { _, _ in } == .at(millis: 700))
        #expect(wait(.high) { _, _ in } == .ready)
        #expect(wait(.high) { $0[$1].notBeforeMillis = $0.now.steadyMillis + 300 } == .at(millis: 300))
        #expect(wait(.low) { $0[$1].notBeforeMillis = $0.now.steadyMillis + 300 } == .at(millis: 700))
        #expect(wait(.low) { $0[$1].notBeforeMillis = $0.now.steadyMillis + 900 } == .at(millis: 900))
        #expect(wait(.high) { $0[$1].backoffUntilMillis = $0.now.steadyMillis + 400 } == .at(millis: 400))
    }

    /// A deferred update leaves when a unit has returned. An alert may use the reserve. Starts and ends do not wait.
    @Test func whatIsDeferredWaitsForAUnit() {
        func readiness(spent: Int, alert: Bool = false, isEnd: Bool = false, isStart: Bool = false) -> Readiness {
            let bench = DispatchBench {
                $0.apps[0].budgetPolicy = .defer
                $0.apps[0].budgetPerHour = 2
                $0.apps[0].budgetReserve = 1
                $0.apps[0].minimumDistanceMillis = 1_000
            }
            let slot = bench.makeSlot("a")
            for _ in 0..<spent {
                bench.wait(slot, alert: true)
                _ = bench.depart(slot)
                bench.arrive(slot)
                bench.advance(1_000)
            }
            bench.wait(slot, alert: alert, isEnd: isEnd, isStart: isStart)
            guard case .at(let millis) = bench.readiness(slot) else { return bench.readiness(slot) }
            return .at(millis: millis - bench.now.steadyMillis)
        }
        let hour = RollingBudget.windowMillis
        #expect(readiness(spent: 0) == .ready && readiness(spent: 1) == .at(millis: hour - 1_000))
        #expect(readiness(spent: 1, alert: true) == .ready)
        // An alert waits until the older of the two units has returned.
        #expect(readiness(spent: 2, alert: true) == .at(millis: hour - 2_000))
        #expect(readiness(spent: 2) == .at(millis: hour - 1_000), "until both have")
        #expect(readiness(spent: 2, isEnd: true) == .ready && readiness(spent: 2, isStart: true) == .ready)
    }

    // MARK: Deadlines

    /// A slot's deadline is the earliest time at which something may change for it. Here it is in milliseconds from
    /// now.
    @Test func theEarliestThatMayHappenIsWaitedFor() {
        func deadline(_ priority: PushPriority = .high, _ change: (DispatchBench, SlotID) -> Void) -> Int64? {
            let bench = DispatchBench {
                $0.settings.lifetimeMillis = 90_000
                $0.settings.pendingDurableAfterMillis = 2_000
                $0.apps[0].registrationWaitMillis = 30_000
                $0.apps[0].lowPriorityWindowMillis = 700
            }
            let slot = bench.makeSlot("a")
            if priority == .high { bench[slot].tokenStanding = .dead }
            bench.wait(slot, priority)
            bench[slot].tokenMissingSinceMillis = bench.now.steadyMillis
            change(bench, slot)
            bench.reschedule(slot)
            return bench.nextDeadlineAfterMillis
        }
        // Without a token the update is given up when the wait for a token is over.
        #expect(deadline { _, _ in } == 30_000)
        #expect(deadline { $0[$1].tokenMissingSinceMillis -= 10_000 } == 20_000)
        // The life ends before that.
        #expect(deadline { $0[$1].lifeEndsMillis = $0.now.steadyMillis + 10_000 } == 10_000)
        // After an accepted start the token may arrive until the activity's life ends.
        #expect(
            deadline {
                $0.memory.slots.clearToken(of: $1)
                $0[$1].awaitsTokenOfStart = true
            } == 90_000)
        // The content expires by the wall clock.
        #expect(deadline { $0[$0[$1].pending].top.expiresSeconds = $0.now.wallSeconds + 5 } == 5_000)
        #expect(deadline { $0[$0[$1].pending].top.expiresSeconds = $0.now.wallSeconds - 5 } == 0)
        // Offsets wait for the update, so it is due to be written to `state`, unless a record is due anyway.
        #expect(deadline { $0[$1].openEntry = EntryID(index: 0) } == 2_000)
        #expect(
            deadline {
                $0[$1].openEntry = EntryID(index: 0)
                $0[$1].lastStateWriteMillis = $0.now.steadyMillis + 500
            } == 2_500)
        #expect(
            deadline {
                $0[$1].openEntry = EntryID(index: 0)
                $0[$1].isDirty = true
            } == 30_000)
        // A partition that is being released sends nothing, so only the end of the life is due.
        #expect(deadline { bench, _ in bench.memory.partitions[0].beginRelease() } == 90_000)
        // The low-priority window is the earliest if the slot has a token.
        #expect(deadline(.low) { _, _ in } == 700)
        // If nothing waits, only the end of the life is due.
        #expect(deadline { $0[$1].pending = .none } == 90_000)
    }

    /// The units of an idle activity are forgotten when the last of them has returned.
    @Test func unitsAreWaitedForWhereNothingElseIs() {
        let bench = DispatchBench()
        let slot = bench.makeSlot("a")
        bench.wait(slot)
        _ = bench.depart(slot)
        bench.reschedule(slot)
        #expect(bench.nextDeadlineAfterMillis == bench.configuration.settings.lifetimeMillis, "it is in flight")
        bench.arrive(slot)
        bench.reschedule(slot)
        #expect(bench.nextDeadlineAfterMillis == RollingBudget.windowMillis)
        bench.advance(RollingBudget.windowMillis)
        #expect(bench.takeDue() == [slot])
        bench.dispatch.releaseReturnedBudget(slot, in: &bench.memory, now: bench.now)
        #expect(bench.budgetCount == 0)
    }

    /// A pending update that is held long enough is written to `state`, if offsets wait for it.
    @Test func whatIsHeldLongMustBeDurable() {
        let bench = DispatchBench { $0.settings.pendingDurableAfterMillis = 2_000 }
        let slot = bench.makeSlot("a")
        bench.wait(slot)
        func mustBeDurable() -> Bool { bench.dispatch.mustBeDurable(slot, in: bench.memory, now: bench.now) }
        bench.advance(2_000)
        #expect(!mustBeDurable(), "no offset waits for it")
        bench[slot].openRoutedEntry = EntryID(index: 0)
        #expect(mustBeDurable())
        bench[slot].lastStateWriteMillis = bench.now.steadyMillis - 1_999
        #expect(!mustBeDurable())
        bench.advance(1)
        #expect(mustBeDurable())
    }
}
