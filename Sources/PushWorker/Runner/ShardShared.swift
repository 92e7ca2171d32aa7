import KafkaLog
import Logging
import Tracing

/// Parts of a worker that its shards share. None of them is used per record or per push.
struct ShardShared: Sendable {
    let configuration: WorkerConfiguration
    let logReader: KafkaLogReader
    /// Kafka's own identifier of the cluster; empty: not known.
    let clusterID: String
    let committer: Committer
    let hub: SnapshotHub
    let logger: Logger
    /// The tracer; `nil`: nothing is traced.
    let tracer: (any Tracer)?
    let placementWarnings = PlacementWarnings()
    let recordTimeWarnings = RecordTimeWarnings()
    let limits: LimitReader
    /// Reports that the worker cannot go on. It may be called more than once.
    let fail: @Sendable (String) -> Void
}
