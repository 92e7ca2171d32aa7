import APNSProtocol
import Foundation
import PushModel
import Testing

@testable import PushEngine

/// The examples on the page `OutcomeExamples` are what a worker writes. Each is made here and compared byte for byte,
/// except for the random id of the push.
@Suite struct OutcomePageTests {
    /// An example: its name on the page, and the code that makes it.
    struct Example: Sendable, CustomTestStringConvertible {
        var name: String
        var make: @Sendable () throws -> String
        var testDescription: String { self.name }
    }

    @Test(arguments: Self.ofEvents + Self.ofLetters + Self.ofMany) func thePageShowsIt(_ example: Example) throws {
        let shown = try #require(try Self.page()[example.name], "the page has no example “\(example.name)”")
        let written = Self.withoutRandomness(try example.make())
        #expect(Self.withoutRandomness(shown) == written, "example “\(example.name)”: a worker writes\n\(written)\n")
    }

    @Test func everyOutcomeHasAnExample() throws {
        let examples = Self.ofEvents + Self.ofMany
        let made = Set(try examples.map { try HarnessJSON.object(Array($0.make().utf8))["outcome"] as? String ?? "" })
        let records = ["pass", "start-pass", "audience", "channel-opened", "channel-closed", "channel-refused"]
        #expect(made == Set(Outcome.allCases.map { "\($0.name)" } + records))
        #expect(Set(try Self.page().keys) == Set((examples + Self.ofLetters).map(\.name)), "and the page no others")
    }

    // MARK: The page

    /// The text below each `<!-- example: name -->`, by name. The lines of a JSON record are joined.
    private static func page() throws -> [String: String] {
        var root = URL(filePath: #filePath)
        for _ in 1...4 { root.deleteLastPathComponent() }
        let text = try String(
            contentsOf: root.appending(path: "Sources/mailboat/Mailboat.docc/OutcomeExamples.md"), encoding: .utf8)
        var examples: [String: String] = [:]
        for match in text.matches(of: /<!-- example: ([a-z-]+) -->\n```(json|text)\n([^`]*)\n```/) {
            let lines = match.3.split(separator: "\n")
            examples[String(match.1)] =
                match.2 == "text"
                ? lines.joined(separator: "\n")
                : lines.map { $0.trimmingCharacters(in: .whitespaces) }.joined()
        }
        return examples
    }

    private static func withoutRandomness(_ record: String) -> String {
        record.replacing(/"apns-id":"[0-9a-f-]{36}"/, with: #""apns-id":"…""#)
    }

    /// The value of the newest outcome record with this name, as text.
    private static func outcome(
        _ name: String, _ h: EngineHarness, where isMeant: (OutcomeRecord) -> Bool = { _ in true }
    ) throws -> String {
        let record = h.written.last {
            guard $0.topic == .outcomes else { return false }
            let said = OutcomeRecord($0)
            return said.outcome == name && isMeant(said)
        }
        return try #require(record).valueText
    }
    private static func letter(_ h: EngineHarness) throws -> String {
        let letter = try #require(h.written.last { $0.topic == .deadLetters })
        let headers = letter.headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        return (["key: \(letter.keyText)", "value: \(letter.valueText)"] + headers).joined(separator: "\n")
    }

    // MARK: Events

    private static let order = "order-7"
    /// An activity with a token.
    private static func alive() -> EngineHarness {
        let h = EngineHarness()
        h.register(of: Self.order)
        return h
    }

    /// An activity that gets a second token after APNs has accepted a push for the first.
    private static func replaced() -> EngineHarness {
        let h = alive()
        h.update(1, of: Self.order, priority: 10)
        h.deliver()
        h.advance(2_000)
        h.register(token: "bb02", of: Self.order)
        return h
    }

    static let ofEvents = [
        Example(name: "applied") { try outcome("applied", alive()) },
        Example(name: "delivered") {
            let h = alive()
            h.update(1, of: order)
            h.advance(300)
            h.update(2, of: order, priority: 10, more: #""id":"oven-7""#)
            h.advance(40)
            h.deliver()
            return try outcome("delivered", h)
        },
        Example(name: "applied-to-living") { try outcome("applied", replaced()) },
        Example(name: "delivered-to-former") {
            let h = replaced()
            h.update(2, of: order, priority: 10)
            h.answer(
                try #require(h.take()),
                .response(PushResponse(status: 410, reason: "ExpiredToken", timestampMillis: h.now.wallMillis)))
            h.advance(1_000)
            h.deliver()
            return try outcome("delivered", h)
        },
        Example(name: "fanned-out") {
            let h = audience()
            return try outcome("fanned-out", h)
        },
        Example(name: "superseded") {
            let h = alive()
            h.update(1, of: order, priority: 5, alert: "In the oven")
            h.update(2, of: order)
            return try outcome("superseded", h)
        },
        Example(name: "late") {
            let h = alive()
            h.end(1, of: order)
            h.deliver()
            h.update(2, of: order)
            return try outcome("late", h)
        },
        Example(name: "duplicate") {
            let h = EngineHarness()
            h.start(1, of: order)
            h.deliver()
            h.start(1, of: order)
            return try outcome("duplicate", h)
        },
        Example(name: "expired") {
            let h = EngineHarness()
            h.update(1, of: order, more: #""expires":1700000060"#)
            h.advance(61_000)
            return try outcome("expired", h)
        },
        Example(name: "rejected") {
            let h = EngineHarness()
            h.start(1, of: order)
            h.answer(try #require(h.take()), .response(PushResponse(status: 410, reason: "ExpiredToken")))
            return try outcome("rejected", h)
        },
        Example(name: "rejected-later") {
            let h = alive()
            h.update(1, of: order, priority: 10)
            h.answer(
                try #require(h.take()),
                .response(PushResponse(status: 410, reason: "ExpiredToken", timestampMillis: h.now.wallMillis)))
            h.advance(301_000)
            return try outcome("rejected", h)
        },
        Example(name: "unregistered") {
            let h = EngineHarness()
            h.update(1, of: order)
            h.advance(301_000)
            return try outcome("unregistered", h)
        },
        Example(name: "unknown") {
            let h = EngineHarness()
            h.start(1, of: order)
            h.answer(try #require(h.take()), .unknown(detail: "the connection was closed by the peer"))
            return try outcome("unknown", h)
        },
        Example(name: "dead-lettered") {
            let h = EngineHarness()
            h.consume(key: order, value: #"{"event": "update", "id": "oven-7", "contentState": {"minutes": 12}}"#)
            return try outcome("dead-lettered", h)
        },
        Example(name: "dead-lettered-by-apns") {
            try outcome("dead-lettered", refused())
        },
    ]

    // MARK: Dead letters

    private static func refused() throws -> EngineHarness {
        let h = alive()
        h.update(1, of: order, priority: 10, more: #""id":"oven-7""#)
        h.answer(try #require(h.take()), .response(PushResponse(status: 413, reason: "PayloadTooLarge")))
        return h
    }

    static let ofLetters = [
        Example(name: "letter") {
            let h = EngineHarness()
            h.consume(key: order, value: #"{"event": "update", "id": "oven-7", "contentState": {"minutes": 12}}"#)
            return try letter(h)
        },
        Example(name: "letter-by-apns") { try letter(refused()) },
    ]

    // MARK: Audiences and channels

    /// Publishes a goal for three phones. One of them has a dead token.
    private static func audience() -> EngineHarness {
        let h = AudienceTests.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1, alert: "goal", more: #""id":"goal-1""#)
        var isFirst = true
        while let push = h.take() {
            let dead = PushResponse(status: 410, reason: "ExpiredToken", timestampMillis: h.now.wallMillis)
            h.answer(push, isFirst ? .response(dead) : .accepted)
            isFirst = false
        }
        h.advance(1_100)
        h.carryBus()
        h.advance(1_100)
        return h
    }
    private static func starts() -> EngineHarness {
        let h = EngineHarness.starts()
        for member in 1...3 { h.joinStart(member) }
        h.audienceStart(1, more: #""id":"kick-off-7""#)
        _ = h.deliverAll(withinMillis: 3_000)
        h.carryBus()
        h.advance(3_000)
        return h
    }
    private static func channel() -> (h: EngineHarness, apple: SimpleApple) {
        let (h, apple) = AudienceChannelTests.harness { $0.channelLingerMillis = 3_600_000 }
        h.join(2, channel: AudienceChannelTests.channel)
        h.deliverAll()
        h.advance(3_000)
        return (h, apple)
    }

    static let ofMany = [
        Example(name: "member-rejected") {
            try outcome("rejected", audience()) { $0.fields["token-hash"] != nil }
        },
        Example(name: "pass") { try outcome("pass", audience()) },
        Example(name: "audience") { try outcome("audience", audience()) },
        Example(name: "start-pass") { try outcome("start-pass", starts()) },
        Example(name: "audience-with-start") { try outcome("audience", starts()) },
        Example(name: "channel-opened") { try outcome("channel-opened", channel().h) },
        Example(name: "audience-with-broadcast") {
            let h = channel().h
            h.audienceUpdate(2)
            h.deliverAll()
            h.deliver(route: 2)
            h.carryBus()
            h.advance(1_100)
            h.carryBus()
            h.advance(1_100)
            return try outcome("audience", h) { $0.fields["broadcasts"] != nil }
        },
        Example(name: "channel-closed") {
            var (h, apple) = channel()
            h.audienceEnd(2)
            h.deliverAll()
            for _ in 0..<120 {
                h.carryBus()
                while h.take(route: 2).map({ h.answer($0, .accepted) }) != nil {}
                apple.serve(h)
                h.advance(60_000)
            }
            return try outcome("channel-closed", h)
        },
        Example(name: "channel-refused") {
            let h = KeeperHostTests.harness()
            h.consume(key: "match", value: #"{"event":"open","to":{"audience":"match"}}"#)
            h.carryBus()
            let list = try #require(h.take(route: 3))
            h.answer(list, .response(PushResponse(status: 400, reason: "FeatureNotEnabled")))
            return try outcome("channel-refused", h)
        },
    ]
}
