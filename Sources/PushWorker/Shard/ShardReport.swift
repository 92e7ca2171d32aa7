import PushEngine
import PushTransport

/// One shard's part of a snapshot, taken between two turns.
struct ShardReport: Sendable {
    var engine = EngineCounters()
    var routes: [WorkerSnapshot.Route] = []
    var partitions: [WorkerSnapshot.Partition] = []
    var recordToAccepted = LatencyDistribution()
    var takenToAccepted = LatencyDistribution()
    var kafka = KafkaCounters()
    /// Next offsets to be committed, by input topic and partition: lag is measured from them.
    var watermarks: [CommitPosition] = []
    /// Known causes keep it from taking records: Kafka does not take what it writes, or memory is full.
    var isHeldUp = false
    /// What is wrong, in plain words.
    var errors: [String] = []
}
