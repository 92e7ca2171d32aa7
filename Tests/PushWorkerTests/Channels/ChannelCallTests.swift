import APNSProtocol
import PushModel
import PushTransport
import Testing

@testable import PushWorker

/// Tests of what a request to `/channels` asks for, and of its authorization.
struct ChannelCallTests {
    private static let one = ChannelHome(bundleID: "com.example.pizza", environment: .production)
    private static let all = [
        one, ChannelHome(bundleID: "com.example.pizza", environment: .development),
        ChannelHome(bundleID: "com.example.tea", environment: .production),
    ]

    private static func call(
        _ method: String, _ path: String, _ query: String = "", body: String = "", _ homes: [ChannelHome] = [one]
    ) -> Result<ChannelCall, ChannelCall.Fault> {
        Result { () throws(ChannelCall.Fault) -> ChannelCall in
            try ChannelCall(method: method, path: path, query: query, body: Array(body.utf8), homes: homes)
        }
    }

    @Test(
        arguments: [
            ("GET", "/channels", "", .list), ("GET", "/channels/", "", .list), ("HEAD", "/channels", "", .list),
            ("POST", "/channels", "{\"storage\":\"none\"}", .create(.none)),
            ("POST", "/channels", "{\"app\":\"com.example.pizza\",\"storage\":\"most-recent\"}", .create(.mostRecent)),
            ("GET", "/channels/YQ==", "", .show("YQ==")), ("GET", "/channels/a%2Fb%2Bc%3D", "", .show("a/b+c=")),
            ("GET", "/channels/a/b+c=", "", .show("a/b+c=")), ("DELETE", "/channels/YQ==", "", .delete("YQ==")),
        ] as [(String, String, String, ChannelCall.Action)])
    func whatIsMeant(method: String, path: String, body: String, action: ChannelCall.Action) throws {
        let call = try Self.call(method, path, body: body).get()
        #expect(call.action == action)
        #expect(call.home == Self.one)
    }

    @Test(
        arguments: [
            ("PUT", "/channels", "", "", 405, "GET, which lists"), ("DELETE", "/channels", "", "", 405, "POST"),
            ("POST", "/channels/YQ==", "", "", 405, "DELETE"), ("GET", "/channelsYQ==", "", "", 404, "/channels/<id>"),
            ("GET", "/channels/a%20b", "", "", 400, "the channel's id"), ("GET", "/channels/%", "", "", 400, "id"),
            ("POST", "/channels", "", "", 400, "the body"), ("POST", "/channels", "", "[]", 400, "the body"),
            ("POST", "/channels", "", "{}", 400, "storage is missing"),
            ("POST", "/channels", "", "{\"storage\":\"all\"}", 400, "storage is all"),
            ("POST", "/channels", "", "{\"storage\":\"none\",\"app\":\"x.y\"}", 400, "app is x.y"),
            ("GET", "/channels", "application=x", "", 400, "the query"),
            ("GET", "/channels", "app=a&app=b", "", 400, "each once"),
            ("GET", "/channels", "environment=development", "", 400, "environment is \"development\""),
        ])
    func whatIsNotIsSaid(method: String, path: String, query: String, body: String, status: Int, words: String) {
        guard case .failure(let fault) = Self.call(method, path, query, body: body) else {
            Issue.record("it was taken")
            return
        }
        #expect(fault.status == status)
        #expect(fault.text.contains(words), "\(fault.text)")
    }

    /// A request may leave out the app or the environment where there is only one.
    @Test(
        arguments: [
            (nil, nil, "app is missing: expected one of com.example.pizza, com.example.tea"),
            ("com.example.pizza", nil, "environment is missing: expected production or development"),
            ("com.example.tea", nil, "com.example.tea (production)"),
            ("com.example.tea", "production", "com.example.tea (production)"),
            (
                "com.example.tea", "development",
                "environment is \"development\": com.example.tea is configured for production"
            ),
            ("com.example.pizza", "development", "com.example.pizza (development)"),
            (
                "com.example.pizza", "sandbox",
                "environment is \"sandbox\": com.example.pizza is configured for production or development"
            ),
            ("x.y", nil, "app is x.y: expected one of com.example.pizza, com.example.tea"),
        ] as [(String?, String?, String)])
    func theHomeIsFound(app: String?, environment: String?, expected: String) {
        do {
            let home = try ChannelDesk.home(among: Self.all, app: app, environment: environment)
            #expect("\(home)" == expected)
        } catch {
            #expect("\(error.field) \(error.detail)" == expected)
        }
    }

    @Test(
        arguments: [
            ("Bearer 0123456789abcdef", true), ("bearer 0123456789abcdef", true), ("BEARER 0123456789abcdef", true),
            ("Bearer 0123456789abcdeF", false), ("Bearer 0123456789abcde", false),
            ("Bearer 0123456789abcdef0", false), ("Bearer 0123456789abcdef0123456789abcdef", false),
            ("Bearer ", false), ("Bearer", false), ("Basic 0123456789abcdef", false), ("0123456789abcdef", false),
            ("", false), (nil, false),
        ] as [(String?, Bool)])
    func onlyTheTokenAdmits(authorization: String?, isAdmitted: Bool) throws {
        let token = try BearerToken(Array(" 0123456789abcdef\r\n".utf8))
        #expect(token.admits(authorization) == isAdmitted)
    }

    @Test(arguments: [
        "", "\n", "short", "0123456789 abcdef", "0123456789abcdef\n0", String(repeating: "a", count: 5_000),
    ])
    func whatIsNoTokenIsRefusedWithoutBeingRepeated(content: String) {
        do {
            _ = try BearerToken(Array(content.utf8))
            Issue.record("it was taken")
        } catch {
            let text = content.trimmingPrefix("\n")
            #expect(text.isEmpty || !error.description.contains(text))
            #expect(error.description.contains("expected"))
        }
    }

    @Test(arguments: ChannelFailure.Kind.allCases) func everyFailureHasAStatus(kind: ChannelFailure.Kind) {
        #expect((400...599).contains(ChannelPages.status(kind)))
    }
}
