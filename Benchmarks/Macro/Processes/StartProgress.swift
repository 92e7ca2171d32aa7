/// Progress of a worker's start, as the lines of its log show it.
struct StartProgress: Equatable {
    /// Whether the group has given the worker partitions.
    var isAssigned = false
    var restoredPartitionCount = 0

    init(isAssigned: Bool, restoredPartitionCount: Int) {
        self.isAssigned = isAssigned
        self.restoredPartitionCount = restoredPartitionCount
    }

    init(log: String) {
        for line in log.utf8.split(separator: UInt8(ascii: "\n")) {
            let line = Substring(line)
            if line.hasSuffix(" partitions assigned") { self.isAssigned = true }
            if line.hasSuffix(" restored"), line.contains("partition ") { self.restoredPartitionCount += 1 }
        }
    }
}
