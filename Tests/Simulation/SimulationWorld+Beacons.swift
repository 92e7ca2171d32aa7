import APNSProtocol
import DeviceModel
import PushModel

/// An end that is broadcast again, and fails, is tried again soon, and does not wait for its next time (Audiences, "A channel for an audience").
extension SimulationWorld {
    /// An end that Apple did not take, or that nobody heard of.
    struct FailedBeacon {
        var worker: Int
        var heardMillis: Int64
    }

    /// Between two attempts at one, with what lies between two looks; steady.
    private static let retryMillisMax: Int64 = 90_000
    /// The end itself is sent by its audience's owner until then.
    private static let firstMillis: Int64 = 59_000

    /// The worker hears what became of a broadcast.
    func noteBeaconHeard(_ request: KeptRequest, _ result: PushAnswer.Result) {
        guard request.kind == .broadcast, self.isEnd(request), let ended = self.apple[request.channel]?.endedMillis
        else { return }
        switch result {
        case .accepted: self.failedBeacons[request.channel] = nil
        case .notProcessed, .unknown, .response:
            guard request.leftMillis > ended + Self.firstMillis, self.apple.isRegistered(request.channel) else {
                return
            }
            self.failedBeacons[request.channel] = FailedBeacon(
                worker: request.worker, heardMillis: self.steadyMillis)
        case .channel: break
        }
    }

    /// A broadcast leaves: nothing has happened since the last one failed that explains a wait.
    func judgeBeacon(_ request: KeptRequest) {
        guard self.isEnd(request), let failed = self.failedBeacons.removeValue(forKey: request.channel),
            failed.worker == request.worker, self.lateness.struckMillis < failed.heardMillis,
            max(self.brokerAwayUntilMillis, self.apnsAwayUntilMillis) < failed.heardMillis
        else { return }
        let millis = self.steadyMillis - failed.heardMillis
        if millis > Self.retryMillisMax {
            self.fail("\(request.channel): an end that had failed is broadcast again after \(millis) ms")
        }
    }

    private func isEnd(_ request: KeptRequest) -> Bool {
        !self.isStraight(request.body) && self.readMemberBody(request.body)?.content.event == .end
    }
}
