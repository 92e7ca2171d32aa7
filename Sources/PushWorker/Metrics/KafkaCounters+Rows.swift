import PushEngine
import ShardLoop

extension KafkaCounters: CountedBySource {
    static let sourceLabels: [String] = []

    static let rows: [CounterRow<KafkaCounters>] = Self.produceRows + Self.refusalRows + Self.otherRows

    private static let produceRows: [CounterRow<KafkaCounters>] = [
        .total(
            "mailboat_kafka_produced_records_total", unit: "records", "Records handed to the producers.",
            \.outbox.recordsProduced),
        .total(
            "mailboat_kafka_delivery_failures_total", unit: "records",
            "Records that Kafka did not take; they are produced again.",
            \.outbox.deliveriesFailed),
    ]

    private static let otherRows: [CounterRow<KafkaCounters>] = [
        .total(
            "mailboat_kafka_dead_letters_shrunk_total", unit: "records",
            "Dead letters whose value was left out because Kafka did not take them with it.", \.outbox.deadLettersShrunk
        ),
        .total(
            "mailboat_kafka_dead_letters_given_up_total", unit: "records",
            "Dead letters of bad records that Kafka refused even without their values. Only a log line is left of them.",
            \.outbox.deadLettersGivenUp),
        .total(
            "mailboat_kafka_outcomes_unpublished_total", unit: "records",
            "Outcomes that were not published because Kafka refused them for good.", \.outbox.outcomesUnpublished),
        .gauge(
            "mailboat_kafka_retries_waiting", unit: "records", "Records that wait to be produced again.",
            \.outbox.retriesWaiting),
        .total(
            "mailboat_kafka_queue_full_total", unit: "times", "Times a producer had no room: back-pressure.",
            \.outbox.queueFull),
        .total(
            "mailboat_kafka_producers_renewed_total", unit: "producers",
            "Producers that replaced one that had ended with a fatal error.", \.outbox.producersRenewed),
        .total("mailboat_kafka_commits_total", unit: "batches", "Batches of offsets committed.", \.commits),
        .total(
            "mailboat_kafka_commit_failures_total", unit: "batches", "Batches in which an offset was refused.",
            \.commitsFailed),
        .total("mailboat_kafka_rebalances_total", unit: "rebalances", "Assignments and revocations.", \.rebalances),
        .total(
            "mailboat_state_restored_records_total", unit: "records", "Records read from the state topic.",
            \.restoredRecords),
    ]

    /// Rows for refused records, one for each topic and kind of answer.
    private static let refusalRows: [CounterRow<KafkaCounters>] = EngineRecord.Topic.allCases.flatMap { topic in
        ProduceError.allCases.map { error in
            .total(
                "mailboat_kafka_refusals_total", unit: "records",
                "Records that Kafka did not take, by topic and kind of error.", \.outbox.refusals[topic, error],
                labels: [.init(name: "topic", value: topic.label), .init(name: "error", value: error.label)])
        }
    }

    /// Adds the counters of another shard.
    mutating func add(_ other: KafkaCounters) { for row in Self.rows { row.add(other, to: &self) } }
}
