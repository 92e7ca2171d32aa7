@testable import PushEngine

extension SlotTable {
    /// A table with `count` slots of one partition. Their ids are numbers from 0.
    static func filled(count: Int) -> SlotTable {
        var table = SlotTable(seed: 1)
        table.addPartition(PartitionIndex(rawValue: 0))
        for number in 0..<count {
            let id = Array("activity-\(number)".utf8)
            _ = table.make(
                SlotKey(app: 0, id: id.span), hash: table.hash(id: id.span), partition: PartitionIndex(rawValue: 0))
        }
        return table
    }
}
