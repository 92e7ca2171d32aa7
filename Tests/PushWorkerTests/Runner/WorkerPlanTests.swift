import APNSPool
import APNSProtocol
import PushEngine
import PushModel
import PushTransport
import ShardLoop
import TLSSession
import Testing

@testable import PushWorker

struct WorkerPlanTests {
    private static func app(
        _ bundleID: String, key: String = "KEY1234567", _ change: (inout AppSettings) -> Void = { _ in }
    ) -> AppSettings {
        var app = AppSettings(bundleID: bundleID)
        app.teamID = "TEAM123456"
        app.keyID = key
        app.keyFile = "/keys/\(key).p8"
        change(&app)
        return app
    }

    private static func plan(_ apps: AppSettings...) -> WorkerPlan {
        var configuration = WorkerConfiguration()
        configuration.apps = apps
        configuration.topics.events = ["one", "two"]
        configuration.pool.connectionsMax = 7
        return WorkerPlan(configuration)
    }

    @Test func appsOfOneKeyShareARoute() {
        let plan = Self.plan(Self.app("a.b"), Self.app("c.d"))
        #expect(plan.keys.count == 1)
        #expect(plan.routes.map(\.name) == ["production/KEY1234567", "production/KEY1234567/manage"])
        #expect(plan.apps.map(\.productionRoute) == [0, 0])
        #expect(plan.apps.map(\.developmentRoute) == [nil, nil])
        #expect(plan.routes[0].pool.connectionsMax == 7)
        #expect(plan.routes[0].authority == "api.push.apple.com")
    }

    @Test func eachKeyAndEnvironmentIsARoute() {
        let plan = Self.plan(
            Self.app("a.b") { $0.environments = [.production, .development] },
            Self.app("c.d", key: "OTHERKEY12") { $0.environments = [.development] })
        #expect(plan.keys.map(\.keyID) == ["KEY1234567", "KEY1234567", "OTHERKEY12"])
        #expect(plan.keys.map(\.environment) == ["production", "development", "development"])
        #expect(
            plan.routes.map(\.name) == [
                "production/KEY1234567", "development/KEY1234567", "development/OTHERKEY12",
                "production/KEY1234567/manage", "development/KEY1234567/manage", "development/OTHERKEY12/manage",
            ])
        #expect(plan.routes.map(\.providerKey) == [0, 1, 2, 0, 1, 2])
        #expect(plan.apps[1].productionRoute == nil)
        #expect(plan.apps[1].developmentRoute == 2)
    }

    // MARK: Following another plan

    private static func follow(_ old: WorkerPlan, _ apps: AppSettings...) -> WorkerPlan {
        var configuration = WorkerConfiguration()
        configuration.apps = apps
        return WorkerPlan(configuration, following: old)
    }

    @Test func anAppThatIsAddedSharesARouteOrGetsItsOwn() {
        let old = Self.plan(Self.app("a.b"))
        let new = Self.follow(old, Self.app("a.b"), Self.app("c.d"), Self.app("e.f", key: "OTHERKEY12"))
        #expect(new.keys.map(\.keyID) == ["KEY1234567", "OTHERKEY12"])
        #expect(
            new.routes.map(\.name) == [
                "production/KEY1234567", "production/KEY1234567/manage", "production/OTHERKEY12",
                "production/OTHERKEY12/manage",
            ])
        #expect(new.apps.map(\.productionRoute) == [0, 0, 2])
        #expect(new.apps.map(\.productionManageRoute) == [1, 1, 3])
    }

    @Test func anotherKeyOfAllItsAppsTakesThePlaceOfTheOneBefore() {
        let old = Self.plan(Self.app("a.b"), Self.app("c.d"), Self.app("e.f", key: "OTHERKEY12"))
        let new = Self.follow(
            old, Self.app("a.b", key: "NEXTKEY123"), Self.app("c.d", key: "NEXTKEY123"),
            Self.app("e.f", key: "OTHERKEY12"))
        #expect(new.keys.map(\.keyID) == ["NEXTKEY123", "OTHERKEY12"])
        #expect(new.routes.map(\.providerKey) == old.routes.map(\.providerKey))
        #expect(
            new.routes.map(\.name) == [
                "production/NEXTKEY123", "production/OTHERKEY12", "production/NEXTKEY123/manage",
                "production/OTHERKEY12/manage",
            ])
        #expect(new.apps.map(\.productionRoute) == old.apps.map(\.productionRoute))
    }

    /// Two apps share a key and a route, and the first gets another key. The second keeps the route.
    @Test func anAppThatLeavesASharedKeyGetsARouteOfItsOwn() {
        let old = Self.plan(Self.app("a.b"), Self.app("c.d"))
        let new = Self.follow(old, Self.app("a.b", key: "NEXTKEY123"), Self.app("c.d"))
        #expect(new.keys.map(\.keyID) == ["KEY1234567", "NEXTKEY123"])
        #expect(new.apps.map(\.productionRoute) == [2, 0])
        #expect(new.routes.map(\.name)[2...] == ["production/NEXTKEY123", "production/NEXTKEY123/manage"])
        #expect(Set(new.routes.map(\.name)).count == new.routes.count)
    }

    @Test func namesStayApartWhenTwoKeysBecomeOne() {
        let old = Self.plan(Self.app("a.b"), Self.app("c.d", key: "OTHERKEY12"))
        let new = Self.follow(old, Self.app("a.b", key: "OTHERKEY12"), Self.app("c.d", key: "OTHERKEY12"))
        #expect(new.apps.map(\.productionRoute) == old.apps.map(\.productionRoute))
        #expect(Set(new.routes.map(\.name)).count == new.routes.count)
        // The first app returns to its old key.
        let again = Self.follow(new, Self.app("a.b", key: "KEY1234567"), Self.app("c.d", key: "OTHERKEY12"))
        #expect(again.keys.map(\.keyID) == ["KEY1234567", "OTHERKEY12"])
    }

    /// Routes to different endpoints have different names in metrics.
    @Test func anotherPlaceIsAnotherRoute() {
        let plan = Self.plan(
            Self.app("a.b"), Self.app("c.d") { $0.production.port = 2_197 },
            Self.app("e.f") { $0.production.caFile = "/ca" })
        #expect(
            plan.routes.map(\.name) == [
                "production/KEY1234567", "production/KEY1234567#2", "production/KEY1234567#3",
                "production/KEY1234567/manage", "production/KEY1234567/manage#2",
            ])
        #expect(plan.routes[2].trustRoots == .file(path: "/ca"))
    }

    /// Broadcasts use the route of pushes unless their own host is set. Requests about channels always have their own
    /// host and route.
    @Test func broadcastsAndManagementHaveTheirRoutes() {
        let plan = Self.plan(
            Self.app("a.b") { $0.environments = [.production, .development] },
            Self.app("c.d") { $0.production.broadcastHost = "api-broadcast.push.apple.com" },
            Self.app("e.f") {
                $0.production.broadcastHost = $0.production.host
                $0.production.manageHost = "127.0.0.1"
                $0.production.managePort = 1_234
            })
        #expect(
            plan.routes.map { "\($0.name) \($0.host):\($0.port) \($0.carriesPushes)" } == [
                "production/KEY1234567 api.push.apple.com:443 true",
                "development/KEY1234567 api.sandbox.push.apple.com:443 true",
                "production/KEY1234567/broadcast api-broadcast.push.apple.com:443 true",
                "production/KEY1234567/manage api-manage-broadcast.push.apple.com:2196 false",
                "development/KEY1234567/manage api-manage-broadcast.sandbox.push.apple.com:2195 false",
                "production/KEY1234567/manage#2 127.0.0.1:1234 false",
            ])
        #expect(plan.apps.map { $0.route(.production, .broadcast) } == [0, 2, 0])
        #expect(plan.apps.map { $0.route(.development, .broadcast) } == [1, nil, nil])
        #expect(plan.apps.map { $0.route(.production, .createChannel) } == [3, 3, 5])
        #expect(plan.apps.map { $0.route(.development, .listChannels) } == [4, nil, nil])
        #expect(plan.routes[3].pool.connectionsMax == 1)
        #expect(plan.routes[3].pool.connectionsWarm == 0)
        #expect(plan.routes[3].pool.idleCloseMillis == WorkerPlan.manageIdleMillis)
    }

    /// One shard of each route keeps a connection open. So the worker knows without traffic whether it can reach APNs.
    @Test(arguments: [1, 2, 3, 8]) func oneShardOfEachRouteKeepsAConnection(shardCount: Int) {
        let plan = Self.plan(
            Self.app("a.b") { $0.environments = [.production, .development] }, Self.app("c.d", key: "OTHERKEY12"))
        let warm = (0..<shardCount).map { shard in
            plan.routes(shard: shard, of: shardCount).map(\.pool.connectionsWarm)
        }
        // A connection to a management service is opened only for a request.
        for route in 3..<6 { #expect(warm.allSatisfy { $0[route] == 0 }) }
        for route in 0..<3 { #expect(warm.reduce(0) { $0 + $1[route] } == 1) }
        #expect(warm.allSatisfy { $0.reduce(0, +) <= (3 + shardCount - 1) / shardCount }, "spread over the shards")
    }

    @Test func theRoutedTopicIsTheLastInput() {
        let plan = Self.plan(Self.app("a.b"))
        #expect(plan.inputTopics == ["one", "two", "liveactivity.routed"])
        #expect(plan.routedTopicIndex == 2)
        #expect(plan.engineConfiguration(partitionCount: 8).partitionCount == 8)
    }

    /// The plan passes the settings to engine and loop unchanged. It derives two of the engine's values from other
    /// settings.
    @Test(arguments: [(recordHoldMillis: 300, stateFlushMillis: 50), (20, 20)] as [(Int64, Int64)])
    func whatWasChosenReachesEngineAndLoop(recordHoldMillis: Int64, stateFlushMillis: Int64) {
        var configuration = WorkerConfiguration()
        configuration.engine.placement = .trust
        configuration.engine.pendingMax = 1_234
        configuration.engine.retryBackoffMaxMillis = 7_000
        configuration.loop.recordHoldMillis = recordHoldMillis
        configuration.pool.backoffMaxMillis = 9_000
        let loop = WorkerPlan(configuration).loopConfiguration(partitionCount: 8)
        #expect(loop.settings == configuration.loop)
        var expected = configuration.engine
        expected.stateFlushMillis = stateFlushMillis
        expected.routeBackoffMaxMillis = 9_000
        #expect(loop.engine.settings == expected)
    }
}
