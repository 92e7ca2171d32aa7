import KafkaLog
import Logging
import PushModel
import PushTransport
import Synchronization

/// Writes the lines of librdkafka and the clients into the worker's log. While brokers are gone, librdkafka repeats a
/// line dozens of times a second. So the first line of each kind is written at once, and then one every ten seconds,
/// with the number of lines it represents. May be used from any thread.
final class KafkaLines: Sendable {
    private struct Kind: Hashable {
        var level: Logger.Level
        /// The kind's name: librdkafka's facility, or the reporter of an error and its code.
        var name: String
    }

    private struct Line {
        var message: String
        var metadata: Logger.Metadata
    }

    static let intervalMillis: Int64 = 10_000
    private static let kindCountMax = 64

    private let logger: Logger
    private let kafka: WorkerConfiguration.Kafka
    private let limit = Mutex(
        RepeatLimit<Kind, Line>(intervalMillis: KafkaLines.intervalMillis, kindCountMax: KafkaLines.kindCountMax))

    /// - Parameter kafka: names the brokers.
    init(_ logger: Logger, _ kafka: WorkerConfiguration.Kafka) {
        self.logger = logger
        self.kafka = kafka
    }

    /// Receives librdkafka's own lines. Their severities are syslog's.
    var handler: KafkaLogHandler {
        { line in
            let level: Logger.Level =
                switch line.severity {
                case _ where line.isChatter: .debug
                case ...2: .critical
                case 3: .error
                case 4: .warning
                case 5, 6: .info
                default: .debug
                }
            self.log(
                "librdkafka", level: level, kind: line.facility,
                metadata: ["facility": "\(line.facility)", "text": "\(line.text)"])
        }
    }

    /// Logs an error after which a client continues.
    func warn(_ source: String, _ error: KafkaError) {
        self.log(
            source, level: .warning, kind: "\(source) \(error.code.rawValue)",
            metadata: self.kafka.metadata(of: error))
    }

    private func log(_ message: String, level: Logger.Level, kind: String, metadata: Logger.Metadata) {
        guard level >= self.logger.logLevel else { return }
        let kind = Kind(level: level, name: kind)
        let line = Line(message: message, metadata: metadata)
        let now = MachineClock.now().steadyMillis
        guard let keptBackCount = self.limit.withLock({ $0.admit(line, of: kind, nowMillis: now) }) else { return }
        self.write(line, of: kind, count: keptBackCount + 1)
    }

    /// Writes the lines that were held back long enough. Called every few seconds, so that the last line of a burst is
    /// written, too.
    func writeHeldBack() {
        let now = MachineClock.now().steadyMillis
        for due in self.limit.withLock({ $0.takeDue(nowMillis: now) }) {
            self.write(due.line, of: due.kind, count: due.count)
        }
    }

    /// - Parameter count: number of lines that this line represents: itself, and those held back since the previous
    ///   line.
    private func write(_ line: Line, of kind: Kind, count: Int) {
        var metadata = line.metadata
        if count > 1 { metadata["count"] = "\(count)" }
        self.logger.log(level: kind.level, "\(line.message)", metadata: metadata)
    }
}
