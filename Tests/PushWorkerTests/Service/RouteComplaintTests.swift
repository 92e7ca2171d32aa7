import APNSPool
import PushTransport
import Testing

@testable import PushWorker

/// Tests of what readiness says about routes: each complaint once, in words that an operator can act on.
struct RouteComplaintTests {
    private static func route(
        name: String = "production/K", shard: Int = 0, _ trouble: RouteTrouble?, wasReached: Bool = false
    ) -> WorkerSnapshot.Route {
        var route = WorkerSnapshot.Route(name: name, shard: shard, counters: RouteCounters())
        route.status.host = "api.push.apple.com"
        route.status.port = 443
        route.status.trouble = trouble
        route.status.wasReached = wasReached
        route.status.connectFailure = "because"
        route.status.reason = "Reason"
        return route
    }

    /// Cases: the trouble, whether it is an error before the route was first reached, whether it is one afterwards, and
    /// a part of the complaint. An error makes the worker unready.
    @Test(arguments: [
        (RouteTrouble.unreachable, true, false, "cannot be reached: because"),
        (.silentNetwork, true, false, "no TCP connection"), (.silentServer, true, false, "sends nothing"),
        (.noStreams, true, false, "SETTINGS_MAX_CONCURRENT_STREAMS"), (.notAPNs, true, true, "because"),
        (.noAnswers, false, false, "answers none"), (.serverBusy, false, false, "(Reason)"),
        (.credentialsRefused, true, true, "(Reason)"), (.providerTokenExpired, true, true, "clock"),
        (.providerTokenTooManyUpdates, false, false, "used elsewhere"),
    ])
    func eachTroubleHasItsWeight(trouble: RouteTrouble, before: Bool, after: Bool, text: String) {
        for (wasReached, isError) in [(false, before), (true, after)] {
            let complaints = RouteComplaint.about([Self.route(trouble, wasReached: wasReached)])
            #expect(complaints.count == 1)
            #expect(complaints.first?.isError == isError, "\(trouble), reached: \(wasReached)")
            #expect(complaints.first?.text.contains(text) == true, "\(complaints)")
            #expect(complaints.first?.text.contains("production/K") == true)
        }
    }

    @Test func aProxyBetweenIsNamed() {
        for (trouble, text) in [
            (RouteTrouble.unreachable, "api.push.apple.com:443 through the proxy http://proxy:3128 cannot be reached"),
            (.silentNetwork, "no tunnel for 3 s"), (.notAPNs, "through the proxy http://proxy:3128 is not accepted"),
        ] {
            var route = Self.route(trouble)
            route.status.proxy = "http://proxy:3128"
            #expect(RouteComplaint.about([route]).first?.text.contains(text) == true)
        }
    }

    @Test func aProxyIsNamedOnce() {
        var route = Self.route(.unreachable)
        route.status.proxy = "http://proxy:3128"
        route.status.connectFailure = "the proxy http://proxy:3128 says no"
        let text = RouteComplaint.about([route]).first?.text
        #expect(
            text?.hasSuffix("api.push.apple.com:443 cannot be reached: the proxy http://proxy:3128 says no") == true)
    }

    @Test func noTroubleIsForgottenInTheTable() { #expect(RouteTrouble.allCases.count == 10) }

    @Test func aRouteIsNamedOnceHoweverManyShardsHaveIt() {
        let complaints = RouteComplaint.about([
            Self.route(shard: 0, .noAnswers), Self.route(shard: 1, .notAPNs), Self.route(shard: 2, nil),
            Self.route(name: "development/K", shard: 0, nil), Self.route(name: "production/L", shard: 1, .unreachable),
        ])
        #expect(complaints.map(\.isError) == [true, true])
        #expect(complaints[0].text.hasPrefix("route production/K: what answers at"), "the one that says most")
        #expect(complaints[1].text.hasPrefix("route production/L: "))
    }

    /// A route for requests about channels causes no complaint, because the requests report its trouble. The worker can
    /// still push.
    @Test(arguments: RouteTrouble.allCases) func aRouteOfQuestionsAboutChannelsIsNoComplaint(trouble: RouteTrouble) {
        var route = Self.route(name: "production/K/manage", trouble)
        route.status.carriesPushes = false
        #expect(RouteComplaint.about([route]).isEmpty)
    }

    /// One shard has reached APNs, so the worker's settings are good. The other shard's trouble is not an error.
    @Test func aRouteThatAnyShardHasReachedWasReached() {
        let complaints = RouteComplaint.about([
            Self.route(shard: 0, nil, wasReached: true), Self.route(shard: 1, .unreachable),
        ])
        #expect(complaints.map(\.isError) == [false])
    }

    @Test func degradedWorkersAreReadyAndSaySo() {
        let hub = SnapshotHub(shardCount: 2)
        hub.updateGroup { $0.hasJoined = true }
        for shard in 0..<2 {
            var report = ShardReport()
            report.routes = [Self.route(shard: shard, .serverBusy, wasReached: true)]
            hub.publish(report, shard: shard)
        }
        hub.updateGroup { $0.keyComplaints = ["the key is odd"] }
        let readiness = Readiness(hub.snapshot)
        #expect(readiness.ready && readiness.errors.isEmpty)
        #expect(
            readiness.degraded == [
                "route production/K: APNs answers with server errors (Reason); only probes are sent", "the key is odd",
            ])
        var report = ShardReport()
        report.routes = [Self.route(.credentialsRefused)]
        report.errors = ["twice"]
        for shard in 0..<2 { hub.publish(report, shard: shard) }
        #expect(
            hub.snapshot.errors == [
                "twice", "route production/K: APNs refuses the credentials (Reason); only probes are sent",
            ])
        #expect(!hub.snapshot.isReady)
    }
}
