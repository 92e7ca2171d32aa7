import KafkaLog
import PushEngine
import ShardLoop

/// Limits for the sizes of records and batches, from the cluster's settings of the topics that a worker writes. Pure.
struct TopicLimits: Sendable, Equatable {
    /// `max.message.bytes` by topic; missing where it is not known.
    private(set) var byteCounts: [EngineRecord.Topic: Int] = [:]

    /// If a topic's limit is unknown, librdkafka gets at least this number of bytes as the limit for a record.
    private static let unknownByteCountMax = 2_097_152
    /// Maximum number of bytes of a record, even if a topic accepts more. A producer's queue must hold several such
    /// records.
    private static let recordByteCountMax = 16_777_216
    /// librdkafka's default size of a batch.
    private static let batchByteCountMax = 1_000_000
    private static let batchByteCountMin = 1_024
    /// Bytes of a request and of a batch's header, besides the records.
    private static let batchOverheadByteCount = 512

    /// An instance without any known limit.
    init() {}

    /// - Parameter configurations: settings by topic, as the cluster returns them.
    init(_ configurations: [String: [String: String]], topics: WorkerConfiguration.Topics) {
        for topic in EngineRecord.Topic.allCases {
            guard let text = configurations[topics.name(of: topic)]?["max.message.bytes"], let count = Int(text),
                count > 0
            else { continue }
            self.byteCounts[topic] = count
        }
    }

    /// The limits that the loop checks records against. There are none if the client compresses records, because only
    /// the broker then knows their size.
    func recordLimits(isCompressed: Bool) -> RecordLimits {
        var limits = RecordLimits()
        guard !isCompressed else { return limits }
        for (topic, count) in self.byteCounts { limits[topic] = max(0, count - RecordLimits.overheadByteCount) }
        return limits
    }

    /// The limits as a log line shows them.
    var text: String {
        self.byteCounts.map { "\($0.key.label) \($0.value)" }.sorted().joined(separator: ", ")
    }

    /// Properties of the producers: a maximum record size that suffices for every topic, and a batch size that every
    /// topic accepts.
    var producerSettings: KafkaSettings {
        let largest =
            self.byteCounts.count < EngineRecord.Topic.allCases.count
            ? max(Self.unknownByteCountMax, self.byteCounts.values.max() ?? 0) : self.byteCounts.values.max() ?? 0
        var settings = [
            KafkaSettings.Property("message.max.bytes", "\(min(max(largest, 1_000), Self.recordByteCountMax))")
        ]
        if let smallest = self.byteCounts.values.min() {
            let batch = min(Self.batchByteCountMax, smallest - Self.batchOverheadByteCount)
            settings.append(.init("batch.size", "\(max(batch, Self.batchByteCountMin))"))
        }
        return KafkaSettings(settings)
    }
}

extension WorkerConfiguration.Topics {
    func name(of topic: EngineRecord.Topic) -> String {
        switch topic {
        case .state: self.state
        case .outcomes: self.outcomes
        case .deadLetters: self.deadLetters
        case .routed: self.routed
        }
    }
}

extension KafkaSettings {
    /// Whether the producer may compress what it sends.
    var mayCompress: Bool {
        let names = ["compression.type", "compression.codec"]
        return self.properties.last { names.contains($0.name) }.map { $0.value != "none" } ?? false
    }
}
