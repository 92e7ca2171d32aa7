import PushModel

/// Keys and partitions of the activities of a counted run. They are made once, and all keys have the same length.
struct CountedActivities {
    let identity: Workload.Identity
    let partitionCount: Int32
    /// Partition of each activity.
    let partitions: [Int32]
    /// All keys, one after the other. An array of arrays would cost reference counting for each record.
    let keys: [UInt8]
    let keyByteCount: Int

    var count: Int { self.partitions.count }

    init(count: Int, partitionCount: Int32, identity: Workload.Identity = .long) {
        self.init(count: count, partitionCount: partitionCount, identity: identity) {
            Workload.appendKey($0, to: &$1, identity: identity)
        }
    }

    /// Makes the members of an audience, whose keys are their tokens.
    init(members count: Int, partitionCount: Int32, length: AudienceWorkload.TokenLength) {
        self.init(count: count, partitionCount: partitionCount, identity: .long) {
            AudienceWorkload.appendKey($0, to: &$1, length: length)
        }
    }

    private init(
        count: Int, partitionCount: Int32, identity: Workload.Identity,
        appendKey: (_ number: Int, _ key: inout [UInt8]) -> Void
    ) {
        self.identity = identity
        self.partitionCount = partitionCount
        var (keys, partitions): ([UInt8], [Int32]) = ([], [])
        for number in 0..<count {
            var key: [UInt8] = []
            appendKey(number, &key)
            partitions.append(Murmur2.partition(key: key.span, count: partitionCount))
            keys += key
        }
        self.keys = keys
        self.partitions = partitions
        self.keyByteCount = count == 0 ? 0 : keys.count / count
    }
}
