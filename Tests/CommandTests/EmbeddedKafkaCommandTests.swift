import ArgumentParser
import CommandSupport
import KafkaLog
import Testing

@testable import mailboat

@Suite(.timeLimit(.minutes(5)))
struct EmbeddedKafkaCommandTests {
    @Test(arguments: [
        (["--topic", "events"], "name:partitions"), (["--topic", "events:0"], "1 to 10000 partitions"),
        (["--topic", "a b:1"], "letters, digits"), (["--topic", "a:1", "--topic", "a:2"], "given twice"),
        (["--port", "70000"], "0 to 65535"), (["--brokers", "0"], "1 to 16"), (["--partitions", "0"], "1 to 10000"),
    ])
    func aWrongCommandLineSaysWhatWasExpected(arguments: [String], expected: String) {
        #expect {
            _ = try EmbeddedKafkaCommand.parse(arguments)
        } throws: {
            EmbeddedKafkaCommand.message(for: $0).contains(expected)
        }
    }

    @Test func errorsHaveNamesAndNumbers() {
        #expect(KafkaError.Code(text: "7")?.rawValue == 7)
        #expect(KafkaError.Code(text: "request_timed_out")?.rawValue == 7)
        #expect(KafkaError.Code(text: "_TRANSPORT") == .transport)
        #expect(KafkaError.Code(text: "NO_SUCH_ERROR") == nil)
    }
}
