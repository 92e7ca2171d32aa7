import CommandSupport
import Logging
import PushWorker
import Synchronization

/// Where log lines go: standard error, one line each, fit for a terminal, without whole device tokens. A process writes all of them in one format.
struct LogLines: TextOutputStream, Sendable {
    private static let format = Mutex(LogFormat.text)

    /// Loggers that are made from here on write so.
    static func write(as format: LogFormat) { Self.format.withLock { $0 = format } }

    static func handler(label: String) -> any LogHandler {
        switch Self.format.withLock({ $0 }) {
        case .text: StreamLogHandler(label: label, stream: Self())
        case .json: JSONLogHandler(label: label)
        }
    }

    /// Says something before there is a worker, or after it: as a plain line, or as a line of the log where a program reads that.
    static func say(_ line: String, level: Logger.Level) {
        switch Self.format.withLock({ $0 }) {
        case .text: StandardError.print(line)
        case .json: Logger(label: "mailboat", factory: { Self.handler(label: $0) }).log(level: level, "\(line)")
        }
    }

    /// A whole line with its end, as `StreamLogHandler` writes it.
    mutating func write(_ line: String) {
        StandardError.show(TerminalText.withoutTokens(line.hasSuffix("\n") ? String(line.dropLast()) : line) + "\n")
    }
}
