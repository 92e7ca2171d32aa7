import PushModel
import Testing

/// Tests of reading a member's token from the key of its record.
@Suite struct MemberTokenTests {
    /// The token that was appended to the bytes 1 and 2, without these bytes. Or the rejection, with nothing appended.
    private static func read(_ key: [UInt8]) -> Result<[UInt8], EventRejection> {
        var token: [UInt8] = [1, 2]
        do throws(EventRejection) {
            try EventRules.memberToken(key: key.span, into: &token)
        } catch {
            #expect(token == [1, 2], "a refused key leaves nothing")
            return .failure(error)
        }
        #expect(token.starts(with: [1, 2]))
        return .success(Array(token.dropFirst(2)))
    }

    @Test(arguments: [1, 2, 3, 7, 8, 9, 32, 80, 127, 128])
    func aTokenOfAnyLengthIsTaken(byteCount: Int) {
        let token = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 0x8A) }
        var key: [UInt8] = []
        Hex.append(token.span, to: &key)
        #expect(Self.read(key) == .success(token))
    }

    @Test(arguments: [
        ("", "is empty: expected the member's token in hexadecimal digits"),
        (
            "order-7",
            "is not hexadecimal at character 1 of 7: expected the member's token, in the digits 0-9 and a-f only"
        ),
        (
            "00ffé0",
            "is not hexadecimal at character 5 of 6: expected the member's token, in the digits 0-9 and a-f only"
        ),
        (
            "3q2+7w==",
            "is not hexadecimal at character 2 of 8: expected the member's token, in the digits 0-9 and a-f only"
        ),
        ("00fF", "has an upper-case letter at character 4 of 4: expected the member's token in lower case"),
        ("A", "has an upper-case letter at character 1 of 1: expected the member's token in lower case"),
        ("00ffa", "has 5 hexadecimal digits: expected an even number; the token may have been cut off"),
        (
            String(repeating: "ab", count: 128) + "a",
            "has 257 hexadecimal digits: expected an even number; the token may have been cut off"
        ),
        (String(repeating: "ab", count: 129), "has 258 hexadecimal digits: at most 256 are allowed"),
    ])
    func whatIsNoTokenSaysWhy(key: String, reason: String) {
        #expect(Self.read(Array(key.utf8)) == .failure(EventRejection(field: "key", reason: reason)))
    }

    /// The rejection of a token with one wrong character names its position. It shows nothing of the other characters.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func oneWrongCharacter(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let token = (0..<Int.random(in: 1...128, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        var key: [UInt8] = []
        Hex.append(token.span, to: &key)
        for index in key.indices {
            var wrong = key
            wrong[index] = UInt8.random(in: 0...255, using: &random)
            let isDigit = Array("0123456789abcdef".utf8).contains(wrong[index])
            switch Self.read(wrong) {
            case .success(let read):
                #expect(isDigit)
                var again: [UInt8] = []
                Hex.append(read.span, to: &again)
                #expect(again == wrong, "one token has one key")
            case .failure(let rejection):
                #expect(!isDigit)
                #expect(rejection.field == "key")
                // A continuation byte of UTF-8 does not count as a character.
                let characterCount = wrong.count { $0 & 0xC0 != 0x80 }
                #expect(
                    rejection.reason.contains(
                        "at character \(index + 1) of \(characterCount): expected the member's token"))
            }
        }
    }
}
