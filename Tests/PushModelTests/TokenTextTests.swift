import Testing

@testable import PushModel

struct TokenTextTests {
    private static func digits(_ count: Int) -> String {
        String(repeating: "0123456789abcdef", count: 12).prefix(count).description
    }

    @Test(arguments: [
        "", "order-7", "com.example.pizza", "123e4567-e89b-42d3-a456-426614174000", digits(32), "x" + digits(32) + "y",
        "café",
    ])
    func othersStayAsTheyAre(text: String) { #expect(TokenText.shortened(text) == text) }

    @Test func longRunsOfDigitsAreCut() {
        #expect(TokenText.shortened(Self.digits(33)) == "01234567…(33 digits)")
        #expect(TokenText.shortened("key “\(Self.digits(64).uppercased())”") == "key “01234567…(64 digits)”")
        #expect(
            TokenText.shortened("\(Self.digits(160)),\(Self.digits(64))é")
                == "01234567…(160 digits),01234567…(64 digits)é")
    }

    /// No rejection shows a token that a producer has put into one of these fields by mistake.
    @Test(arguments: ["id", "priority", "app", "event", "environment", "timestamp", "alert"])
    func aTokenInTheWrongFieldIsNotShown(field: String) {
        let token = Self.digits(64)
        for value in ["\"\(token)\"", "{\"\(token)\":1}", "[\"\(token)\"]"] {
            let text = Array("{\"event\":\"update\",\"content-state\":{},\"\(field)\":\(value)}".utf8)
            var event = DecodedEvent()
            do { try EventDecoder.decode(text.span, into: &event) } catch {
                let rejection = error
                #expect(!"\(rejection.field) \(rejection.reason)".contains(token.prefix(9)))
            }
        }
    }

    @Test func aTokenAsTheNameOfAFieldIsNotShown() {
        let text = Array("{\"event\":\"end\",\"\(Self.digits(64))\":1}".utf8)
        var event = DecodedEvent()
        #expect {
            try EventDecoder.decode(text.span, into: &event)
        } throws: { error in
            (error as? EventRejection)?.field == "01234567…(64 digits)"
        }
    }

    @Test(arguments: [
        ("a\u{9B}b", "a b"), ("a\u{202E}b", "a b"), ("a\u{7F}b", "a b"), ("aéb🍕", "aéb🍕"), ("a\nb", "a b"),
        (String(repeating: "é", count: 21), String(repeating: "é", count: 20) + "…"),
    ])
    func aQuotationIsPrintable(text: String, quoted: String) {
        #expect(RejectionText.quoted(Array(text.utf8).span) == quoted)
    }

    @Test func aQuotationOfBrokenUTF8IsRepaired() {
        #expect(RejectionText.quoted([0x61, 0xC2, 0x9B, 0xFF].span) == "a \u{FFFD}")
    }
}
