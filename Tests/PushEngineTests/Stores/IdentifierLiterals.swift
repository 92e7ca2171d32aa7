@testable import PushEngine

/// Tests number slots and the like themselves. Nothing but a store does so in the engine.
extension SlotID: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int32) { self.init(rawValue: value) }
}

extension PartitionIndex: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int32) { self.init(rawValue: value) }
}
