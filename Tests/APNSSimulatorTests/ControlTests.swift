import APNSSimulator
import DeviceModel
import Logging
import NIOCore
import NIOPosix
import TLSSession
import Testing

/// Tests of the HTTP control API, over a plain socket.
@Suite(.timeLimit(.minutes(5))) struct ControlTests {
    static func run(_ body: (Bench, Int) async throws -> Void) async throws {
        try await Bench.run { bench in
            let listening = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: Int.self)
            let mint = ProviderTokenMint(key: bench.key, keyID: Bench.keyID, teamID: Bench.teamID)
            var logger = Logger(label: "test")
            logger.logLevel = .critical
            let server = ControlServer(simulator: bench.simulator, port: 0, providerTokens: mint, logger: logger) {
                listening.succeed($0)
            }
            let serving = Task {
                do { try await server.run() } catch { listening.fail(error) }
            }
            try await body(bench, try await listening.futureResult.get())
            serving.cancel()
            await serving.value
        }
    }

    @Test func devicesAreShownAsTheyAre() async throws {
        try await Self.run { bench, port in
            let client = try await bench.connect()
            let update = Bodies.update(
                stamp: Bench.startSeconds, state: #"{"driver": "Anne"}"#, rest: #","stale-date":1,"relevance-score":2"#)
            _ = try await client.send(bench.push(token: "0a1b", body: update))
            let shown = try await TextExchange.request(port: port, "GET", "/devices/0A1B")
            #expect(shown.status == 200)
            #expect(
                shown.body
                    == #"{"token":"0a1b","state":"alive","topic":"\#(Bench.topic)","accepted":1,"refused":0,"inFlightPeak":1,"card":"stale","#
                    + #""content-state":{"driver": "Anne"},"relevance-score":2.0,"stale-date":1,"timestamp":\#(Bench.startSeconds),"#
                    + #""alerts":0,"cardsStarted":0,"shown":1,"ignored":0,"highPriorityLastHour":1,"highPriorityPeak":1}"#
                    + "\n")
            #expect(
                try await TextExchange.request(port: port, "GET", "/devices?prefix=0a").body.contains(
                    #""token":"0a1b""#))
            #expect(
                try await TextExchange.request(port: port, "GET", "/devices?prefix=0b").body == "{\"devices\":[\n]}\n")
            #expect(try await TextExchange.request(port: port, "GET", "/devices?limit=x").status == 400)
            #expect(try await TextExchange.request(port: port, "GET", "/devices/ff").status == 404)
            #expect(try await TextExchange.request(port: port, "GET", "/stats").body.contains("\"accepted\" : 1,"))
            #expect(
                try await TextExchange.request(port: port, "GET", "/violations").body.contains("\"violations\" : ["))
            #expect(try await TextExchange.request(port: port, "GET", "/").body.contains("POST   /faults"))
            #expect(try await TextExchange.request(port: port, "GET", "/healthz").body == "ok\n")
            await client.close()
        }
    }

    @Test func tokensAndKeysAreSet() async throws {
        try await Self.run { bench, port in
            func post(_ path: String, _ body: String) async throws -> String {
                try await TextExchange.request(port: port, "POST", path, body: body).body
            }
            #expect(try await post("/tokens/0a", #"{"state":"dead","sinceMillis":7}"#) == "{\"ok\":true}\n")
            #expect(bench.simulator.device(token: "0a")?.status == TokenStatus(state: .dead, sinceMillis: 7))
            #expect(try await post("/tokens/0b", #"{"state":"rotated","to":"0c"}"#) == "{\"ok\":true}\n")
            #expect(bench.simulator.device(token: "0b")?.status.state == .rotated)
            #expect(bench.simulator.device(token: "0c")?.status.state == .alive)
            #expect(try await post("/tokens/zz", #"{"state":"dead"}"#).contains("even number of hex digits"))

            let pem = String(decoding: try bench.key.pem(), as: UTF8.self).replacing("\n", with: "\\n")
            #expect(
                try await post("/keys", #"{"keyId":"SECONDKEY1","teamId":"TEAM567890","pem":"\#(pem)"}"#)
                    == "{\"ok\":true}\n")
            #expect(bench.simulator.keyIDs == [Bench.keyID, "SECONDKEY1"])
            #expect(try await TextExchange.request(port: port, "DELETE", "/keys/SECONDKEY1").status == 200)
            #expect(bench.simulator.keyIDs == [Bench.keyID])

            let token = try await TextExchange.request(port: port, "GET", "/provider-token").body
            let client = try await bench.connect()
            #expect(try await client.send(bench.push(token: "01", jwt: token)).status == 200)
            await client.close()
        }
    }

    /// Requests with a foreign `origin` or `host` are refused. Otherwise any web page in a browser on this machine
    /// could control the simulator.
    @Test(arguments: [
        ("localhost", ["origin: http://evil.example"]), ("localhost", ["origin: null"]), ("evil.example", []),
        ("localhost", ["sec-fetch-site: cross-site"]), ("localhost", ["sec-fetch-site: same-site"]),
    ])
    func pagesOfOtherSitesAreRefused(host: String, fields: [String]) async throws {
        try await Self.run { bench, port in
            for (method, path) in [("GET", "/devices"), ("GET", "/faults"), ("POST", "/faults"), ("DELETE", "/faults")]
            {
                let answer = try await TextExchange.request(
                    port: port, method, path, body: method == "POST" ? #"{"kind":"refuse"}"# : "", host: host,
                    fields: fields)
                #expect(answer.status == 403 && answer.body.contains("\"error\""), "\(method) \(path)")
            }
            #expect(!bench.simulator.trouble.refusesConnections)
        }
    }

    @Test func faultsAreSetShownAndTakenAway() async throws {
        try await Self.run { bench, port in
            let client = try await bench.connect()
            let added = try await TextExchange.request(
                port: port, "POST", "/faults", body: #"{"kind":"answer","reason":"Shutdown","count":3,"token":"0a"}"#)
            #expect(added.body == "{\"id\":1}\n")
            #expect(try await client.send(bench.push(token: "0a")).status == 503)
            #expect(try await TextExchange.request(port: port, "GET", "/faults").body.contains("\"left\" : 2"))
            #expect(try await TextExchange.request(port: port, "DELETE", "/faults/1").status == 200)
            #expect(try await TextExchange.request(port: port, "DELETE", "/faults/1").status == 404)
            #expect(try await client.send(bench.push(token: "0a")).status == 200)
            let cut = try await TextExchange.request(
                port: port, "POST", "/faults", body: #"{"kind":"now","action":"cut"}"#)
            #expect(cut.body == "{\"connections\":1}\n")
            try await client.closed()
            for body in [#"{"kind":"latency","millis":5}"#, #"{"kind":"refuse"}"#, #"{"kind":"streams","max":1}"#] {
                #expect(
                    try await TextExchange.request(port: port, "POST", "/faults", body: body).body == "{\"ok\":true}\n")
            }
            await #expect(throws: (any Error).self) { try await bench.connect() }
            let inForce = try await TextExchange.request(port: port, "GET", "/faults").body.filter { !$0.isWhitespace }
            #expect(
                inForce.hasSuffix(
                    #""server":{"latency":{"jitterMillis":0,"millis":5},"refuse":true,"streams":{"max":1}}}"#))
            #expect(try await TextExchange.request(port: port, "DELETE", "/faults").status == 200)
            #expect(
                try await TextExchange.request(port: port, "GET", "/faults").body.filter { !$0.isWhitespace }
                    == #"{"faults":[],"server":{}}"#)
            let again = try await bench.connect()
            await again.close()
        }
    }
}
