import APNSSimulator
import DeviceModel
import Testing

/// Tests of push-to-start and summaries at the HTTP control API.
@Suite(.timeLimit(.minutes(5))) struct StartControlTests {
    private static let now = Bench.startSeconds

    @Test func updateTokensAreTold() async throws {
        try await ControlTests.run { bench, port in
            let client = try await bench.connectAndWarmUp()
            for token in ["0a", "0b"] {
                _ = try await client.send(bench.push(token: token, body: Bodies.start(stamp: Self.now)))
            }
            let tokens = bench.simulator.updateTokens().tokens.map(\.updateToken)
            let first = #"{"startToken":"0a","updateToken":"\#(tokens[0])","activity":1,"atMillis":\#(Self.now)000}"#
            let second = #"{"startToken":"0b","updateToken":"\#(tokens[1])","activity":2,"atMillis":\#(Self.now)000}"#
            for (query, expected) in [
                ("", "{\"next\":2,\"update-tokens\":[\n\(first),\n\(second)\n]}\n"),
                ("?limit=1", "{\"next\":1,\"update-tokens\":[\n\(first)\n]}\n"),
                ("?since=1", "{\"next\":2,\"update-tokens\":[\n\(second)\n]}\n"),
                ("?since=2", "{\"next\":2,\"update-tokens\":[\n]}\n"),
                ("?since=-1", "{\"error\":\"'since' must be a whole number, 0 or more\"}\n"),
            ] {
                #expect(
                    try await TextExchange.request(port: port, "GET", "/update-tokens\(query)").body == expected)
            }
            await client.close()
        }
    }

    @Test func aPhoneShowsItsStarts() async throws {
        try await ControlTests.run { bench, port in
            let client = try await bench.connectAndWarmUp()
            _ = try await client.send(bench.push(token: "0a", body: Bodies.start(stamp: Self.now)))
            let body = try await TextExchange.request(port: port, "GET", "/devices/0a").body
            let token = try #require(bench.simulator.updateTokens().tokens.first?.updateToken)
            #expect(body.hasPrefix(#"{"token":"0a","kind":"start","state":"alive","#))
            #expect(
                body.contains(
                    #""startsOverBudget":0,"starts":[{"activity":1,"atMillis":\#(Self.now)000,"timestamp":\#(Self.now),"#
                        + #""apns-id":"123e4567-e89b-42d3-a456-426614174000","startsWithinHour":1,"card":"active","#
                        + #""shows":\#(Self.now),"content-state":{"n":0},"contentHash":""#))
            #expect(body.hasSuffix(#""updateToken":"\#(token)"}]}"# + "\n"))
            await client.close()
        }
    }

    @Test func whatATokenIsForIsSet() async throws {
        try await ControlTests.run { bench, port in
            for (body, expected, kind) in [
                (#"{"kind":"start"}"#, "{\"ok\":true}", TokenKind.start), (#"{"kind":"any"}"#, "{\"ok\":true}", .any),
                (#"{"kind":"stop"}"#, "Known: any, update, start", .any),
                (#"{"kind":"start","state":"dead"}"#, "'kind' stands alone", .any),
            ] {
                let answer = try await TextExchange.request(port: port, "POST", "/tokens/0a", body: body)
                #expect(answer.body.contains(expected))
                #expect(bench.simulator.device(token: "0a")?.kind == kind)
            }
        }
    }

    @Test func aSummaryIsGiven() async throws {
        try await ControlTests.run { bench, port in
            let client = try await bench.connectAndWarmUp()
            bench.simulator.setToken("ffff", .dead)
            for token in ["0a", "0b"] {
                _ = try await client.send(
                    bench.push(token: token, body: Bodies.update(stamp: Self.now, state: #"{"n":1}"#)))
            }
            _ = try await client.send(bench.push(token: "0b", body: Bodies.end(stamp: Self.now)))
            func summary(_ query: String) async throws -> String {
                try await TextExchange.request(port: port, "GET", "/summary\(query)").body
            }
            let all = try await summary("?distance=1")
            #expect(all.hasPrefix(#"{"tokens":3,"unknownTokens":0,"states":{"dead":1,"alive":2},"cards":2,"shown":["#))
            #expect(
                all.contains(
                    #"[{"cards":1,"card":"active","timestamp":\#(Self.now),"content-state":{"n":1},"contentHash":""#))
            #expect(all.contains(#""alerts":[{"cards":2,"alerts":0,"alertsHash":"9e3779b97f4a7c15","example":"0a"}]"#))
            #expect(all.contains(#""leastDistanceMillis":{"value":0,"token":"0b"}"#))
            #expect(all.hasSuffix(#""differing":[{"token":"0b","ways":["shown","distance"]}]}"# + "\n"))
            #expect(try await summary("?prefix=0A").hasPrefix(#"{"tokens":1,"#))
            #expect(try await summary("?kind=start").hasPrefix(#"{"tokens":0,"#))
            #expect(try await summary("?limit=0&distance=1").hasSuffix(#""differingCount":1,"differing":[]}"# + "\n"))
            #expect(try await summary("?kind=stop").contains("Known: any, update, start"))
            #expect(try await summary("?starts=x").contains("'starts' must be a whole number"))
            let asked = try await TextExchange.request(port: port, "POST", "/summary", body: "0a\n0b ff\r\nxx").body
            #expect(asked.hasPrefix(#"{"tokens":2,"unknownTokens":2,"#))
            let both = try await TextExchange.request(port: port, "POST", "/summary?prefix=0a", body: "0a").body
            #expect(both.contains("the body names the tokens"))
            await client.close()
        }
    }
}
