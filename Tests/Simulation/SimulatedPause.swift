/// A command of an operator about passes of audiences. Each command writes a record to each partition of `routed`.
struct SimulatedPause {
    /// What the command concerns.
    enum Target: Equatable {
        /// An audience, as the index of its first life in the world's phones. All its lives have one id.
        case audience(first: Int)
        /// All audiences of an app, as an index into `SimulationPlan.apps`.
        case app(UInt16)
    }
    var target: Target
    /// Whether the command pauses. `false`: it resumes pushes.
    var isPaused: Bool
    /// The command's offset in its partition of `routed`, and when it was written, by the steady clock.
    var offset: Int64
    var millis: Int64
}

/// A command that an operator will give.
struct SimulatedOrder {
    var target: SimulatedPause.Target
    var isPaused: Bool
    /// When the command is due, by the steady clock.
    var dueMillis: Int64
    /// Partitions to which the command writes. It fails before it has written to the others.
    var partitions: ClosedRange<Int32>
}
