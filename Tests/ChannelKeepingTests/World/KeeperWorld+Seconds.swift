import APNSProtocol
import ChannelKeeping

/// Faults of Apple's host for channels: it carries a creation out twice, or answers it with another channel's id.
extension KeeperWorld {
    mutating func perhapsCreateAgain(_ policy: MessageStoragePolicy) {
        guard self.fault(self.plan.twicePerMille),
            let second = self.apple.create(.keeper, policy, atMillis: self.steadyMillis)
        else { return }
        self.seconds[second] = self.crashCount
    }

    /// Decides whether an answer has a wrong id.
    /// - Returns: the wrong id; `nil` if the answer is right.
    mutating func perhapsForeign() -> [UInt8]? {
        guard self.fault(self.plan.foreignPerMille) else { return nil }
        let others = self.apple.registered.filter { $0.maker == .other && $0.createdMillis == 0 }
        return others.randomElement(using: &self.random)?.id ?? Array("no id".utf8)
    }

    /// Whether a creation made this second channel before the last crash. The present keeper then cannot know that
    /// the channel is its own.
    func isForgottenSecond(_ id: [UInt8]) -> Bool { self.seconds[id].map { $0 < self.crashCount } ?? false }
}
