import PushInspection
import Testing

@testable import DevPage

struct DevAnswerTests {
    private static let token = String(repeating: "0a", count: 32)

    /// No answer contains a whole token. A publisher may use a token as a key, as a name in its content, or as an
    /// activity.
    @Test func nothingThatIsAnsweredHoldsAWholeToken() {
        let answer: JSONTree = [
            "activity": .string(Self.token), "contentState": .object([.init(Self.token, .number("1"))]),
            "changes": [.string("a.\(Self.token)")],
            // This text is a token that was already shortened. It stays as it is.
            "token": "0a0a0a0a…",
        ]
        #expect(
            String(decoding: DevAnswer.bytes(of: answer), as: UTF8.self)
                == #"{"activity":"0a0a0a0a…(64 digits)","contentState":{"0a0a0a0a…(64 digits)":1},"#
                + #""changes":["a.0a0a0a0a…(64 digits)"],"token":"0a0a0a0a…"}"#)
    }

    @Test func whatHoldsNoneIsAnsweredAsItIs() {
        let answer: JSONTree = [
            "apns-id": "A8C56A14-0C5F-4A32-9B8C-2F6E3B1D0C7E", "n": .number("1.5"), "key": "order-7",
        ]
        #expect(DevAnswer.bytes(of: answer) == answer.bytes)
    }
}
