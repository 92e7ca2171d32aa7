import Logging
import Synchronization

/// Keeps the lines that are logged: level, text and metadata.
final class CaughtLines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { self.lines.withLock { $0 } }

    func logger() -> Logger {
        var logger = Logger(label: "caught") { _ in Handler(lines: self) }
        logger.logLevel = .info
        return logger
    }

    private struct Handler: LogHandler {
        let lines: CaughtLines
        var logLevel = Logger.Level.info
        var metadata: Logger.Metadata = [:]
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = self.metadata.merging(event.metadata ?? [:]) { _, new in new }
            let text = all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
            self.lines.lines.withLock { $0.append("\(event.level) \(event.message) \(text)") }
        }
    }
}
