import APNSProtocol
import PushEngine
import ShardLoop

/// The loop's port to the simulated APNs.
final class SimulatedPushSide: PushSide {
    private unowned let world: SimulationWorld
    /// The worker that owns this port. The worker sets the property itself.
    unowned var worker: SimulatedWorker!
    private var request = PushRequest()

    init(world: SimulationWorld) { self.world = world }

    func takeAnswers(into answers: inout [PushAnswer]) {
        guard !self.worker.answers.isEmpty else { return }
        swap(&answers, &self.worker.answers)
    }

    func submit(route: UInt16, max: Int, fill: (inout PushRequest) -> Bool) -> Int {
        guard self.worker.isAlive, self.world.apnsAwayUntilMillis <= self.world.steadyMillis else { return 0 }
        let credit = min(max, self.world.credit())
        var count = 0
        while count < credit, self.worker.isAlive, fill(&self.request) {
            count += 1
            self.world.checkLease(of: self.worker, "pushes")
            self.world.depart(self.request, route: route, from: self.worker)
            _ = self.world.burns(self.worker)
        }
        return count
    }

    func wantsCredit(route: UInt16) { self.world.wantsCredit(self.worker) }

    func flush() { _ = self.world.burns(self.worker) }
}
