/// Runs the keepers of channels whose names belong to partitions of this shard (fan-out contract: The keeper).
struct KeeperHost: ~Copyable {
    /// What `state` says of kept channels.
    var kept = KeptRecords()
    var keepers = Keepers()
}
