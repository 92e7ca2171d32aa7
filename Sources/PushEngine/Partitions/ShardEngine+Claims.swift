public import PushModel

/// Begins another epoch of the same owner (contract: One owner), when another Kafka client takes over the shard's
/// records. Records of the previous client may still be written to `state` behind records of the new one. Such records
/// must not be believed.
extension ShardEngine {
    /// Writes a marker for each partition that runs. Records that Kafka has not acknowledged carry the old epoch, and
    /// so do records made before it has acknowledged the marker. These records must not be written: see
    /// `writeAgain`.
    ///
    /// - Returns: the partitions, by number, each with the acknowledgement of its marker. `nil`: the partition is on
    ///   its way out, gets no marker, and nothing more is written to its `state`. Partitions that do not run yet are
    ///   left out, because they have written nothing but a marker.
    public mutating func claimAgain(now: EngineTime) -> [(partition: Int32, marker: UInt64?)] {
        var claims: [(partition: Int32, marker: UInt64?)] = []
        for partition in self.core.memory.partitions.identifiers {
            let number = self.core.memory.partitions[partition].number
            switch self.core.memory.partitions[partition].phase {
            case .gone, .awaitingMarker, .restoring: continue
            case .releasing, .released: claims.append((number, nil))
            case .running: claims.append((number, self.writeClaim(partition)))
            }
        }
        return claims
    }

    /// The acknowledgement of the marker that begins the partition's next epoch; `nil`: no such marker is on its way.
    public func claim(of number: Int32) -> UInt64? {
        self.core.memory.partitions.index(of: number).flatMap { self.core.memory.partitions[$0].claim }
    }

    /// Writes what is known of these keys to the partition's `state` again, with the new epoch.
    public mutating func writeAgain(partition number: Int32, keys: [[UInt8]], now: EngineTime) {
        for key in keys where key != MarkerRecord.key {
            _ = self.repair(partition: number, key: key.span, value: Span(), offset: -1, now: now)
        }
    }

    mutating func writeClaim(_ partition: PartitionIndex) -> UInt64 {
        self.core.memory.partitions[partition].claimBegins()
        let marker = self.core.journal.writeMarker(partition, isClaim: true, in: &self.core.memory)
        self.core.memory.partitions[partition].claimWritten(marker)
        return marker
    }
}
