import CommandSupport
import Logging
import PushWorker
import Synchronization

/// Writes log lines to standard error, one line each, safe for a terminal, without whole device tokens. A process
/// writes all lines in one format.
struct LogLines: TextOutputStream, Sendable {
    private static let format = Mutex(LogFormat.text)

    /// Sets the format of loggers that are created from now on.
    static func write(as format: LogFormat) { Self.format.withLock { $0 = format } }

    static func handler(label: String) -> any LogHandler {
        switch Self.format.withLock({ $0 }) {
        case .text: StreamLogHandler(label: label, stream: Self())
        case .json: JSONLogHandler(label: label)
        }
    }

    /// Writes a message from before a worker exists, or from after its end: as a plain line, or as a JSON log line if
    /// that is the format.
    static func say(_ line: String, level: Logger.Level) {
        switch Self.format.withLock({ $0 }) {
        case .text: StandardError.print(line)
        case .json: Logger(label: "mailboat", factory: { Self.handler(label: $0) }).log(level: level, "\(line)")
        }
    }

    /// Writes a whole line with its end, as `StreamLogHandler` passes it.
    mutating func write(_ line: String) {
        StandardError.show(TerminalText.withoutTokens(line.hasSuffix("\n") ? String(line.dropLast()) : line) + "\n")
    }
}
