import APNSSimulator
import DeviceModel
import Testing

/// Tests of channels at the HTTP control API.
@Suite(.timeLimit(.minutes(5))) struct ChannelControlTests {
    @Test func channelsAreMadeShownAndDeleted() async throws {
        try await ControlTests.run { bench, port in
            func ask(_ method: String, _ path: String, _ body: String = "") async throws -> (status: Int, body: String)
            {
                try await TextExchange.request(port: port, method, path, body: body)
            }
            #expect(try await ask("GET", "/channels").body == "{\"channels\":[\n]}\n")
            let made = try await ask("POST", "/channels", #"{"app":"com.example.pizza","message-storage-policy":1}"#)
            let channel = try #require(bench.simulator.channels().first)
            #expect(channel.storage == .mostRecent)
            // JSON allows `\/` for a slash, but the answer has plain slashes.
            #expect(made.body == "{\"id\":\"\(channel.id)\"}\n")
            _ = try await ask("POST", "/channels", #"{"app":"com.example.other"}"#)

            let client = try await bench.connect()
            #expect(try await ask("POST", "/devices/0A1B", #"{"channel":"\#(channel.id)"}"#).body == "{\"ok\":true}\n")
            let body = Bodies.update(stamp: Bench.startSeconds, state: #"{"score": "1:0"}"#)
            let request = bench.broadcast(channel: channel.id, body: body, expiration: Bench.startSeconds + 60)
            #expect(try await client.send(request).status == 200)
            let shown = try await ask("GET", "/channels?app=com.example.pizza").body
            #expect(
                shown == "{\"channels\":[\n"
                    + #"{"id":"\#(channel.id)","app":"com.example.pizza","message-storage-policy":1,"#
                    + #""createdMillis":\#(Bench.startSeconds * 1_000),"published":1,"listeners":1,"stored":\#(body),"#
                    + #""content-state":{"score": "1:0"},"ended":false}"# + "\n]}\n")
            #expect(try await ask("GET", "/channels?limit=x").status == 400)
            let device = try await ask("GET", "/devices/0a1b").body
            #expect(device.contains(#""channel":"\#(channel.id)","card":"active","content-state":{"score": "1:0"}"#))

            #expect(try await ask("POST", "/devices/0a1b", #"{"online":false}"#).status == 200)
            #expect(try await ask("GET", "/devices/0a1b").body.contains(#""online":false"#))
            #expect(try await ask("POST", "/devices/0a1b", #"{"online":true,"channel":""}"#).status == 200)
            #expect(bench.simulator.device(token: "0a1b")?.channel == nil)
            #expect(bench.simulator.device(token: "0a1b")?.isOnline == true)

            #expect(try await ask("DELETE", "/channels", #"{"id":"\#(channel.id)"}"#).status == 200)
            #expect(try await ask("DELETE", "/channels", #"{"id":"\#(channel.id)"}"#).status == 404)
            #expect(try await ask("POST", "/apps/com.example.other", #"{"broadcasts":false}"#).status == 200)
            #expect(bench.simulator.channels().isEmpty)
            #expect(try await ask("POST", "/apps/com.example.pizza", #"{"channels-max":0}"#).status == 200)
            let refused = try await ask("POST", "/channels", #"{"app":"com.example.pizza"}"#)
            #expect(refused.body.contains("as many channels"))
            #expect(try await ask("POST", "/faults", #"{"kind":"list-lag","millis":5}"#).body == "{\"ok\":true}\n")
            #expect(try await ask("GET", "/stats").body.contains("\"channelsDeleted\" : 2"))
            await client.close()
        }
    }

    static let refused: [(method: String, path: String, body: String, words: String)] = [
        ("POST", "/channels", "{}", "'app' is missing"),
        ("POST", "/channels", #"{"app":"a","message-storage-policy":2}"#, "'message-storage-policy' must be"),
        ("POST", "/channels", #"{"app":"a","name":"b"}"#, "unknown key 'name'"),
        ("DELETE", "/channels", "{}", "'id' is missing"),
        ("POST", "/apps/a", "{}", "give 'broadcasts' (true or false), 'channels-max', or both"),
        ("POST", "/apps/a", #"{"channels-max":-1}"#, "'channels-max' must be a whole number"),
        ("POST", "/devices/0a", "{}", "give 'channel'"),
        ("POST", "/devices/0a", #"{"channel":"YWJj"}"#, "no such channel"),
        ("POST", "/devices/zz", #"{"online":true}"#, "even number of hex digits"),
        (
            "POST", "/faults", #"{"kind":"twice","request":"list-channels"}"#,
            "'request' is 'list-channels'. Known: device"
        ),
    ]

    @Test func whatIsWrongIsNamed() async throws {
        try await ControlTests.run { _, port in
            for row in Self.refused {
                let answer = try await TextExchange.request(port: port, row.method, row.path, body: row.body)
                #expect(answer.status == 400)
                #expect(answer.body.contains(row.words), "\(answer.body)")
            }
        }
    }

    @Test func aFaultNamesItsRequestAndChannel() async throws {
        try await ControlTests.run { bench, port in
            let body = #"{"kind":"twice","request":"create","channel":"","count":1}"#
            #expect(try await TextExchange.request(port: port, "POST", "/faults", body: body).body == "{\"id\":1}\n")
            let client = try await bench.connectToManagement()
            #expect(try await client.send(bench.creation()).status == 201)
            #expect(bench.simulator.channels().count == 2)
            await client.close()
        }
    }
}
