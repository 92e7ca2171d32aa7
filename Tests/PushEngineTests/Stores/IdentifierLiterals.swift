@testable import PushEngine

/// Lets tests write identifiers of slots, partitions and the like as literals. In the engine only the stores make
/// identifiers.
extension SlotID: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int32) { self.init(rawValue: value) }
}

extension PartitionIndex: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int32) { self.init(rawValue: value) }
}
