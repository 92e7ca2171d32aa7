import KafkaLog
import Logging

/// librdkafka's own lines in the worker's log. Its severities are syslog's.
enum KafkaLogBridge {
    static func handler(_ logger: Logger) -> KafkaLogHandler {
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
            logger.log(level: level, "librdkafka", metadata: ["facility": "\(line.facility)", "text": "\(line.text)"])
        }
    }
}
