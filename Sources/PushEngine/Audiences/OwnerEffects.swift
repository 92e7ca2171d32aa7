import PushModel

/// One thing that is to be done for an audience, as its owner has decided.
enum OwnerEffect {
    /// Partitions are told of a version, what outlives it before it. Of each Kafka's acknowledgement is given to `versionTold`.
    case tell([Version], to: [Int32])
    /// A partition that asks is told what there is.
    case answer([Version], to: Int32)
    /// Partitions are told that the audience is forgotten.
    case tellVoid(life: Int64, to: [Int32])
    /// The keeper of the app's channels is told what is wanted. `stateWaits`: the next state record does not come before.
    case wish(BusRecord.ChannelWish.Demand, PushEnvironment, life: Int64, stateWaits: Bool)
    /// What is newest is broadcast as soon as the route has room: `broadcastLeaves` says what that is.
    case broadcast(PushEnvironment, route: UInt16)
    /// An event's version is told to every partition: it has its outcome.
    case fannedOut(Layer, OutcomeDetails)
    /// An `audience` record.
    case record(RollUp)
    /// A message that APNs refuses is handed back.
    case deadLetter(Layer, OutcomeDetails)
    /// Another roll-up may be due first.
    case scheduleRollUps
    /// The state record is to be written.
    case write
    /// The state record is to be written at once, and nothing leaves before it is there.
    case writeFirst
    /// It may be time for the next version.
    case reschedule
    /// Counted: APNs took a broadcast; members that listened on a channel are served by their tokens.
    case broadcastTaken, fellBack
}

/// What is to be done, in order. The engine lends one to each call of an owner, carries it out, and uses it again.
struct OwnerEffects {
    private(set) var all: [OwnerEffect] = []

    mutating func append(_ effect: OwnerEffect) { self.all.append(effect) }
    mutating func removeAll() { self.all.removeAll(keepingCapacity: true) }
}
