import APNSProtocol
import ChannelKeeping
import DeviceModel
import PushEngine
import PushModel

/// Judges ends that a keeper broadcasts repeatedly. If one fails, it is tried again soon, before its next regular time
/// (Audiences, "A channel for an audience").
extension SimulationWorld {
    /// Longest time until a failed end is broadcast again, by the steady clock. The keeper tries again after 30 s. The
    /// rest is tolerance, because the keeper looks for due ends only from time to time.
    private static let retryMillisMax: Int64 = 90_000
    /// Time after an end in which the audience's owner broadcasts the end. Later the keeper does.
    private static let firstMillis: Int64 = 59_000

    /// Remembers that the worker has the answer to a broadcast.
    func rememberBeaconHeard(_ request: KeptRequest, _ result: PushAnswer.Result) {
        guard request.kind == .broadcast, self.isEnd(request), let ended = self.apple[request.channel]?.endedMillis
        else { return }
        switch result {
        case .accepted: self.failedBeacons[request.channel] = nil
        case .notProcessed, .unknown, .response:
            guard request.leftMillis > ended + Self.firstMillis, self.isToBeEnded(request.channel) else { return }
            self.failedBeacons[request.channel] = self.steadyMillis
        case .channel: break
        }
    }

    /// Remembers that a broadcast leaves. If it is an end, the channel is no longer waiting for one.
    func rememberBeaconLeaves(_ request: KeptRequest) {
        if self.isEnd(request) { self.failedBeacons[request.channel] = nil }
    }

    /// Judges after each step that a failed end was broadcast again in time, unless the keeper could not work
    /// meanwhile.
    func judgeBeacons() {
        for (channel, since) in self.failedBeacons.sorted(by: { $0.key < $1.key }) {
            guard self.isToBeEnded(channel), let home = self.apple[channel]?.home else {
                self.failedBeacons[channel] = nil
                continue
            }
            guard self.isAtWork(self.keeperPartition(home)) else {
                self.failedBeacons[channel] = self.steadyMillis
                continue
            }
            let millis = self.steadyMillis - max(since, self.struckUntilMillis)
            guard millis > Self.retryMillisMax else { continue }
            self.failedBeacons[channel] = nil
            self.fail("\(channel): an end that failed is not broadcast again, \(millis) ms after nothing held it back")
        }
    }

    /// Whether ends must still be broadcast on the channel: Apple has it, and its keeper has not begun to delete it.
    private func isToBeEnded(_ channel: String) -> Bool {
        self.apple.isRegistered(channel) && self.keptRecord(channel)?.phase == "ended"
    }

    private func isAtWork(_ partition: Int32) -> Bool {
        let owner = self.group.owner(of: partition)
        return self.workers.contains {
            $0.number == owner && $0.runs && self.hasLease($0) && $0.partitions[partition]?.isRunning == true
        }
    }

    private func isEnd(_ request: KeptRequest) -> Bool {
        !self.isStraight(request.body) && self.readMemberBody(request.body)?.content.event == .end
    }
}
