/// A number that names an element of one kind and of no other: a slot cannot be taken for an update, and whoever keeps elements of the
/// kind is asked for them by it. Used again when its element has gone.
///
/// -1 names none. An optional would take twice the room, and a million slots hold several of these.
protocol Identifier: Hashable, Sendable, CustomStringConvertible {
    var rawValue: Int32 { get }
    init(rawValue: Int32)
}

extension Identifier {
    @inline(__always) static var none: Self { Self(rawValue: -1) }

    /// The element at this place of its store.
    @inline(__always) init(index: Int) { self.init(rawValue: Int32(index)) }

    /// Its place in its store. Not of `none`.
    @inline(__always) var index: Int { Int(self.rawValue) }

    @inline(__always) var isNone: Bool { self.rawValue < 0 }
    @inline(__always) var isSome: Bool { self.rawValue >= 0 }

    var description: String { "\(self.rawValue)" }
}

/// What is known of one activity: an element of `SlotTable`.
struct SlotID: Identifier { let rawValue: Int32 }

/// What waits or is in flight of one slot: an element of `UpdateStore`.
struct UpdateID: Identifier { let rawValue: Int32 }

/// An element of `BudgetStore`; none: no unit is out.
struct BudgetID: Identifier { let rawValue: Int32 }

/// A partition this shard has: an element of `PartitionTable`. Not Kafka's number of it.
struct PartitionIndex: Identifier { let rawValue: Int32 }

/// A log whose offsets the ledger follows.
struct LogID: Identifier { let rawValue: Int32 }

/// An open entry of the ledger.
struct EntryID: Identifier { let rawValue: Int32 }

/// An app in one environment: an element of `Dispatch.lanes`.
struct LaneIndex: Identifier { let rawValue: Int32 }
