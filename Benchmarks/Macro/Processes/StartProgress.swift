/// How far a worker has got with its start, by the lines of its own log.
struct StartProgress: Equatable {
    /// The group has given it partitions.
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
