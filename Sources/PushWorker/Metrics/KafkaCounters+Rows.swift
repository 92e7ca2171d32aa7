extension KafkaCounters: CountedBySource {
    static let sourceLabels: [String] = []

    static let rows: [CounterRow<KafkaCounters>] = [
        .total(
            "mailboat_kafka_produced_records_total", unit: "records", "Records handed to the producers.",
            \.recordsProduced),
        .total(
            "mailboat_kafka_delivery_failures_total", unit: "records",
            "Records Kafka did not take; they are produced again.",
            \.deliveriesFailed),
        .gauge(
            "mailboat_kafka_retries_waiting", unit: "records", "Records that wait to be produced again.",
            \.retriesWaiting),
        .total(
            "mailboat_kafka_queue_full_total", unit: "times", "Times a producer had no room: back-pressure.",
            \.queueFull),
        .total("mailboat_kafka_commits_total", unit: "batches", "Batches of offsets committed.", \.commits),
        .total(
            "mailboat_kafka_commit_failures_total", unit: "batches", "Batches of which something was refused.",
            \.commitsFailed),
        .total("mailboat_kafka_rebalances_total", unit: "rebalances", "Assignments and revocations.", \.rebalances),
        .total(
            "mailboat_state_restored_records_total", unit: "records", "Records read from the state topic.",
            \.restoredRecords),
    ]

    /// Sums over shards.
    mutating func add(_ other: KafkaCounters) { for row in Self.rows { row.add(other, to: &self) } }
}
