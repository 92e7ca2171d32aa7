import Testing

@testable import PushWorker

struct RoutedOriginTests {
    @Test(arguments: [("0", 0), ("42", 42), ("0007", 7), ("9223372036854775807", .max)] as [(String, Int64)])
    func numbersAreDigits(text: String, number: Int64) {
        let bytes = Array(text.utf8)
        #expect(RoutedOrigin.number(bytes.span) == number)
    }

    @Test(arguments: ["", "-1", "+1", "1a", " 1", "9223372036854775808", "99999999999999999999"])
    func anythingElseIsNone(text: String) {
        let bytes = Array(text.utf8)
        #expect(RoutedOrigin.number(bytes.span) == nil)
    }
}
