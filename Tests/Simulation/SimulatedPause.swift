/// What operators have said about passes of audiences. Each command writes a record to each partition of `routed`.
struct SimulatedPause {
    /// What is stopped.
    enum Target: Equatable {
        /// Index into the world's phones: the first life of an audience. All its lives have one id.
        case audience(first: Int)
        /// All audiences of an app, as an index into `SimulationPlan.apps`.
        case app(UInt16)
    }
    var target: Target
    /// `false`: pushes go on.
    var isPaused: Bool
    /// The command's offset in its partition of `routed`, and when it was written, steady.
    var offset: Int64
    var millis: Int64
}

/// A command that an operator will give.
struct SimulatedOrder {
    var target: SimulatedPause.Target
    var isPaused: Bool
    /// When the command is due, steady.
    var dueMillis: Int64
    /// The partitions that are told: the command fails before it has told the others.
    var partitions: ClosedRange<Int32>
}
