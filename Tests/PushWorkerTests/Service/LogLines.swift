import Logging
import Synchronization

/// Keeps the lines that a logger gets. Any thread may use it.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    /// Message and metadata of each line, with sorted keys.
    var all: [String] { self.lines.withLock { $0 } }

    var handler: any LogHandler { Handler(lines: self) }

    private struct Handler: LogHandler {
        let lines: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = self.metadata.merging(event.metadata ?? [:]) { _, new in new }
            let list = all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
            self.lines.lines.withLock { $0.append("\(event.message) \(list)") }
        }
    }
}
