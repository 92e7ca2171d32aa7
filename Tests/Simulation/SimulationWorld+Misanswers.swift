import APNSProtocol
import PushEngine

/// A management host that carries out a creation twice, or answers it with an id that it has not made.
extension SimulationWorld {
    /// Draws the id that the answer to a creation names.
    /// - Parameter id: the id of the channel that was made.
    func misanswered(_ id: String, _ request: KeptRequest) -> String {
        if self.outageRandomChance(self.plan.kept.twicePercent),
            let second = self.apple.create(
                request.home, maker: .worker(request.worker), stores: request.stores, atMillis: self.steadyMillis)
        {
            self.log("Apple has carried that out twice: \(second)")
            self.secondChannels.insert(second)
        }
        guard self.outageRandomChance(self.plan.kept.foreignPercent) else { return id }
        // The wrong channel must have been in every list that the worker can have read before.
        let others = self.apple.registered(request.home).filter {
            $0.maker == .other && $0.createdMillis < self.steadyMillis - 120_000
        }
        let foreign = others.first?.id ?? "no-id"
        self.log("Apple answers with \(foreign)")
        return foreign
    }

    /// Whether the channel is one of two that a creation made, and its keeper's partition has changed hands since. The
    /// new keeper does not know the earlier list.
    func isForgottenSecond(_ channel: SimulatedApple.Channel) -> Bool {
        guard self.secondChannels.contains(channel.id) else { return false }
        return self.moveTimes[self.keeperPartition(channel.home)]?.contains { $0 >= channel.createdMillis } ?? false
    }
}
