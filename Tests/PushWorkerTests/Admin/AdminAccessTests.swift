import Foundation
import Logging
import Testing

@testable import PushWorker

struct AdminAccessTests {
    private static func access(_ host: String, token: Bool = false, tls: Bool = false) -> AdminAccess {
        var admin = WorkerConfiguration.Admin()
        admin.host = host
        admin.tokenFile = token ? "/token" : nil
        admin.tlsCertificateFile = tls ? "/certificate" : nil
        admin.tlsKeyFile = tls ? "/key" : nil
        return AdminAccess(admin)
    }

    @Test(arguments: ["127.0.0.1", "127.1.2.3", "localhost", "LOCALHOST", "::1"])
    func thisMachineMayAskUnlessThereIsAToken(host: String) {
        #expect(Self.access(host) == .local)
        #expect(Self.access(host, tls: true) == .local)
        #expect(Self.access(host, token: true) == .token)
    }

    @Test(arguments: ["0.0.0.0", "::", "10.0.0.7", "mailboat-0", "127.0.0.1.example.com", "127.0.0", "127.0.0.999"])
    func othersNeedATokenAndTLS(host: String) throws {
        for (token, tls, names) in [
            (false, false, "admin.token-file"), (false, true, "admin.token-file"), (true, false, "admin.tls."),
        ] {
            guard case .nobody(let reason) = Self.access(host, token: token, tls: tls) else {
                Issue.record("\(host) is open")
                continue
            }
            #expect(reason.contains(host) && reason.contains(names))
        }
        #expect(Self.access(host, token: true, tls: true) == .token)
    }

    /// A request must name this machine as its host. Otherwise a web page in a browser on this machine could reach the
    /// port through a host name that the page's author controls.
    @Test func aRequestNamesThisMachine() {
        for authority in ["localhost", "localhost:9464", "127.0.0.1:9464", "[::1]:9464", "[::1]"] {
            #expect(AdminAccess.isLocal(authority: authority), "\(authority)")
        }
        for authority in [nil, "", "evil.example", "localhost.evil.example:9464", "127.0.0.1.evil.example", "10.0.0.7"]
        {
            #expect(!AdminAccess.isLocal(authority: authority), "\(authority ?? "none")")
        }
    }

    @Test func aCertificateHasAKey() throws {
        var configuration = try Loading.load("admin.tls.certificate-file: /certificate\nadmin.tls.key-file: /key")
        #expect(configuration.admin.tls != nil)
        configuration.admin.tlsKeyFile = nil
        #expect(configuration.faults.map(\.setting) == ["admin.tls.key-file"])
        configuration.admin.tlsKeyFile = "/nowhere/key"
        configuration.admin.tlsCertificateFile = "/nowhere/certificate"
        configuration.admin.tokenFile = "/nowhere/token"
        let faults = configuration.fileFaults().map(\.setting)
        #expect(faults.contains("admin.tls.certificate-file") && faults.contains("admin.token-file"))
    }
}

struct OpenAPIDocumentTests {
    private static func document() throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(OpenAPIDocument.text.utf8)) as? [String: Any])
    }

    /// The document has every route that the port serves, and no other.
    @Test func everyRouteIsInIt() throws {
        let sources = StatePages.Sources(
            snapshot: { WorkerSnapshot() }, lags: { [] }, silencesMillis: { [] }, uptimeSeconds: { 0 })
        let pages = AdminServer.Pages(
            unhealthy: { nil }, readiness: { Readiness(WorkerSnapshot()) }, metrics: { _ in [] },
            state: StatePages(WorkerConfiguration.Admin(), sources: sources, logger: Logger(label: "test")))
        let served = AdminServer.routeNames(pages)
        let paths = try #require(try Self.document()["paths"] as? [String: [String: Any]])
        var told: Set<String> = []
        for (path, operations) in paths {
            // `**` replaces the path from its first parameter on.
            let pattern = path.replacing(/\{[a-z]+\}.*/, with: "**")
            for method in operations.keys { told.insert("\(method.uppercased()) \(pattern)") }
        }
        // One handler serves creations and requests about one channel. So the router also has these two combinations,
        // which the document leaves out.
        let both = ["POST /channels/**", "DELETE /channels"]
        #expect(Set(served).subtracting(both) == told)
    }

    /// The document names every cause of a wait once.
    @Test func itNamesEveryCauseOfAWait() throws {
        var part: Any = try Self.document()
        for name in ["components", "schemas", "Wait", "properties", "cause", "enum"] {
            part = try #require((part as? [String: Any])?[name])
        }
        #expect(part as? [String] == ActivityWait.Cause.allCases.map(\.rawValue))
    }
}
