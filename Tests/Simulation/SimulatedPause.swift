/// An operator's command that pauses or resumes passes of audiences, as a record in one partition of `routed`. The
/// command writes such a record to each partition.
struct SimulatedPause {
    /// The audiences that a command concerns.
    enum Target: Equatable {
        /// One audience, given by the index of its first life in the world's phones. All its lives have one id.
        case audience(first: Int)
        /// All audiences of an app, given by its index into `SimulationPlan.apps`.
        case app(UInt16)
    }
    var target: Target
    /// Whether the command pauses passes. `false`: it resumes them.
    var isPaused: Bool
    /// The record's offset in its partition of `routed`.
    var offset: Int64
    /// When the record was written, by the steady clock.
    var millis: Int64
}

/// An operator's command that is not carried out yet.
struct SimulatedOrder {
    var target: SimulatedPause.Target
    var isPaused: Bool
    /// When the command is due, by the steady clock.
    var dueMillis: Int64
    /// Partitions of `routed` to which the command writes. If these are not all, it fails before it has written to the
    /// rest.
    var partitions: ClosedRange<Int32>
}
