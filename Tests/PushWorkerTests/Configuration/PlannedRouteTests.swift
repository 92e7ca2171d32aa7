import PushTransport
import TLSSession
import Testing

@testable import PushWorker

struct PlannedRouteTests {
    private static func app(_ bundleID: String, _ change: (inout AppSettings) -> Void = { _ in }) -> AppSettings {
        var app = AppSettings(bundleID: bundleID)
        app.teamID = "TEAM123456"
        app.keyID = "KEY1234567"
        app.keyFile = "/keys/KEY1234567.p8"
        change(&app)
        return app
    }

    @Test func everyRouteSaysWhoseItIs() {
        var configuration = WorkerConfiguration()
        configuration.apps = [
            Self.app("a.b") { $0.environments = [.production, .development] },
            Self.app("c.d") { $0.production.broadcastHost = "broadcast.example.com" },
        ]
        let routes = configuration.plannedRoutes
        #expect(
            routes.map { "\($0.host):\($0.port)" } == [
                "api.push.apple.com:443", "api.sandbox.push.apple.com:443", "broadcast.example.com:443",
                "api-manage-broadcast.push.apple.com:2196", "api-manage-broadcast.sandbox.push.apple.com:2195",
            ])
        #expect(
            routes[0].uses == [
                .init(bundleID: "a.b", environment: .production, purpose: .pushes),
                .init(bundleID: "a.b", environment: .production, purpose: .broadcasts),
                .init(bundleID: "c.d", environment: .production, purpose: .pushes),
            ])
        #expect(routes[2].uses == [.init(bundleID: "c.d", environment: .production, purpose: .broadcasts)])
        #expect(routes[3].uses.map(\.purpose) == [.management, .management])
        #expect(routes[1].key.environment == "development" && routes[1].key.keyID == "KEY1234567")
    }
}
