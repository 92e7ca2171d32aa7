import KafkaLog
import Logging
import ShardLoop
import Synchronization

/// Asks the cluster for the size limits of topics: at the start, and again after a record was refused for its size.
final class LimitReader: Sendable {
    /// Interval at which the reader looks whether a new reading was requested, in milliseconds. A record refused
    /// for its size is tried again, and each refusal requests a reading. So a limit that was raised is noticed.
    static let intervalMillis: Int64 = 5_000

    private struct State {
        var limits: TopicLimits
        var isAsked = false
        var listeners: [@Sendable (RecordLimits) -> Void] = []
    }

    private let configuration: WorkerConfiguration
    private let log: KafkaLogHandler?
    private let logger: Logger
    private let state: Mutex<State>

    init(_ configuration: WorkerConfiguration, _ limits: TopicLimits, log: KafkaLogHandler?, logger: Logger) {
        self.configuration = configuration
        self.log = log
        self.logger = logger
        self.state = Mutex(State(limits: limits))
    }

    /// Reads the limits for the first time, before the producers are made. Limits that cannot be read count as unknown.
    static func begin(
        _ configuration: WorkerConfiguration, log: KafkaLogHandler?, logger: Logger
    ) async -> LimitReader {
        let limits = await NamedThread.run("kafka-limits") { Self.read(configuration, log: log) }
        return LimitReader(configuration, limits ?? TopicLimits(), log: log, logger: logger)
    }

    private static func read(_ configuration: WorkerConfiguration, log: KafkaLogHandler?) -> TopicLimits? {
        guard let admin = try? KafkaAdmin(configuration.kafka.producerSettings, log: log) else { return nil }
        let topics = configuration.topics
        let names = [topics.state, topics.outcomes, topics.deadLetters, topics.routed]
        return (try? admin.topicConfigurations(names, within: .seconds(5))).map { TopicLimits($0, topics: topics) }
    }

    /// The properties that producers are made with. An operator's own properties override them.
    var producerSettings: KafkaSettings {
        self.state.withLock { $0.limits.producerSettings }.appending(self.configuration.kafka.producerSettings)
    }

    private func limits(_ limits: TopicLimits) -> RecordLimits {
        limits.recordLimits(isCompressed: self.configuration.kafka.producerSettings.mayCompress)
    }

    /// Calls `listener` at once, and whenever the limits change.
    func listen(_ listener: @escaping @Sendable (RecordLimits) -> Void) {
        let limits = self.state.withLock { state in
            state.listeners.append(listener)
            return state.limits
        }
        listener(self.limits(limits))
    }

    /// Requests a new reading, because a record was refused for its size. May be called from any thread.
    func ask() { self.state.withLock { $0.isAsked = true } }

    /// Answers requests until the task is cancelled. Then it forgets the listeners, because each refers to its shard,
    /// and the shard to this reader.
    func run() async {
        defer { self.state.withLock { $0.listeners = [] } }
        while (try? await Task.sleep(for: .milliseconds(Self.intervalMillis))) != nil {
            let isAsked = self.state.withLock { state in
                defer { state.isAsked = false }
                return state.isAsked
            }
            guard isAsked else { continue }
            let (configuration, log) = (self.configuration, self.log)
            let found = await NamedThread.run("kafka-limits") { Self.read(configuration, log: log) }
            guard let found, !Task.isCancelled else { continue }
            let (listeners, isNew) = self.state.withLock { state in
                defer { state.limits = found }
                return (state.listeners, state.limits != found)
            }
            guard isNew else { continue }
            self.logger.warning(
                "topics accept other sizes than before; batches keep their size until the worker is restarted",
                metadata: ["max-message-bytes": "\(found.text)"])
            for listener in listeners { listener(self.limits(found)) }
        }
    }
}
