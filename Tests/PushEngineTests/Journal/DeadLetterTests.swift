import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Bad input never stops a partition. It is dead-lettered with a reason and its source position, counted, and
/// committed (contract: Bad input).
@Suite struct DeadLetterTests {
    struct Bad: Sendable, CustomTestStringConvertible {
        var key: String? = "a"
        var value: String?
        var field: String
        var testDescription: String { "\(self.field): \(self.value?.prefix(60) ?? "null")" }
    }

    private static let update = #""event":"update","content-state":{}"#

    @Test(arguments: [
        Bad(key: nil, value: "{\(update)}", field: "key"), Bad(key: "", value: "{\(update)}", field: "key"),
        Bad(key: String(repeating: "k", count: 257), value: "{\(update)}", field: "key"),
        Bad(value: nil, field: "value"),
        Bad(value: "", field: "value"), Bad(value: "no JSON", field: "value"), Bad(value: "{\(update)", field: "value"),
        Bad(value: #"{\#(update),"timestap":5}"#, field: "timestap"), Bad(value: #"{"event":"push"}"#, field: "event"),
        Bad(value: #"{\#(update),"app":"com.example.none"}"#, field: "app"),
        Bad(value: #"{\#(update),"timestamp":1700000301}"#, field: "timestamp"),
        Bad(value: #"{\#(update),"timestamp":1700000000000}"#, field: "timestamp"),
        Bad(value: #"{\#(update),"to":{"activity":"b"}}"#, field: "to.activity"),
        Bad(
            value: #"{"event":"update","content-state":{"pad":"\#(String(repeating: "x", count: 4_096))"}}"#,
            field: "payload"),
    ])
    func aBadRecordIsDeadLettered(_ bad: Bad) {
        let h = EngineHarness()
        let offset = h.consume(key: bad.key, value: bad.value, recordMillis: 1_699_999_999_123)
        let letters = h.written.filter { $0.topic == .deadLetters }
        #expect(letters.count == 1)
        guard let letter = letters.first else { return }
        #expect(letter.hasKey == (bad.key != nil))
        #expect(letter.keyText == bad.key ?? "")
        #expect(letter.isNull == (bad.value == nil))
        #expect(letter.valueText == bad.value ?? "", "as it came")
        #expect(letter.headers[RecordHeader.field.text]?.hasPrefix(bad.field) == true, "\(letter.headers)")
        #expect(letter.headers[RecordHeader.reason.text]?.isEmpty == false)
        #expect(letter.headers[RecordHeader.topic.text] == "liveactivity.events")
        #expect(letter.headers[RecordHeader.partition.text] == "0")
        #expect(letter.headers[RecordHeader.offset.text] == "\(offset)")
        #expect(letter.headers[RecordHeader.timestamp.text] == "1699999999123")
        #expect(h.outcomes(of: offset) == ["dead-lettered"])
        #expect(h.counters.deadLetters == 1)
        #expect(h.counters.slots == 0)
        #expect(h.isCommitted())
        // The partition still takes records and sends pushes.
        h.register()
        h.update(1, priority: 10)
        #expect(h.deliver() != nil)
    }

    /// The outcome names the refused event by its id, if the id can be read. No other event's id is named.
    @Test(arguments: [
        (#"{\#(update),"id":"e-7","timestap":5}"#, "e-7"), (#"{"id":"e-7","event":"push"}"#, "e-7"),
        (#"{\#(update),"id":"e-7","app":"com.example.none"}"#, "e-7"),
        (#"{\#(update),"id":"e-7","timestamp":1700000301}"#, "e-7"),
        (#"{\#(update),"id":"e-7","to":{"activity":"b"}}"#, "e-7"),
        (#"{\#(update),"id":7}"#, nil), (#"{\#(update),"id":"e-7""#, nil), (#"{\#(update),"timestap":5}"#, nil),
        ("no JSON", nil), (nil, nil),
    ])
    func theOutcomeNamesTheEvent(value: String?, id: String?) {
        let h = EngineHarness()
        h.register()
        h.update(1, more: #""id":"e-6""#)
        let offset = h.consume(key: "a", value: value)
        #expect(h.outcomes(of: offset) == ["dead-lettered"])
        #expect(h.outcome(of: offset)?.fields["event-id"] as? String == id)
        // A record without a key is refused before its value is decoded. Its outcome still names the event.
        let keyless = h.consume(key: nil, value: value)
        #expect(h.outcome(of: keyless)?.fields["event-id"] as? String == id)
    }

    /// The outcome of a record that could not be understood names the record's position and the reason. It names no app
    /// and no activity.
    @Test func theOutcomeSaysWhereItLayAndWhy() {
        let h = EngineHarness()
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        h.consume(key: "a/\"é\"", value: #"{"event":"up\"dáte"}"#)
        let traced = h.consume(key: "b", value: "no JSON", traceparent: trace)
        let texts = h.written.filter { $0.topic == .outcomes }.map(\.valueText)
        let reasons = h.written.filter { $0.topic == .deadLetters }.map { $0.headers[RecordHeader.reason.text] ?? "" }
        #expect(reasons[0].contains("\""))
        #expect(
            texts == [
                #"{"outcome":"dead-lettered","topic":"liveactivity.events","partition":0,"offset":\#(traced - 1),"reason":""#
                    + reasons[0].replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + #""}"#,
                #"{"outcome":"dead-lettered","topic":"liveactivity.events","partition":0,"offset":\#(traced),"reason":""#
                    + reasons[1].replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
                    + #"","traceparent":"\#(trace)"}"#,
            ])
    }

    @Test func itIsCommittedWhenBothRecordsAreAcknowledged() {
        let h = EngineHarness()
        h.acknowledgesAtOnce = false
        h.consume(key: "a", value: "no JSON")
        #expect(Set(h.outstanding.map(\.topic)) == [.deadLetters, .outcomes])
        h.acknowledgeAll { $0.topic == .outcomes }
        #expect(!h.isCommitted())
        h.acknowledgeAll()
        #expect(h.isCommitted())
    }

    /// A whole token must not reach topics that others may read.
    @Test func theReasonNeverHoldsAWholeToken() {
        let h = EngineHarness()
        let token = String(repeating: "ab", count: 40)
        h.consume(key: "a", value: #"{"event":"register","token":"\#(token)zz"}"#)
        let reason = h.written.first { $0.topic == .deadLetters }?.headers[RecordHeader.reason.text] ?? ""
        #expect(!reason.isEmpty && !reason.contains(token))
    }

    // MARK: Refused by APNs

    @Test func whatAPNsRefusesForGoodIsDeadLetteredWithItsReason() {
        let h = EngineHarness()
        h.register()
        let offset = h.update(7, at: 3, alert: "!", more: #""id":"e-7""#, #""relevance-score":1.50"#)
        h.answer(
            h.take()!, .response(PushResponse(status: 400, reason: "BadExpirationDate"))
        )
        let letter = h.written.first { $0.topic == .deadLetters }
        #expect(letter?.keyText == "a")
        #expect(letter?.headers[RecordHeader.reason.text] == "APNs refused the push: 400 BadExpirationDate")
        #expect(letter?.headers[RecordHeader.offset.text] == "\(offset)")
        let value = HarnessJSON.object(letter?.value ?? [])
        #expect(value["event"] as? String == "update")
        #expect(value["id"] as? String == "e-7")
        #expect((value["content-state"] as? [String: Any])?["n"] as? Int == 7)
        #expect((value["alert"] as? [String: Any])?["title"] as? String == "!")
        #expect(letter?.valueText.contains("1.50") == true, "as it was spelt")
        let said = h.outcome(of: offset)
        #expect(said?.outcome == "dead-lettered")
        #expect(said?.status == 400)
        #expect(said?.reason == "BadExpirationDate")
        h.advance(200)
        #expect(h.isCommitted())
        #expect(h.take() == nil)
    }

    @Test func anAlertOfAnotherEventIsNotPartOfTheLetter() {
        let h = EngineHarness()
        h.register()
        h.update(1, at: 1, alert: "first")
        h.update(2, at: 2)
        h.answer(
            h.take()!, .response(PushResponse(status: 413, reason: "PayloadTooLarge")))
        let letter = h.written.first { $0.topic == .deadLetters }
        #expect(letter?.valueText.contains("first") == false)
    }

    @Test func whatCameMeanwhileIsSent() {
        let h = EngineHarness()
        h.register()
        h.update(1, at: 1, priority: 10)
        let push = h.take()!
        h.update(2, at: 2, priority: 10)
        h.answer(push, .response(PushResponse(status: 413, reason: "PayloadTooLarge")))
        h.advance(2_000)
        #expect(h.deliver()?.n == 2)
    }

    @Test func aRefusedEndLetsTheActivityLiveOn() {
        let h = EngineHarness()
        h.register()
        let end = h.end(1)
        h.answer(
            h.take()!, .response(PushResponse(status: 413, reason: "PayloadTooLarge")))
        #expect(h.outcomes(of: end) == ["dead-lettered"])
        h.advance(2_000)
        h.update(2, priority: 10)
        #expect(h.deliver()?.event == "update")
    }

    /// APNs refuses credentials, throttles, or is busy. Nothing is wrong with the push, so it is tried again until it
    /// expires.
    @Test(arguments: [
        (UInt16(403), "InvalidProviderToken"), (403, "BadCertificateEnvironment"), (400, "BadTopic"),
        (429, "TooManyRequests"),
        (429, "TooManyProviderTokenUpdates"), (403, "ExpiredProviderToken"), (500, "InternalServerError"),
        (503, "Shutdown"),
        (502, ""), (504, "SomethingNew"),
    ])
    func whatIsNotThePushsFaultIsTriedAgain(status: UInt16, reason: String) {
        let h = EngineHarness()
        h.register()
        let offset = h.update(1, priority: 10)
        for _ in 0..<30 {
            h.answer(h.take()!, .response(PushResponse(status: status, reason: reason)))
            // An app whose topic is refused rests for up to five minutes.
            h.advance(reason == "BadTopic" ? 361_000 : 61_000)
        }
        #expect(h.outcomes(of: offset).isEmpty)
        #expect(h.deliver()?.n == 1)
        #expect(h.counters.deadLetters == 0)
    }
}
