import Foundation
import PushTransport
import Testing

@testable import PushWorker

/// Tests of the proxy, if any, that connections to APNs use.
struct ProxySettingsTests {
    private static func way(
        _ lines: String..., environment: [String: String] = [:], to host: String = "api.push.apple.com", port: Int = 443
    ) throws -> String? {
        let text = (Loading.lines + lines).joined(separator: "\n")
        return try Loading.loaded(text, environment: environment).configuration.proxy.access(to: host, port: port)?
            .shown
    }

    @Test func noneIsTheDefaultWhateverTheEnvironmentSays() throws {
        #expect(try Self.way(environment: ["https_proxy": "http://proxy:3128"]) == nil)
        #expect(try Self.way("apns.proxy: none", environment: ["HTTPS_PROXY": "http://proxy:3128"]) == nil)
        #expect(try Loading.load(environment: ["HTTPS_PROXY": "http://proxy"]).proxy.environment.name == "HTTPS_PROXY")
    }

    @Test(arguments: [
        ("http://proxy:3128", "http://proxy:3128"), ("HTTP://10.0.0.1:8080/", "http://10.0.0.1:8080"),
        ("http://proxy", "http://proxy:80"), ("http://[2001:db8::1]:3128", "http://[2001:db8::1]:3128"),
    ])
    func aURLNamesTheProxy(_ text: String, _ shown: String) throws {
        #expect(try Self.way("apns.proxy: \"\(text)\"") == shown)
        #expect(try Self.way("apns.proxy: \"\(text)\"", environment: ["no_proxy": "*"]) == shown)
    }

    @Test(arguments: [
        "https://proxy:3128", "socks5://proxy:1080", "proxy:3128", "http://", "http://proxy:0", "http://proxy:x",
        "http://proxy:3128/path", "http://user:s3cret@proxy:3128", "http://s3cret@proxy", "direct", "http://a b",
    ])
    func anythingElseIsRefusedWithoutShowingIt(text: String) {
        let faults = Loading.faults(adding: "apns.proxy: \"\(text)\"")
        #expect(faults.count == 1 && faults.first?.setting == "apns.proxy")
        let said = faults.map(\.description).joined()
        #expect(said.contains("without a user: that goes into the file of apns.proxy-credentials-file"))
        #expect(!said.contains("s3cret"))
    }

    @Test(arguments: ["localhost", "LOCALHOST", "apns.localhost", "127.0.0.1", "127.1.2.3", "::1"])
    func thisMachineIsReachedDirectly(host: String) throws {
        #expect(try Self.way("apns.proxy: http://proxy:3128", to: host) == nil)
        #expect(try Self.way("apns.proxy: http://proxy:3128", to: "127.example.com") != nil)
    }

    @Test(
        arguments: [
            (["https_proxy": "http://a:1", "HTTPS_PROXY": "http://b:2"], "http://a:1"),
            (["https_proxy": "", "HTTPS_PROXY": "b:2"], "http://b:2"), (["HTTPS_PROXY": "proxy"], "http://proxy:80"),
            (["http_proxy": "http://a:1", "ALL_PROXY": "http://b:2"], nil),
            (["https_proxy": "http://a:1", "no_proxy": "*"], nil),
            (["https_proxy": "http://a:1", "NO_PROXY": "other.com, apple.com"], nil),
            (["https_proxy": "http://a:1", "no_proxy": ".push.apple.com"], nil),
            (["https_proxy": "http://a:1", "no_proxy": "*.Apple.com"], nil),
            (["https_proxy": "http://a:1", "no_proxy": "api.push.apple.com:443"], nil),
            (["https_proxy": "http://a:1", "no_proxy": "api.push.apple.com:2197"], "http://a:1"),
            (["https_proxy": "http://a:1", "no_proxy": "ple.com,push.apple.co,10.0.0.0/8,::1,,"], "http://a:1"),
            (["https_proxy": "http://a:1", "no_proxy": "x.com", "NO_PROXY": "*"], "http://a:1"),
        ] as [([String: String], String?)])
    func theEnvironmentMaySay(_ environment: [String: String], _ shown: String?) throws {
        #expect(try Self.way("apns.proxy: environment", environment: environment) == shown)
    }

    @Test func anEnvironmentThatNamesNoneIsSaid() throws {
        let text = (Loading.lines + ["apns.proxy: environment"]).joined(separator: "\n")
        #expect(try Loading.loaded(text).warnings.first?.contains("neither https_proxy nor HTTPS_PROXY is set") == true)
    }

    @Test(arguments: ["http://user:s3cret@proxy:3128", "https://proxy", "socks5h://proxy:1"])
    func aVariableThatCannotBeUsedIsAFault(text: String) {
        let faults = Loading.faults(adding: "apns.proxy: environment", environment: ["https_proxy": text])
        #expect(faults.first?.location == "https_proxy" && faults.first?.setting == "apns.proxy")
        #expect(faults.first?.text.contains("apns.proxy-credentials-file") == true)
        #expect(!"\(faults)".contains("s3cret"))
        // The variable is ignored when the settings say to use no proxy.
        #expect(Loading.faults(adding: "apns.proxy: none", environment: ["https_proxy": text]).isEmpty)
    }

    @Test func credentialsNeedAProxyAndAFile() throws {
        let faults = Loading.faults(adding: "apns.proxy-credentials-file: /etc/mailboat/proxy")
        #expect(faults.first?.description.contains("apns.proxy: is none") == true)
        var configuration = try Loading.load(
            "apns.proxy: http://proxy:3128", "apns.proxy-credentials-file: /nowhere/at/all")
        #expect(configuration.proxy.access(to: "a", port: 1)?.credentialsFile == "/nowhere/at/all")
        func fault() -> String? {
            configuration.fileFaults().first { $0.setting == "apns.proxy-credentials-file" }?.text
        }
        #expect(fault()?.contains("/nowhere/at/all") == true)
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        configuration.proxy.credentialsFile = path
        try "s3cret".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(fault()?.contains("expected user:password") == true && fault()?.contains("s3cret") == false)
        try "user:s3cret\n".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(fault() == nil)
    }

    /// Every route uses the proxy: pushes, broadcasts and questions about channels. Only local hosts are reached
    /// directly. Tools plan the same proxies as a worker.
    @Test func everyRouteTakesIt() throws {
        let configuration = try Loading.load(
            "apns.proxy: http://proxy:3128", "apns.environments: [production, development]",
            "apns.development: {host: localhost, port: 2197, manage-host: localhost}")
        let routes = WorkerPlan(configuration).routes
        #expect(routes.count >= 4)
        for route in routes { #expect((route.proxy == nil) == (route.host == "localhost"), "\(route.name)") }
        #expect(configuration.plannedRoutes.map(\.proxy) == routes.map(\.proxy))
    }
}
