import Foundation
import Testing

@testable import APNSPool

/// Simulation of one or two shards against a model of APNs, in virtual time. Pool, provider-token schedule and lane
/// gates are the real ones. Network, peer and clocks have faults.
///
/// A history is drawn from its seed alone. To replay a failing history, run this suite with `POOL_SIMULATION_SEEDS=17`
/// (or `1-100000` for a long run).
///
/// Seeds that have found a fault. If the plan changes, a seed has another history.
/// - 1490: a token that returns may be new to a connection that was quiet while the token was in use. The token would
///   then be the connection's second new one within 20 minutes. (`aTokenThatReturnsMayBeNewToAConnection`)
@Suite struct PoolSimulation {
    static let seeds: [UInt64] = {
        guard let text = ProcessInfo.processInfo.environment["POOL_SIMULATION_SEEDS"] else { return Array(1...60) }
        let ends = text.split(separator: "-").compactMap { UInt64($0) }
        guard let first = ends.first, let last = ends.last, first <= last else { return [] }
        return Array(first...last)
    }()

    @Test func everyPushEndsOnceAndServiceResumes() {
        var seen: [String: Int] = [:]
        for seed in Self.seeds {
            let world = PoolWorld(plan: PoolPlan(seed: seed))
            world.run()
            #expect(world.complaints.isEmpty, "seed \(seed): \(world.complaints.prefix(3)) at \(world.now) ms")
            seen.merge(world.seen) { $0 + $1 }
        }
        // The default seeds together include every fault. Without faults the simulation would prove nothing.
        guard Self.seeds.count >= 60 else { return }
        for fault in PoolPlan.Fault.allCases {
            #expect(seen["\(fault)", default: 0] > 0, "\(fault) never happened")
        }
        for event in [
            "pings", "idle closes", "timeouts", "exhausted", "token renewed", "out of turn", "reverted",
            "key exchanged",
        ] {
            #expect(seen[event, default: 0] > 0, "\(event): never")
        }
    }

    /// APNs is away for 40 s: it refuses connections, and answers with server errors. The back-off is the default.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func serviceResumesWithinFiveSecondsOfHealth(seed: UInt64) {
        var plan = PoolPlan(seed: seed)
        plan.weights = [:]
        plan.hasWrongTopic = false
        plan.faultsEndMillis = 60_000
        plan.pushCount = 400
        plan.configuration.backoffMinMillis = ConnectionPoolConfiguration().backoffMinMillis
        plan.configuration.backoffMaxMillis = ConnectionPoolConfiguration().backoffMaxMillis
        plan.configuration.requestsPerConnectionMax = 1 << 30
        let world = PoolWorld(plan: plan)
        world.outageEndsMillis = 40_000
        world.run()
        #expect(world.complaints.isEmpty, "seed \(seed): \(world.complaints.prefix(3))")
        let first = world.acceptedMillis.min() ?? .max
        #expect((40_000..<45_000).contains(first), "seed \(seed): service from \(first) ms")
        // Attempts of each shard are 0.5, 1, 2 and then 2 to 4 s apart.
        let attempts = world.connectTimes.count { $0 < 40_000 }
        #expect(attempts <= plan.shardCount * (plan.configuration.connectionsMax + 24), "seed \(seed): \(attempts)")
    }

    /// An app whose topic APNs refuses does not delay other apps on its route (contract: Overload).
    @Test(arguments: 1...5 as ClosedRange<UInt64>) func aRefusedTopicHoldsUpNoOtherApp(seed: UInt64) {
        var plan = PoolPlan(seed: seed)
        plan.weights = [:]
        plan.faultsEndMillis = 1_200_000
        plan.pushCount = 60
        plan.hasWrongTopic = true
        plan.configuration.idleCloseMillis = 10_000_000
        plan.configuration.requestsPerConnectionMax = 1 << 30
        let world = PoolWorld(plan: plan)
        world.run()
        #expect(world.complaints.isEmpty, "seed \(seed): \(world.complaints.prefix(3))")
        #expect(world.longestWaitMillis[0] < 3_000, "seed \(seed): app 0 waited \(world.longestWaitMillis[0]) ms")
        #expect(world.longestWaitMillis[1] < 3_000, "seed \(seed): app 1 waited \(world.longestWaitMillis[1]) ms")
        // A refused topic renews the connections, and again 1, 3, 7, 15, … minutes later at the earliest.
        #expect(world.connectCount <= plan.shardCount * plan.configuration.connectionsMax * 8, "seed \(seed)")
    }
}
