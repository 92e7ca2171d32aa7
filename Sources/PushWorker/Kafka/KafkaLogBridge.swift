import KafkaLog
import Logging

/// librdkafka's own lines in the worker's log. Its severities are syslog's.
enum KafkaLogBridge {
    static func handler(_ logger: Logger) -> KafkaLogHandler {
        { line in
            // Said of every client about settings meant for another kind of client, and of brokers that create topics
            // by themselves.
            let isChatter = line.facility == "CONFWARN" || line.facility == "AUTOCREATE"
            let level: Logger.Level =
                switch line.severity {
                case _ where isChatter: .debug
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
