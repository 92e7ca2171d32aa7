import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests what an outcome says (contract: What an outcome says).
@Suite struct OutcomeRecordTests {
    private static func alive() -> EngineHarness {
        let h = EngineHarness()
        h.register(of: "act/1 \"é\"")
        return h
    }

    @Test func aDeliveredOneSaysEverything() {
        let h = Self.alive()
        h.update(1, of: "act/1 \"é\"", at: 0)
        h.advance(300)
        let offset = h.consume(
            key: "act/1 \"é\"", value: #"{"event":"update","priority":10,"id":"e\n1","content-state":{}}"#,
            traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        h.advance(250)
        let push = h.deliver()!
        let said = h.outcome(of: offset)
        #expect(said?.key == "act/1 \"é\"")
        #expect(said?.outcome == "delivered")
        #expect(said?.fields["event-id"] as? String == "e\n1")
        #expect(said?.fields["app"] as? String == "com.example.pizza")
        #expect(said?.fields["activity"] as? String == "act/1 \"é\"")
        #expect(said?.topic == "liveactivity.events")
        #expect(said?.number("partition") == 0)
        #expect(said?.status == 200)
        #expect(said?.reason == nil)
        #expect(said?.priority == 10)
        #expect(said?.merged == 2)
        #expect(said?.number("queued-ms") == 250)
        #expect(said?.number("apns-ms") == 12)
        #expect(said?.fields["traceparent"] as? String == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        let id = said?.fields["apns-id"] as? String ?? ""
        #expect(id.count == 36)
        #expect(id.filter { $0 != "-" } == Self.hex(push.apnsID[0]) + Self.hex(push.apnsID[1]))
    }

    private static func hex(_ half: UInt64) -> String {
        let digits = String(half, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    @Test func theAPNsIDIsARandomUUID() {
        let h = EngineHarness()
        h.register()
        var seen: Set<[UInt64]> = []
        for n in 0..<50 {
            h.update(n, priority: 10)
            let push = h.deliver()!
            #expect(push.apnsID[0] >> 12 & 0xf == 4, "version 4")
            #expect(push.apnsID[1] >> 62 == 2, "RFC 9562's variant")
            seen.insert(push.apnsID)
            h.advance(1_000)
        }
        #expect(seen.count == 50)
    }

    @Test func theTokenIsHashedNeverSaid() {
        let h = EngineHarness()
        let tokens = [String(repeating: "ab", count: 32), String(repeating: "cd", count: 32)]
        var hashes: Set<String> = []
        for token in tokens + tokens {
            h.register(token: token)
            h.update(1, priority: 10)
            h.deliver()
            h.advance(1_000)
            hashes.insert(h.outcomes.last { $0.outcome == "delivered" }?.fields["token-hash"] as? String ?? "")
        }
        #expect(hashes.count == 2)
        #expect(hashes.allSatisfy { $0.count == 16 })
        for record in h.written where record.topic == .outcomes || record.topic == .deadLetters {
            for token in tokens { #expect(!record.valueText.contains(token)) }
        }
    }

    @Test(arguments: [
        (OutcomePublication.all, ["applied", "superseded", "delivered", "late"]), (.pushes, ["delivered", "late"]),
        (.failures, ["late"]),
    ])
    func publicationIsChosen(publication: OutcomePublication, expected: [String]) {
        let h = EngineHarness { $0.settings.outcomePublication = publication }
        h.register()
        h.update(1)
        h.end(2)
        h.deliver()
        h.update(3)
        #expect(h.outcomes.map(\.outcome) == expected)
        #expect(h.counters.outcomeSum == 4, "all are counted")
    }

    /// An outcome has the hash of the token to which the request was sent, even if the activity has another token by
    /// then.
    @Test func theHashIsThatOfTheTokenInTheRequest() {
        let h = EngineHarness()
        h.register(token: "aa01")
        h.update(1, priority: 10)
        h.deliver()
        h.advance(1_000)
        h.update(2, priority: 10)
        let push = h.take()!
        h.register(token: "bb02")
        h.answer(push, .accepted)
        let hashes = h.outcomes.filter { $0.outcome == "delivered" }.map { $0.fields["token-hash"] as? String }
        #expect(hashes[0] == hashes[1])
        h.start(1, of: "other", token: "aa01")
        h.deliver()
        #expect(h.outcomes.last?.fields["token-hash"] as? String == hashes[0])
    }

    /// Every outcome carries the trace header of its record, even if the event never became content.
    @Test(arguments: ["late", "duplicate", "applied", "superseded", "dead-lettered"])
    func theTraceIsCarried(outcome: String) {
        let h = EngineHarness()
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        h.register()
        h.update(1, at: 0, priority: 10)
        h.deliver()
        if outcome == "late" { h.end() }
        let values = [
            "late": #"{"event":"update","content-state":{}}"#, "applied": #"{"event":"register","token":"bb"}"#,
            "duplicate":
                #"{"event":"start","to":{"start-token":"cc"},"attributes-type":"P","attributes":{},"content-state":{},"alert":{"title":"t","body":"b"}}"#,
            "superseded": #"{"event":"update","timestamp":1500000000,"content-state":{}}"#, "dead-lettered": "no JSON",
        ]
        let offset = h.consume(key: "a", value: values[outcome], traceparent: trace)
        #expect(h.outcome(of: offset)?.outcome == outcome)
        #expect(h.outcome(of: offset)?.fields["traceparent"] as? String == trace)
        // The next outcome does not have this trace header.
        let next = h.register()
        #expect(h.outcome(of: next)?.fields["traceparent"] == nil)
    }

    @Test func latencySamplesAreGivenOnce() {
        let h = EngineHarness()
        h.register()
        h.update(1, priority: 10, recordMillis: h.now.wallMillis - 400)
        h.advance(70)
        h.deliver()
        var samples: [AcceptedSample] = []
        h.engine.takeAcceptedSamples { samples.append($0) }
        #expect(samples.count == 1)
        let recordMillis = EngineHarness.seconds(0) * 1_000 - 400
        #expect(samples.first?.recordMillis == recordMillis)
        #expect(samples.first?.queuedMillis == 70)
        #expect(samples.first?.apnsMicros == 12_000)
        var again: [AcceptedSample] = []
        h.engine.takeAcceptedSamples { again.append($0) }
        #expect(again.isEmpty)
    }
}
