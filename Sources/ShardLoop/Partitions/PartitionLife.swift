/// Where a partition stands between its assignment and the moment when nothing of it is left here.
///
///     assigned ──► claiming ──► restoring ──► running         quieting ──► writing ──► left
///         │            │            │            │                ▲
///         │            ├────────────┼────────────┼─── released ───┤
///         │            │            │            │                │ released
///         └────────────┴────────────┴── failed ──┴───► halted ────┘
///
/// Claiming and restoring have nothing to wait for and nothing to write down when they are released. Any of them ends at once when the
/// partition is lost.
public enum PartitionLife: Hashable, Sendable, CaseIterable {
    /// The ownership marker is on its way to `state`; where it comes to lie, the restore ends.
    case claiming
    /// `state` is being read, up to the marker.
    case restoring
    /// Records are taken and pushed.
    case running
    /// It has no state: its records are forwarded, as far as it is let in. Assigned, it is one at once.
    case inlet
    /// It had run and cannot go on without a person.
    case halted
    /// It never ran, or what was known of it is let go of, and it cannot go on without a person.
    case haltedUnrestored
    /// It is to leave: nothing more is taken, answers of APNs are awaited.
    case quieting
    /// What was left is written down; Kafka's acknowledgements are awaited.
    case writing
    /// Nothing more is done for it; its last commit is the group's matter.
    case left

    /// What may follow.
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

    /// The engine has something of it to write down when it leaves.
    var hasRun: Bool { self.takesRecords || self == .halted }

    /// Records of its input topics are taken.
    var takesRecords: Bool { self == .running || self == .inlet }

    /// It cannot go on without a person.
    public var isHalted: Bool { self == .halted || self == .haltedUnrestored }
    /// It is on its way out, or has left.
    public var isLeaving: Bool { self == .quieting || self == .writing || self == .left }
}
