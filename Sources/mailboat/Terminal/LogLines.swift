import CommandSupport
import Logging

/// Where log lines go: standard error, one line each, fit for a terminal, without whole device tokens.
struct LogLines: TextOutputStream, Sendable {
    static func handler(label: String) -> StreamLogHandler { StreamLogHandler(label: label, stream: Self()) }

    /// A whole line with its end, as `StreamLogHandler` writes it.
    mutating func write(_ line: String) {
        StandardError.show(TerminalText.withoutTokens(line.hasSuffix("\n") ? String(line.dropLast()) : line) + "\n")
    }
}
