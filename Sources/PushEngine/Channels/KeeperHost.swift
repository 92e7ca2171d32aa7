/// Runs the channel keepers of this shard's partitions (fan-out contract: The keeper).
struct KeeperHost: ~Copyable {
    /// What `state` says of kept channels.
    var kept = KeptRecords()
    var keepers = Keepers()
}
