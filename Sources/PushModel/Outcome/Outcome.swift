/// What became of an event (contract: Conservation). Every consumed event gets exactly one of these outcomes, unless it
/// is forwarded, or handed over with its partition.
public enum Outcome: UInt8, Sendable, CaseIterable {
    /// The outcomes. The page Outcomes of the documentation explains each.
    case applied, delivered, superseded, late, duplicate, expired, rejected, unregistered, unknown,
        deadLettered, fannedOut

    /// The spelling in outcome records, metrics and summaries.
    public var name: StaticString {
        switch self {
        case .applied: "applied"
        case .delivered: "delivered"
        case .superseded: "superseded"
        case .late: "late"
        case .duplicate: "duplicate"
        case .expired: "expired"
        case .rejected: "rejected"
        case .unregistered: "unregistered"
        case .unknown: "unknown"
        case .deadLettered: "dead-lettered"
        case .fannedOut: "fanned-out"
        }
    }

    /// - Parameter name: the spelling. The result is `nil` if no outcome is spelt that way.
    public init?(named name: String) {
        guard let outcome = Self.allCases.first(where: { "\($0.name)" == name }) else { return nil }
        self = outcome
    }
}

/// Which outcomes are written to the outcomes topic (`outcomes.publish`).
public enum OutcomePublication: String, Sendable, CaseIterable {
    /// All outcomes, or a part of them, as `includes` decides.
    case all, pushes, failures

    /// Whether `outcome` is written. `pushes` leaves out `superseded` and `applied`. `failures` includes only what did
    /// not reach the device as it should.
    public func includes(_ outcome: Outcome) -> Bool {
        switch (self, outcome) {
        case (.all, _): true
        case (.pushes, .superseded), (.pushes, .applied): false
        case (.pushes, _): true
        case (.failures, .applied), (.failures, .delivered), (.failures, .superseded), (.failures, .duplicate),
            (.failures, .fannedOut):
            false
        case (.failures, _): true
        }
    }
    /// Whether records about many phones are written: `pass` and `audience`.
    public var includesPasses: Bool { self != .failures }
}

/// An event's identity: where it was first stored in Kafka (contract: Identity). A forwarded record keeps the identity
/// of the original.
public struct SourcePosition: Hashable, Sendable {
    /// Index into the worker's list of input topics.
    public var topic: UInt16
    /// Partition of that topic.
    public var partition: Int32
    /// Offset in that partition.
    public var offset: Int64

    @inlinable public init(topic: UInt16, partition: Int32, offset: Int64) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
    }
}
