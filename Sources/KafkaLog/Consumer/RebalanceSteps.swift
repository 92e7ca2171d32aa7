/// The assignments and revocations that the worker has not completed yet. This type decides only which of them are
/// overdue; the caller passes the time.
struct RebalanceSteps {
    struct Step: Equatable {
        enum Kind { case assignment, revocation }
        let id: UInt64
        let kind: Kind
        let partitions: [Int32]
        var deadline: ContinuousClock.Instant
    }

    private(set) var open: [Step] = []
    private var lastID: UInt64 = 0

    mutating func open(_ kind: Step.Kind, _ partitions: [Int32], deadline: ContinuousClock.Instant) -> Step {
        self.lastID += 1
        let step = Step(id: self.lastID, kind: kind, partitions: partitions, deadline: deadline)
        self.open.append(step)
        return step
    }

    /// Removes a step that is over and returns it; `nil` when it was removed before.
    mutating func take(_ id: UInt64) -> Step? {
        guard let index = self.open.firstIndex(where: { $0.id == id }) else { return nil }
        return self.open.remove(at: index)
    }

    /// Removes the open assignments that have one of these partitions, because a revocation ends them. Returns the ids
    /// of their steps.
    mutating func removeAssignments(of partitions: [Int32]) -> [UInt64] {
        let isVoid = { (step: Step) in
            step.kind == .assignment && !Set(step.partitions).isDisjoint(with: partitions)
        }
        defer { self.open.removeAll(where: isVoid) }
        return self.open.filter(isVoid).map(\.id)
    }

    func overdue(at now: ContinuousClock.Instant) -> [Step] { self.open.filter { $0.deadline <= now } }

    var nextDeadline: ContinuousClock.Instant? { self.open.map(\.deadline).min() }

    /// Shortens all deadlines to `deadline`, because the consumer closes.
    mutating func hurry(to deadline: ContinuousClock.Instant) {
        for index in self.open.indices { self.open[index].deadline = min(self.open[index].deadline, deadline) }
    }
}
