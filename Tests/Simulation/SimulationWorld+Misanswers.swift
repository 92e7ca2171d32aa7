import APNSProtocol
import PushEngine

/// Wrong answers to creations of channels. Apple carries out a creation twice, or answers it with the id of another
/// channel.
extension SimulationWorld {
    /// Draws the id that is in the answer to a creation.
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
        // The wrong id belongs to a channel that is so old that the worker has seen it in every list.
        let others = self.apple.registered(request.home).filter {
            $0.maker == .other && $0.createdMillis < self.steadyMillis - 120_000
        }
        let foreign = others.first?.id ?? "no-id"
        self.log("Apple answers with \(foreign)")
        return foreign
    }

    /// Whether the channel is the second one of a creation, and its keeper's partition has changed hands since then.
    /// The new keeper does not know which channels existed before the creation.
    func isForgottenSecond(_ channel: SimulatedApple.Channel) -> Bool {
        guard self.secondChannels.contains(channel.id) else { return false }
        return self.moveTimes[self.keeperPartition(channel.home)]?.contains { $0 >= channel.createdMillis } ?? false
    }
}
