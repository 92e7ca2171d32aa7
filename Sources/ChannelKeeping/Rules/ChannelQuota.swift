public import APNSProtocol

/// The maximum number of channels of an app in an environment, including those of other systems. It also gives the
/// numbers at which an alarm and refusals begin.
public struct ChannelQuota: Equatable, Sendable {
    /// Maximum number of channels.
    public let countMax: Int

    public init(countMax: Int = ChannelRequest.countMax) { self.countMax = countMax }

    /// From this number of channels on, there is an alarm and no warm channel is made.
    public var alarmCount: Int { self.countMax * 80 / 100 }
    /// From this number of channels on, no channel is made.
    public var refusalCount: Int { self.countMax * 95 / 100 }
    /// An alarm ends below this number of channels. The number lies below `alarmCount`, so that a single channel more
    /// or less does not raise the alarm again and again.
    var calmCount: Int { self.countMax * 78 / 100 }
}
