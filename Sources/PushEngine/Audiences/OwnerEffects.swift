import PushModel

/// One thing that has to be done for an audience, as its owner has decided.
enum OwnerEffect {
    /// Send partitions a version, after older versions that expire later. Each acknowledgement of Kafka is passed to
    /// `versionAcknowledged`.
    case send([Version], to: [Int32])
    /// Send the newest version to a partition that asks, after older versions that expire later.
    case answer([Version], to: Int32)
    /// Send partitions a void: the audience is forgotten.
    case sendVoid(life: Int64, to: [Int32])
    /// Send the keeper of the app's channels the audience's wish. If `stateWaits` is set, the next state record waits
    /// until Kafka has the wish.
    case wish(BusRecord.ChannelWish.Demand, PushEnvironment, life: Int64, stateWaits: Bool)
    /// Broadcast as soon as the route has room. `broadcastLeaves` then chooses the version.
    case broadcast(PushEnvironment, route: UInt16)
    /// Give an event its outcome, because every partition has the event's version.
    case fannedOut(Layer, OutcomeDetails)
    /// Write an `audience` record.
    case record(RollUp)
    /// Write a dead letter with a message that APNs refuses.
    case deadLetter(Layer, OutcomeDetails)
    /// Look at the times of roll-ups again, because another roll-up may be due first.
    case scheduleRollUps
    /// Write the state record.
    case write
    /// Write the state record at once. Nothing of the audience leaves before Kafka has it.
    case writeFirst
    /// Look at the slot again: it may be time for the next version.
    case reschedule
    /// Count a broadcast that APNs accepted (`broadcastTaken`), or a channel whose listening members are now served by
    /// their tokens (`fellBack`).
    case broadcastTaken, fellBack
}

/// The effects of an owner's decisions, in order. The publisher passes this list to each call of an owner, carries out
/// the effects, and empties the list.
struct OwnerEffects {
    private(set) var all: [OwnerEffect] = []

    mutating func append(_ effect: OwnerEffect) { self.all.append(effect) }
    mutating func removeAll() { self.all.removeAll(keepingCapacity: true) }
}
