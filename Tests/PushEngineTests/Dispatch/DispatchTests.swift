import PushModel
import Testing

@testable import PushEngine

/// Tests `Dispatch` alone: which slot is sent next, lane by lane, and what it counts.
@Suite struct DispatchTests {
    // MARK: Who is next

    @Test func highBeforeLowOldestFirst() {
        let bench = DispatchBench { $0.apps[0].lowPriorityWindowMillis = 0 }
        let slots = [
            bench.ready("a", .low), bench.ready("b", .high), bench.ready("c", .low), bench.ready("d", .high),
        ]
        #expect(bench.hasReady())
        #expect([bench.next(), bench.next(), bench.next(), bench.next()] == [slots[1], slots[3], slots[0], slots[2]])
        #expect(bench.next() == nil && !bench.hasReady())
    }

    /// A slot whose update gets high priority moves to the high-priority queue. A slot whose priority stays as it was
    /// keeps its position.
    @Test func anotherPriorityIsAnotherPlace() {
        let bench = DispatchBench { $0.apps[0].lowPriorityWindowMillis = 0 }
        let first = bench.ready("a", .low)
        let second = bench.ready("b", .low)
        let third = bench.ready("c", .high)
        bench.reschedule(first)
        bench[bench[second].pending].priority = .high
        bench.reschedule(second)
        #expect([bench.next(), bench.next(), bench.next(), bench.next()] == [third, second, first, nil])
    }

    /// Apps of a route take turns, however much one of them has to send.
    @Test func lanesTakeTurns() {
        let bench = DispatchBench.withTwoApps()
        let first = (0..<4).map { bench.ready("a\($0)", app: 0) }
        let second = (0..<2).map { bench.ready("b\($0)", app: 1) }
        #expect(bench.hasReady() && !bench.hasReady(route: 1) && !bench.hasReady(route: 7))
        let order = (0..<7).map { _ in bench.next() }
        #expect(order == [first[0], second[0], first[1], second[1], first[2], first[3], nil])
        #expect(bench.dispatch.laneCount(route: 7) == 0)
    }

    /// A slot that cannot send is in no queue. A slot that is scheduled twice is queued once.
    @Test func whoeverIsNotReadyLeavesTheQueue() {
        let bench = DispatchBench()
        let slot = bench.ready("a")
        bench.reschedule(slot)
        #expect(bench.readyCount(DispatchBench.production) == 1)
        bench[slot].tokenStanding = .dead
        bench.reschedule(slot)
        #expect(!bench.hasReady() && bench.next() == nil && bench.readyCount(DispatchBench.production) == 0)
        bench[slot].tokenStanding = .usable
        bench.reschedule(slot)
        #expect(bench.next() == slot)
    }

    @Test func nobodyIsNextWhoWasLetGo() {
        let bench = DispatchBench()
        let slot = bench.ready("a")
        let other = bench.ready("b")
        bench.dispatch.restoreBudget(slot, ageMillis: 0, in: &bench.memory, now: bench.now)
        bench.dispatch.letGo(slot, in: &bench.memory)
        #expect(bench.counters.slotsPending == 1 && bench.pendingSlots(DispatchBench.production) == 1)
        #expect(bench.budgetCount == 0 && bench.next() == other && bench.next() == nil)
        bench.advance(bench.configuration.settings.lifetimeMillis)
        #expect(bench.takeDue() == [other])
    }

    // MARK: Lanes

    /// Each environment has its own lane. A slot that changes its environment moves to the other lane's queue and
    /// share.
    @Test func anotherEnvironmentIsAnotherLane() {
        let bench = DispatchBench.withTwoApps()
        let slot = bench.ready("a")
        bench.dispatch.setEnvironment(.production, of: slot, in: &bench.memory)
        #expect(bench.hasReady(), "nothing has changed")
        bench.dispatch.setEnvironment(.development, of: slot, in: &bench.memory)
        #expect(bench.pendingSlots(DispatchBench.production) == 0 && bench.pendingSlots(DispatchBench.development) == 1)
        bench.reschedule(slot)
        #expect(!bench.hasReady(route: 0) && bench.next(route: 1) == slot)
        #expect(bench.pendingSlots(DispatchBench.development) == 1 && bench.counters.slotsPending == 1)
    }

    /// An app's share of what may be pending is rounded up. It covers both of the app's environments.
    @Test func anAppHasAShareOfWhatMayWait() {
        let bench = DispatchBench {
            $0.settings.pendingMax = 5
            $0.apps[0].pendingShare = 0.5
            $0.apps[0].developmentRoute = 1
        }
        #expect(bench.pendingRoom == 3)
        let first = bench.ready("a")
        let second = bench.ready("b")
        bench.dispatch.setEnvironment(.development, of: second, in: &bench.memory)
        #expect(bench.pendingRoom == 1)
        bench[first].pending = .none
        bench.dispatch.countWork(first, in: &bench.memory)
        #expect(bench.pendingRoom == 2 && bench.counters.slotsPending == 1)
        #expect(DispatchBench().pendingRoom == .max, "an app may take all there is")
    }

    /// APNs refuses the topic of one app. This app rests, while the other apps of the route still send.
    @Test func anAppWhoseTopicIsRefusedRests() {
        let bench = DispatchBench.withTwoApps()
        let refused = bench.ready("a", app: 0)
        let other = bench.ready("b", app: 1)
        for _ in 1..<LaneGate.streakMax { bench.answerTopic(.refused, lane: DispatchBench.production) }
        #expect(bench.appsHeldBack.isEmpty)
        bench.answerTopic(.refused, lane: DispatchBench.production)
        #expect(bench.appsHeldBack == [0] && bench.counters.appsHeldBack == 1 && bench.counters.appsRefused == 1)
        #expect(bench.next() == other && bench.next() == nil && !bench.hasReady())
        // After the rest a single probe may leave.
        let restMillis = bench.nextDeadlineAfterMillis ?? 0
        #expect(restMillis >= LaneGate.restMillisMin / 2 && restMillis <= LaneGate.restMillisMax)
        bench.advance(restMillis - 1)
        bench.advanceGates()
        #expect(!bench.hasReady())
        bench.advance(1)
        bench.advanceGates()
        #expect(bench.next() == refused)
        bench.dispatch.topicProbeLeft(lane: DispatchBench.production, in: &bench.memory, now: bench.now)
        #expect(bench.appsHeldBack == [0])
        bench.answerTopic(.taken, lane: DispatchBench.production)
        #expect(bench.appsHeldBack.isEmpty && bench.counters.appsHeldBack == 0)
    }

    // MARK: Compared with a model

    /// After random changes the queues hold exactly the slots that could send, each once. A slot that only has to wait
    /// is scheduled for a time at which it can send, or for an earlier one.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func queuesHoldExactlyWhatIsReady(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        func int(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
        let bench = DispatchBench.withTwoApps()
        let slots = (0..<20).map { bench.makeSlot("a\($0)", app: UInt16($0 % 2)) }
        for _ in 0..<400 {
            let slot = slots[int(0..<slots.count)]
            switch int(0..<8) {
            case 0, 1:
                if bench[slot].pending.isNone { bench.wait(slot, int(0..<2) == 0 ? .high : .low) }
            case 2:
                if bench[slot].pending.isSome {
                    bench.memory.updates.release(bench[slot].pending)
                    bench[slot].pending = .none
                }
            case 3: bench[slot].tokenStanding = int(0..<3) == 0 ? .dead : .usable
            case 4: bench[slot].awaitsStateRecord = int(0..<3) == 0
            case 5: bench[slot].notBeforeMillis = bench.now.steadyMillis + Int64(int(0..<3_000))
            case 6:
                bench.dispatch.setEnvironment(int(0..<2) == 0 ? .development : .production, of: slot, in: &bench.memory)
            default:
                bench.advance(Int64(int(0..<1_500)))
                for due in bench.takeDue() { bench.reschedule(due) }
            }
            bench.reschedule(slot)
            let work = slots.filter { bench[$0].hasWork }
            #expect(bench.counters.slotsPending == work.count)
        }
        var waits: [SlotID: Int64] = [:]
        var ready: Set<SlotID> = []
        for slot in slots
        where bench[slot].pending.isSome && !bench[slot].awaitsStateRecord && bench[slot].hasUsableToken {
            // The second app has no development route.
            guard bench[slot].app == 0 || bench[slot].environment == .production else { continue }
            let update = bench[bench[slot].pending]
            let window = update.priority == .low ? update.firstUnsentMillis + 1_000 : .min
            let at = max(bench[slot].notBeforeMillis, window)
            if at <= bench.now.steadyMillis { ready.insert(slot) } else { waits[slot] = at }
        }
        var popped: [SlotID] = []
        for route in 0...1 as ClosedRange<UInt16> { while let slot = bench.next(route: route) { popped.append(slot) } }
        #expect(popped.count == ready.count && Set(popped) == ready)
        #expect(popped.allSatisfy { bench[$0].queuedTicket == 0 })
        bench.advance(3_000)
        let due = bench.takeDue()
        #expect(Set(waits.keys).isSubset(of: due))
    }
}
