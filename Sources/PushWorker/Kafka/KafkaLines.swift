import KafkaLog
import Logging
import PushModel
import PushTransport
import Synchronization

/// What librdkafka and the clients report goes into the worker's log, without flooding it: with its brokers gone,
/// librdkafka repeats itself dozens of times a second. Of each kind the first line goes through at once, then one in ten
/// seconds, with the number of those it stands for. Any thread.
final class KafkaLines: Sendable {
    private struct Kind: Hashable {
        var level: Logger.Level
        /// librdkafka's facility, or who reports an error and which.
        var name: String
    }

    private struct Line {
        var message: String
        var metadata: Logger.Metadata
    }

    static let intervalMillis: Int64 = 10_000
    private static let kindCountMax = 64

    private let logger: Logger
    private let limit = Mutex(
        RepeatLimit<Kind, Line>(intervalMillis: KafkaLines.intervalMillis, kindCountMax: KafkaLines.kindCountMax))

    init(_ logger: Logger) { self.logger = logger }

    /// Takes librdkafka's own lines. Its severities are syslog's.
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

    /// An error that a client goes on after.
    func warn(_ source: String, _ error: KafkaError) {
        self.log(
            source, level: .warning, kind: "\(source) \(error.code.rawValue)", metadata: ["cause": "\(error)"])
    }

    private func log(_ message: String, level: Logger.Level, kind: String, metadata: Logger.Metadata) {
        guard level >= self.logger.logLevel else { return }
        let kind = Kind(level: level, name: kind)
        let line = Line(message: message, metadata: metadata)
        let now = MachineClock.now().steadyMillis
        guard let keptBackCount = self.limit.withLock({ $0.admit(line, of: kind, nowMillis: now) }) else { return }
        self.write(line, of: kind, count: keptBackCount + 1)
    }

    /// Says what was kept back long enough. To be called every few seconds, so that the last of a rush is told too.
    func tell() {
        let now = MachineClock.now().steadyMillis
        for due in self.limit.withLock({ $0.takeDue(nowMillis: now) }) {
            self.write(due.line, of: due.kind, count: due.count)
        }
    }

    /// - Parameter count: how many lines this one stands for, since the one before it.
    private func write(_ line: Line, of kind: Kind, count: Int) {
        var metadata = line.metadata
        if count > 1 { metadata["count"] = "\(count)" }
        self.logger.log(level: kind.level, "\(line.message)", metadata: metadata)
    }
}
