public import ChannelKeeping
public import PushModel

/// Something that an operator should know of an app's channels. It is logged once, when the keeper raises the alarm.
public struct KeeperNotice: Sendable, Equatable {
    /// The app's bundle identifier.
    public var bundleID: String
    /// Which of Apple's two push services.
    public var environment: PushEnvironment
    /// The alarm that the notice is about.
    public var alarm: KeeperAlarm

    /// Whether something does not work, and will not work until somebody has acted.
    public var isError: Bool {
        switch self.alarm {
        case .quotaReached, .refused, .shownFull, .vanished, .foreignAnswer: true
        case .quotaHigh, .possiblyOurs, .perhapsSecond: false
        }
    }
    /// Id of the channel that the notice is about, as APNs spells it; `nil`: the notice is not about one channel.
    public var channel: String? {
        switch self.alarm {
        case .possiblyOurs(let id, _), .perhapsSecond(let id, _), .vanished(let id), .foreignAnswer(let id):
            String(decoding: id, as: UTF8.self)
        case .quotaHigh, .quotaReached, .refused, .shownFull: nil
        }
    }
    /// The notice in words.
    public var text: String {
        switch self.alarm {
        case .quotaHigh(let count, let quota):
            "the app has \(count) channels in this environment, and Apple allows \(quota.countMax)"
        case .quotaReached(let count, let quota):
            "the app has \(count) channels in this environment: from \(quota.refusalCount) on no new one is made, because "
                + "Apple allows \(quota.countMax)"
        case .refused(let status, let reason): "APNs refuses to keep channels for this app: \(status) \(reason)"
        case .possiblyOurs:
            "the answer to a creation was lost, and this channel is new: the creation may have made it; it is shown and left alone"
        case .perhapsSecond:
            "a creation was answered with another channel, and this one is new, too: the creation may have been carried out twice; it is shown and left alone"
        case .foreignAnswer:
            "APNs has answered a creation with the id of a channel that existed before, or with an invalid id: the answer counts as lost, and that channel is left alone"
        case .shownFull(let shownMax): "\(shownMax) channels are shown as possibly ours; no further one is"
        case .vanished: "somebody else has deleted a channel that is kept for an audience"
        }
    }
}
