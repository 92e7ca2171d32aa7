import PushModel

/// Audiences and apps that operators have stopped, by partition.
struct PauseTable {
    /// Maximum number of audiences of one partition that are remembered as paused. A pause lasts until an operator ends
    /// it, and pauses of audiences that are long over are easily forgotten. Without a limit, names of up to 256 bytes
    /// would pile up here and in `state`. An operator who has to stop more audiences can stop the app. There is always
    /// room for apps, because only configured ones can be paused.
    static let audiencesMax = 1_024

    struct Key: Hashable {
        var partition: PartitionIndex
        var app: UInt16
        /// Id of the audience; empty: all audiences of the app.
        var audience: [UInt8]
    }
    /// Start of each pause, milliseconds since 1970.
    private var sinceMillis: [PartitionIndex: [Key: Int64]] = [:]
    /// Number of paused audiences by partition, without apps.
    private var audienceCounts: [PartitionIndex: Int] = [:]

    mutating func set(_ key: Key, sinceMillis: Int64) {
        let former = self.sinceMillis[key.partition, default: [:]].updateValue(sinceMillis, forKey: key)
        if former == nil, !key.audience.isEmpty { self.audienceCounts[key.partition, default: 0] += 1 }
    }
    mutating func remove(_ key: Key) {
        let former = self.sinceMillis[key.partition]?.removeValue(forKey: key)
        if former != nil, !key.audience.isEmpty { self.audienceCounts[key.partition, default: 0] -= 1 }
    }
    subscript(_ key: Key) -> Int64? { self.sinceMillis[key.partition]?[key] }
    func isPaused(partition: PartitionIndex, app: UInt16, audience: [UInt8]) -> Bool {
        guard let paused = self.sinceMillis[partition], !paused.isEmpty else { return false }
        return paused[Key(partition: partition, app: app, audience: [])] != nil
            || paused[Key(partition: partition, app: app, audience: audience)] != nil
    }
    /// Whether there is room for the pause. A restored partition may hold more than the maximum: everything that
    /// `state` says is kept.
    func hasRoom(for key: Key) -> Bool {
        key.audience.isEmpty || self[key] != nil || self.audienceCounts[key.partition, default: 0] < Self.audiencesMax
    }
    /// The longest pause of an audience in a partition, among the pauses that may be dropped. Pauses of apps are never
    /// dropped.
    /// - Parameter mayBeDropped: whether the pause may be dropped.
    func oldest(of partition: PartitionIndex, where mayBeDropped: (Key) -> Bool) -> Key? {
        (self.sinceMillis[partition] ?? [:])
            .filter { !$0.key.audience.isEmpty && mayBeDropped($0.key) }
            // If two audiences were paused at the same moment, their names decide, so that the order is the same on
            // every machine.
            .min { one, other in
                (one.value, one.key.app) == (other.value, other.key.app)
                    ? one.key.audience.lexicographicallyPrecedes(other.key.audience)
                    : (one.value, one.key.app) < (other.value, other.key.app)
            }?.key
    }
    mutating func forget(partition: PartitionIndex) {
        self.sinceMillis[partition] = nil
        self.audienceCounts[partition] = nil
    }
}
