/// A number that names an element of one kind. Each kind has its own type, so a slot cannot be mistaken for an update.
/// A number is used again after its element has been removed.
///
/// -1 is `none`. An optional would take twice the room, and a million slots hold several identifiers.
protocol Identifier: Hashable, Sendable, CustomStringConvertible {
    var rawValue: Int32 { get }
    init(rawValue: Int32)
}

extension Identifier {
    @inline(__always) static var none: Self { Self(rawValue: -1) }

    /// Names the element at this index of its store.
    @inline(__always) init(index: Int) { self.init(rawValue: Int32(index)) }

    /// The element's index in its store. `none` has no index.
    @inline(__always) var index: Int { Int(self.rawValue) }

    @inline(__always) var isNone: Bool { self.rawValue < 0 }
    @inline(__always) var isSome: Bool { self.rawValue >= 0 }

    var description: String { "\(self.rawValue)" }
}

/// Names what is known of one activity, channel or audience: an element of `SlotTable`.
struct SlotID: Identifier { let rawValue: Int32 }

/// Names what waits or is in flight of one slot: an element of `UpdateStore`.
struct UpdateID: Identifier { let rawValue: Int32 }

/// Names an element of `BudgetStore`. `none`: no unit is out.
struct BudgetID: Identifier { let rawValue: Int32 }

/// Names a partition of this shard: an element of `PartitionTable`. It is not Kafka's number of the partition.
struct PartitionIndex: Identifier { let rawValue: Int32 }

/// Names a log whose offsets the ledger follows.
struct LogID: Identifier { let rawValue: Int32 }

/// Names an open entry of the ledger.
struct EntryID: Identifier { let rawValue: Int32 }

/// Names a lane: an element of `Dispatch.lanes`. A lane is one errand of an app in one environment.
struct LaneIndex: Identifier { let rawValue: Int32 }
