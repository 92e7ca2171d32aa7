import KafkaLog
import Logging
import Tracing

/// What the shards of a worker share. Nothing here is touched per record or per push.
struct ShardShared: Sendable {
    let configuration: WorkerConfiguration
    let logReader: KafkaLogReader
    /// Kafka's own name of the cluster; empty: not known.
    let clusterID: String
    let committer: Committer
    let hub: SnapshotHub
    let logger: Logger
    /// `nil`: nothing is traced.
    let tracer: (any Tracer)?
    let placementWarnings = PlacementWarnings()
    let recordTimeWarnings = RecordTimeWarnings()
    let limits: LimitReader
    /// The worker cannot go on; said once or many times.
    let fail: @Sendable (String) -> Void
}
