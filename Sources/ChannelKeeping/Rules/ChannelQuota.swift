public import APNSProtocol

/// The maximum number of channels of an app in an environment, including those of other systems. It also gives the
/// numbers at which an alarm and refusals begin.
public struct ChannelQuota: Equatable, Sendable {
    /// Maximum number of channels.
    public let countMax: Int

    public init(countMax: Int = ChannelRequest.countMax) { self.countMax = countMax }

    /// Number of channels from which there is an alarm, and no warm channel is made.
    public var alarmCount: Int { self.countMax * 80 / 100 }
    /// Number of channels from which none is made.
    public var refusalCount: Int { self.countMax * 95 / 100 }
    /// Number of channels below which an alarm ends, so that a single channel does not raise it again and again.
    var calmCount: Int { self.countMax * 78 / 100 }
}
