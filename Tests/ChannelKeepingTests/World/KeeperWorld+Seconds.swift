import APNSProtocol
import ChannelKeeping

/// A management host that carries a creation out twice, or answers it with an id that it has not made for it.
extension KeeperWorld {
    mutating func perhapsCreateAgain(_ policy: MessageStoragePolicy) {
        guard self.fault(self.plan.twicePerMille),
            let second = self.apple.create(.keeper, policy, atMillis: self.steadyMillis)
        else { return }
        self.seconds[second] = self.crashCount
    }

    /// - Returns: `nil`: the answer says what was made.
    mutating func perhapsForeign() -> [UInt8]? {
        guard self.fault(self.plan.foreignPerMille) else { return nil }
        let others = self.apple.registered.filter { $0.maker == .other && $0.createdMillis == 0 }
        return others.randomElement(using: &self.random)?.id ?? Array("no id".utf8)
    }

    /// Made by a creation that was answered with another, and its keeper has died since: nobody remembers what was there before.
    func isForgottenSecond(_ id: [UInt8]) -> Bool { self.seconds[id].map { $0 < self.crashCount } ?? false }
}
