/// The phase of a partition, from its assignment until nothing of it is left here.
///
///     assigned ──► claiming ──► restoring ──► running         quieting ──► writing ──► left
///         │            │            │            │                ▲
///         │            ├────────────┼────────────┼─── released ───┤
///         │            │            │            │                │ released
///         └────────────┴────────────┴── failed ──┴───► halted ────┘
///
/// A partition that is claiming or restoring has nothing to wait for and nothing to write when it is released. Every
/// phase ends at once when the partition is lost.
public enum PartitionLife: Hashable, Sendable, CaseIterable {
    /// The ownership marker has been written to `state` and is not acknowledged yet. The restore will end at the
    /// marker.
    case claiming
    /// `state` is being read, up to the marker.
    case restoring
    /// Records are taken and pushed.
    case running
    /// The partition was added after `state` had been written, and has no state. Its records are forwarded as far as
    /// the gate allows. This phase begins with the assignment.
    case inlet
    /// The partition had run, and needs a person before it can continue.
    case halted
    /// The partition never ran, or what was known of it was dropped. It needs a person before it can continue.
    case haltedUnrestored
    /// The partition is leaving. Nothing more is taken, and answers of APNs are awaited.
    case quieting
    /// The rest has been written, and Kafka's acknowledgements are awaited.
    case writing
    /// Nothing more is done for the partition. Its last offsets have been handed over to be committed.
    case left

    /// The phases that may follow.
    var followers: Set<PartitionLife> {
        switch self {
        case .claiming: [.restoring, .haltedUnrestored, .quieting]
        case .restoring: [.running, .haltedUnrestored, .quieting]
        case .running: [.halted, .haltedUnrestored, .quieting]
        case .inlet: [.halted, .quieting]
        case .halted, .haltedUnrestored: [.quieting]
        case .quieting: [.writing]
        case .writing: [.left]
        case .left: []
        }
    }

    /// Whether the engine may have something to write for the partition when it leaves.
    var hasRun: Bool { self.takesRecords || self == .halted }

    /// Whether records of the partition's input topics are taken.
    var takesRecords: Bool { self == .running || self == .inlet }

    /// Whether the partition needs a person before it can continue.
    public var isHalted: Bool { self == .halted || self == .haltedUnrestored }
    /// Whether the partition is leaving, or has left.
    public var isLeaving: Bool { self == .quieting || self == .writing || self == .left }
}
