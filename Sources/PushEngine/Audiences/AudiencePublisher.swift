/// Runs the owners of audiences. It passes to each owner what arrives for it, and carries out what the owner decides.
/// An owner makes versions, publishes them to partitions and on channels, and reports what became of them.
struct AudiencePublisher: ~Copyable {
    /// When owners have to look at their channels.
    var channelDeadlines = DeadlineQueue<SlotID>()
    /// When owners have to write the results of their newest versions.
    var rollUpDeadlines = DeadlineQueue<SlotID>()
    /// Effects that are passed to each call of an owner, and reused.
    var effects = OwnerEffects()

    /// Forgets the slot's deadlines.
    mutating func forget(_ slot: SlotID) {
        self.channelDeadlines.remove(slot)
        self.rollUpDeadlines.remove(slot)
    }
}
