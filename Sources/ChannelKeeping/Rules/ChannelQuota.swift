public import APNSProtocol

/// How many channels an app may have in an environment, other systems' included, and from where on that is worth an alarm or a refusal.
public struct ChannelQuota: Equatable, Sendable {
    /// Most channels that there may be.
    public let countMax: Int

    public init(countMax: Int = ChannelRequest.countMax) { self.countMax = countMax }

    /// Number of channels from which there is an alarm, and no warm channel is made.
    public var alarmCount: Int { self.countMax * 80 / 100 }
    /// Number of channels from which none is made.
    public var refusalCount: Int { self.countMax * 95 / 100 }
    /// An alarm ends below this, so that one channel that comes and goes does not raise it again and again.
    var calmCount: Int { self.countMax * 78 / 100 }
}
