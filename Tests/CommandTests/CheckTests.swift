import Testing

@testable import mailboat

@Suite struct CheckTests {
    private static func reports(_ text: String) -> [Check.Report] {
        var splitter = JSONValueSplitter()
        var items: [JSONValueSplitter.Item] = []
        splitter.feed(Array(text.utf8), into: &items)
        splitter.finish(into: &items)
        var check = EventCheck(app: "com.example.pizza", nowSeconds: 1_700_000_000)
        return items.map { Check.answer(to: $0, check: &check) }
    }

    @Test func aRegistrationIsUsedByTheUpdatesAfterIt() {
        let token = String(repeating: "80e0", count: 40)
        let reports = Self.reports(
            """
            {"key":"order-7","value":{"event":"register","token":"\(token)","environment":"development","frequent-updates":true}}
            {"key":"order-7","value":{"event":"update","content-state":{"a": 1.50},"alert":{"title":"t","body":"b"},"timestamp":1699999990}}
            {"key":"order-7","value":{"event":"unregister"}}
            {"key":"order-7","value":{"event":"end","expires":1700000060},"timestamp":1699999000000}
            """)
        #expect(
            reports == [
                .taken(
                    line: 1,
                    lines: ["activity “order-7” gets token 80e080e0…(160 digits) (development, frequent updates)"]),
                .taken(
                    line: 2,
                    lines: [
                        "POST https://api.sandbox.push.apple.com/3/device/80e080e0…(160 digits)",
                        "authorization: bearer (provider token)", "apns-push-type: liveactivity",
                        "apns-topic: com.example.pizza.push-type.liveactivity", "apns-priority: 10",
                        "apns-expiration: 1700000900",
                        "apns-id: (a new UUID)", "",
                        #"{"aps":{"event":"update","timestamp":1699999990,"content-state":{"a": 1.50},"alert":{"title":"t","body":"b"}}}"#,
                        "(110 of 4096 bytes)",
                    ]),
                .taken(line: 3, lines: ["activity “order-7” has no token any more"]),
                .taken(
                    line: 4,
                    lines: [
                        "POST https://api.push.apple.com/3/device/(the token registered for activity “order-7”)",
                        "authorization: bearer (provider token)", "apns-push-type: liveactivity",
                        "apns-topic: com.example.pizza.push-type.liveactivity", "apns-priority: 10",
                        "apns-expiration: 1700000060",
                        "apns-id: (a new UUID)", "", #"{"aps":{"event":"end","timestamp":1699999000}}"#,
                        "(46 of 4096 bytes)",
                    ]),
            ])
    }

    @Test func anEventAloneNeedsNoKey() {
        let reports = Self.reports(
            #"{"event":"update","app":"com.example.match","content-state":{},"to":{"token":"00ff"},"timestamp":1}"#)
        guard case .taken(1, let lines) = reports.first else {
            Issue.record("\(reports)")
            return
        }
        #expect(lines[0] == "POST https://api.push.apple.com/3/device/00ff")
        #expect(lines[3] == "apns-topic: com.example.match.push-type.liveactivity")
        #expect(lines[4] == "apns-priority: 5")
    }

    @Test func anEventForAChannelIsABroadcast() {
        let reports = Self.reports(
            """
            {"key":"dHN0+/8=","value":{"event":"update","content-state":{"score":1},"priority":1,"timestamp":1699999990,"to":{"channel":"dHN0+/8=","environment":"development"}}}
            {"event":"end","alert":null,"timestamp":1699999995,"expires":1700000060,"to":{"channel":"dHN0+/8="}}
            """)
        #expect(
            reports == [
                .taken(
                    line: 1,
                    lines: [
                        "POST https://api.sandbox.push.apple.com/4/broadcasts/apps/com.example.pizza",
                        "authorization: bearer (provider token)", "apns-channel-id: dHN0+/8=",
                        "apns-push-type: liveactivity", "apns-priority: 1",
                        "apns-expiration: 1700000900, or 0 if the channel stores nothing",
                        "apns-request-id: (a new UUID)", "",
                        #"{"aps":{"event":"update","timestamp":1699999990,"content-state":{"score":1}}}"#,
                        "(77 of 5120 bytes)",
                    ]),
                .taken(
                    line: 2,
                    lines: [
                        "POST https://api.push.apple.com/4/broadcasts/apps/com.example.pizza",
                        "authorization: bearer (provider token)", "apns-channel-id: dHN0+/8=",
                        "apns-push-type: liveactivity", "apns-priority: 10",
                        "apns-expiration: 1700000060, or 0 if the channel stores nothing",
                        "apns-request-id: (a new UUID)", "", #"{"aps":{"event":"end","timestamp":1699999995}}"#,
                        "(46 of 5120 bytes)", "(an alert that has not been sent yet is withdrawn)",
                    ]),
            ])
    }

    @Test(arguments: [
        ("{", "the text is not valid JSON: it ends too early"),
        (
            #"{"key":"a","value":{"event":"end","to":{"channel":"AAAA"}}}"#,
            "“to.channel” \"AAAA\" differs from the record's key: expected the same channel id"
        ),
        (
            #"{"event":"update","to":{"channel":"AAAA"},"content-state":{"a":"\#(String(repeating: "a", count: 4_089))"}}"#,
            "“content-state” has 4097 bytes: a Live Activity takes at most 4096, also by broadcast"
        ),
        (
            #"{"key":"00ff","value":{"event":"register","audience":"match-7","token-type":"start"}}"#,
            "“audience” is not supported by this version: expected to.activity, to.channel, to.token or to.start-token"
        ),
        (
            #"{"event":"end","to":{"audience":"match-7"}}"#,
            "“to.audience” is not supported by this version: expected to.activity, to.channel, to.token or to.start-token"
        ),
        (#"{"event":"update"}"#, "“content-state” is missing: “update” needs it"),
        (#"{"key":"a","value":null}"#, "“value” is null: expected one JSON object"),
        (#"{"key":null,"value":{"event":"end"}}"#, "“key” is null: expected the activity, audience or channel id"),
        (#"{"key":"","value":{"event":"end"}}"#, "“key” is empty: expected the activity, audience or channel id"),
        (#"{"key":"a"}"#, "“value” is missing: expected the event, or null"),
        (
            #"{"key":"a","value":{"event":"end","to":{"activity":"b"}}}"#,
            "“to.activity” \"b\" differs from the record's key: expected the same activity id"
        ),
        (
            #"{"event":"end","timestamp":1700000301}"#,
            "“timestamp” 1700000301 is 301 s ahead of this worker's clock (1700000000): at most 300 s are allowed, "
                + "because the phone would ignore everything after it"
        ),
        (
            #"{"event":"update","content-state":{"a":"\#(String(repeating: "a", count: 4_096))"}}"#,
            "“payload” would have 4170 bytes: APNs takes at most 4096 (of these: content-state 4104)"
        ),
    ])
    func refusals(text: String, reason: String) {
        #expect(Self.reports(text) == [.refused(line: 1, reason: reason)])
    }
}
