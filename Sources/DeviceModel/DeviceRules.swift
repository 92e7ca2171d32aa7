/// Rules of the phone that depend on time or on unpublished numbers. One value serves all devices.
///
/// The default judges nothing but the order of pushes, so that two devices fed at different speeds can be compared.
public struct DeviceRules: Equatable, Sendable {
    /// Pushes at priority 10 the phone shows in a rolling hour; above it they are dropped in silence. `nil`: never. Apple publishes no number.
    public var budgetPerHour: Int?
    /// An activity ends by itself this long after its first push, seconds. `nil`: never. Apple: 8 hours.
    public var activeSecondsMax: Int64?
    /// An update stamped further ahead of the phone's clock than this is dropped, seconds. `nil`: never. Apple's forum: 8 hours.
    public var futureStampSecondsMax: Int64?
    /// Starts to one push-to-start token that the phone shows within `startWindowSeconds`; above it they are dropped in silence. `nil`: all. A
    /// developer got about 10 in a short time; Apple publishes nothing.
    public var startBudget: Int?
    /// For how long a start counts against `startBudget`, seconds. Nobody knows.
    public var startWindowSeconds: Int64

    public init(
        budgetPerHour: Int? = nil, activeSecondsMax: Int64? = nil, futureStampSecondsMax: Int64? = nil,
        startBudget: Int? = nil, startWindowSeconds: Int64 = 3_600
    ) {
        self.budgetPerHour = budgetPerHour
        self.activeSecondsMax = activeSecondsMax
        self.futureStampSecondsMax = futureStampSecondsMax
        self.startBudget = startBudget
        self.startWindowSeconds = startWindowSeconds
    }

    /// As a phone behaves, as far as it is known: 8 hours of life, stamps at most 8 hours ahead, 10 starts an hour, no budget of pushes (its
    /// size is unknown).
    public static let phone = DeviceRules(
        activeSecondsMax: 8 * 3_600, futureStampSecondsMax: 8 * 3_600, startBudget: 10)

    /// An ended card stays on the Lock Screen at most this long (Apple: 4 hours).
    public static let endedShownSecondsMax: Int64 = 4 * 3_600
}
