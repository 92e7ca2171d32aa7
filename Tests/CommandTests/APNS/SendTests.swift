import APNSProtocol
import ArgumentParser
import Foundation
import PushTransport
import PushWorker
import TLSSession
import Testing

@testable import mailboat

struct SendTests {
    /// The explained reasons are exactly the reasons in the table of verdicts.
    @Test func everyReasonHasWords() {
        #expect(Set(APNSReasonWords.meanings.keys) == ReasonTable.knownReasons)
        #expect(APNSReasonWords.meaning(status: 403, reason: "NewReason").contains("credentials"))
    }

    private static func result(_ change: (inout APNSProbe.Report) -> Void) -> SendResult {
        var report = APNSProbe.Report()
        change(&report)
        return SendResult(
            apnsID: "id", app: "a.b", topic: "a.b.push-type.liveactivity", host: "h:443", priority: 10, report)
    }

    @Test func anAcceptedPushSaysSo() {
        let result = Self.result { $0.answer = .init(status: 200, body: [], keptField: "u-1", micros: 12_000) }
        #expect(result.isAccepted)
        #expect(
            result.lines == [
                "200  apns-id id  apns-unique-id u-1  a.b.push-type.liveactivity, priority 10, h:443, 12 ms",
                "APNs took it; what the phone does with it is not reported.",
            ])
    }

    @Test func aRefusedOneSaysWhyAndWhatToDo() {
        let body = Array("{\"reason\":\"Unregistered\",\"timestamp\":1700000000000}".utf8)
        let result = Self.result { $0.answer = .init(status: 410, body: body) }
        #expect(!result.isAccepted)
        #expect(result.lines[0].hasPrefix("410 Unregistered, since 2023-11-14T22:13:20Z  apns-id id"))
        #expect(result.lines[1].hasPrefix("The token is dead: "))
        #expect(result.json.contains("\"status\":410") && result.json.contains("\"reason\":\"Unregistered\""))
    }

    /// Without an answer, the text says whether the push had left. A push that had left may have arrived.
    @Test(arguments: [(true, "it may be on the phone"), (false, "nothing was sent")])
    func withoutAnAnswerItSaysWhetherItLeft(left: Bool, words: String) {
        let result = Self.result { ($0.failure, $0.requestLeft) = ("closed", left) }
        #expect(!result.isAccepted && result.status == nil)
        #expect(result.lines[1].contains("No answer: closed; \(words)"), "\(result.lines)")
    }

    @Test(arguments: [
        (["--token", "xyz", "--payload", "-"], "--token has 3 characters: expected hexadecimal digits"),
        (["--token", "aa", "--payload", "-", "--priority", "7"], "10, 5 or 1"),
        (["--token", "aa", "--payload", "-", "--topic", "a b"], "without spaces"),
        (["--token", "aa", "--payload", "-", "--timeout", "0"], "1 to 600"),
    ])
    func aWrongCommandLineSaysWhatWasExpected(arguments: [String], expected: String) {
        #expect {
            _ = try Send.parse(["--config", "m.yaml"] + arguments)
        } throws: { Send.message(for: $0).contains(expected) }
    }

    // MARK: Payloads

    private static let now: Int64 = 1_700_000_000

    @Test(arguments: [
        ("{\"aps\":{\"timestamp\":1700000000,\"event\":\"update\",\"content-state\":{}}}", []),
        ("no JSON", ["is no JSON object"]), ("{}", ["“aps”"]),
        ("{\"aps\":{\"timestamp\":1700000000,\"event\":\"update\"}}", ["“content-state”"]),
        ("{\"aps\":{\"timestamp\":1700000000,\"event\":\"end\"}}", []),
        ("{\"aps\":{\"timestamp\":1700000000,\"content-state\":{}}}", ["“event”"]),
        ("{\"aps\":{\"event\":\"end\"}}", ["“timestamp”"]),
        ("{\"aps\":{\"timestamp\":1700000000000,\"event\":\"end\"}}", ["ahead"]),
        ("{\"aps\":{\"timestamp\":721692800,\"event\":\"end\"}}", ["back"]),
        (
            "{\"aps\":{\"timestamp\":1700000000,\"event\":\"start\",\"content-state\":{}}}",
            ["“attributes-type”", "“attributes”", "“alert”"]
        ),
    ])
    func whatIsStrangeAboutAPayloadIsSaid(text: String, words: [String]) {
        let remarks = PayloadRemarks.find(in: Array(text.utf8), pushType: "liveactivity", nowSeconds: Self.now)
        #expect(remarks.count == words.count, "\(remarks)")
        for (remark, word) in zip(remarks, words) { #expect(remark.contains(word)) }
    }

    @Test func aLongPayloadIsNamed() {
        let text =
            "{\"aps\":{\"timestamp\":1700000000,\"event\":\"end\",\"x\":\"\(String(repeating: "y", count: 4_096))\"}}"
        let remarks = PayloadRemarks.find(in: Array(text.utf8), pushType: "liveactivity", nowSeconds: Self.now)
        #expect(remarks.count == 1 && remarks[0].contains("4096"))
    }

    // MARK: Tokens

    @Test func aTokenComesWithACurlCommandThatDoesNotShowIt() throws {
        let route = PlannedRoute(
            name: "r", host: "localhost", port: 2_197, trustRoots: .file(path: "apns/ca.pem"),
            key: ProviderKey(keyID: "K", teamID: "T", path: "k.p8"), uses: [])
        let token = SignedToken(keyID: "K", issuedAtSeconds: Self.now, authorization: Array("bearer abc.def.ghi".utf8))
        #expect(token.text == "abc.def.ghi")
        let lines = TokenCommand.explanation(token, bundleID: "a.b", route: route, nowMillis: (Self.now + 60) * 1_000)
        let text = lines.joined(separator: "\n")
        #expect(!text.contains("abc"))
        #expect(lines[0].contains("key K of team T; good until 2023-11-14T23:13:20Z (in 59 min)"))
        for word in [
            "--cacert apns/ca.pem", "https://localhost:2197/3/device/$DEVICE", "apns-topic: a.b.push-type.liveactivity",
            "authorization: bearer $TOKEN",
        ] { #expect(text.contains(word)) }
    }
}
