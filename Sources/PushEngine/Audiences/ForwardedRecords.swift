import DequeModule
import PushModel

/// Which forwarded record of a member was taken last. When the partition it first lay on gets another owner, that one may forward the last records
/// of its own once more, in their order: a join would bring back who has left since.
struct ForwardedRecords {
    /// Members of more are not remembered.
    static let countMax = 65_536
    private var origins: [Audiences.DepartedKey: SourcePosition] = [:]
    private var order: Deque<Audiences.DepartedKey> = []

    /// - Returns: whether it, or one that first lay behind it, was taken already.
    mutating func isTaken(_ origin: SourcePosition, of key: Audiences.DepartedKey) -> Bool {
        if let last = self.origins[key] {
            if last.topic == origin.topic, last.partition == origin.partition, origin.offset <= last.offset {
                return true
            }
        } else {
            if self.order.count >= Self.countMax { self.origins[self.order.removeFirst()] = nil }
            self.order.append(key)
        }
        self.origins[key] = origin
        return false
    }
    /// The partition has left.
    mutating func forget(partition: PartitionIndex) {
        guard !self.origins.isEmpty else { return }
        self.origins = self.origins.filter { $0.key.partition != partition }
        self.order.removeAll { $0.partition == partition }
    }
}
