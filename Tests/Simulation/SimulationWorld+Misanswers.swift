import APNSProtocol
import PushEngine

/// A management host that carries a creation out twice, or answers it with an id that it has not made for it.
extension SimulationWorld {
    /// - Parameter id: what was made.
    /// - Returns: what the answer says.
    func misanswered(_ id: String, _ request: KeptRequest) -> String {
        if self.outageRandomChance(self.plan.kept.twicePercent),
            let second = self.apple.create(
                request.home, maker: .worker(request.worker), stores: request.stores, atMillis: self.steadyMillis)
        {
            self.tell("Apple has carried that out twice: \(second)")
            self.secondChannels.insert(second)
        }
        guard self.outageRandomChance(self.plan.kept.foreignPercent) else { return id }
        // It must have stood in every list that the worker can have read before.
        let others = self.apple.registered(request.home).filter {
            $0.maker == .other && $0.createdMillis < self.steadyMillis - 120_000
        }
        let foreign = others.first?.id ?? "no-id"
        self.tell("Apple answers with \(foreign)")
        return foreign
    }

    /// It is one of two that a creation has made, and its keeper's partition has changed hands since: nobody remembers the list before.
    func isForgottenSecond(_ channel: SimulatedApple.Channel) -> Bool {
        guard self.secondChannels.contains(channel.id) else { return false }
        return self.moveTimes[self.keeperPartition(channel.home)]?.contains { $0 >= channel.createdMillis } ?? false
    }
}
