@testable import PushEngine

/// Lets tests write numbers of slots and other things as literals. In the engine only the stores make such numbers.
extension SlotID: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int32) { self.init(rawValue: value) }
}

extension PartitionIndex: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int32) { self.init(rawValue: value) }
}
