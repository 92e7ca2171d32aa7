import PushModel

/// The record by which a person accepts that a partition's `state` is lost. It is a marker that no owner wrote, under
/// the key of markers.
///
/// The acceptance is valid for one loss, and only until an owner has written behind it. Its header
/// `RecordHeader.acceptedEnd` says how far `state` had been acknowledged. Releases that do not know the header take the
/// record for the claim of an owner that did nothing.
public enum StateAcceptance {
    /// The record's key.
    public static var key: [UInt8] { MarkerRecord.key }

    /// Makes the record's value.
    /// - Parameters:
    ///   - partitionCount: number of partitions of each input topic.
    ///   - clusterID: Kafka's name of the cluster; empty: not known.
    ///   - wallMillis: now, milliseconds since 1970.
    public static func value(partitionCount: Int32, clusterID: String, wallMillis: Int64) -> [UInt8] {
        let marker = MarkerRecord(
            epoch: -1, takenOverWallMillis: wallMillis, partitionCount: partitionCount,
            clusterID: Array(clusterID.utf8.prefix(MarkerRecord.clusterIDByteCountMax)))
        var bytes: [UInt8] = []
        var scratch: [UInt8] = []
        bytes.append(using: &scratch) { marker.write(to: &$0) }
        return bytes
    }
}
