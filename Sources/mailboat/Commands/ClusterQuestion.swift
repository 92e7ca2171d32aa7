import CommandSupport
import KafkaLog

/// Questions to a cluster that may not be there.
extension ClusterOptions {
    /// Asks the cluster. While there is no answer, says on standard error what is asked. Gives up before `limit` if the
    /// brokers are on this machine and nothing listens there. Blocks.
    /// - Parameter what: what is asked, in words that follow "asking localhost:9092".
    /// - Throws: a `CommandFailure` that says what to do.
    func ask<Answer>(
        _ what: String, within limit: Duration, _ question: () throws(KafkaError) -> Answer
    ) throws -> Answer {
        let brokers = try self.brokers()
        let status = StatusLine()
        defer { status.end() }
        status.show("asking \(brokers) \(what), for \(limit.components.seconds) s at most")
        let patience = min(limit, LoopbackBrokers.patience)
        if LoopbackBrokers(brokers)?.keepRefusing(within: patience) == true {
            throw CommandFailure(
                "\(brokers) cannot be asked \(what): nothing listens there, connections were refused for \(patience.components.seconds) s",
                advice: self.localAdvice)
        }
        do throws(KafkaError) { return try question() } catch {
            throw CommandFailure(
                "\(brokers) cannot be asked \(what): \(error)", advice: self.advice(on: error, brokers))
        }
    }

    private var localAdvice: String {
        "Is a Kafka running here? 'mailboat dev' has one, and 'mailboat embedded-kafka' is one; \(self.brokersName) names another"
    }

    /// What to try if no broker answers. Empty if the error has a remedy of its own, or another cause.
    func advice(on error: KafkaError, _ brokers: String) -> String {
        guard error.remedy == nil, [.transport, .timedOut, .allBrokersDown].contains(error.code) else { return "" }
        if error.text.contains("Failed to resolve") {
            return "This machine does not find the name: is it spelt right, and is it known outside of its own network?"
        }
        guard self.settingsFile == nil else {
            return Advice.naming(
                settings: self.settingsFile,
                in: "'mailboat doctor --config FILE' tries each step; \(self.brokersName) names other brokers")
        }
        let isHere = ["localhost:", "127.0.0.1:"].contains(where: brokers.hasPrefix)
        return isHere
            ? self.localAdvice
            : "Is it the right address (\(self.brokersName)), and do the listeners want TLS or a login (--properties)?"
    }
}
