/// Rules of the phone that depend on time or on unpublished numbers. One value serves all devices.
///
/// The default applies only the order of pushes, so that two devices fed at different speeds can be compared.
public struct DeviceRules: Equatable, Sendable {
    /// Maximum number of pushes at priority 10 that the phone shows in a rolling hour; it silently drops more. `nil`
    /// for no limit. Apple publishes no number. The simulated APNs has one count for all cards that starts have put up
    /// on a phone.
    public var budgetPerHour: Int?
    /// Time after its first push at which an activity ends by itself, seconds. `nil` for never. Apple: 8 hours.
    public var activeSecondsMax: Int64?
    /// How far an update's stamp may be ahead of the phone's clock, seconds; a later one is dropped. `nil` for no
    /// limit. Apple's forum: 8 hours.
    public var futureStampSecondsMax: Int64?
    /// Maximum number of starts to one push-to-start token that the phone shows within `startWindowSeconds`; it
    /// silently drops more. `nil` for no limit. A developer got about 10 in a short time; Apple publishes nothing.
    public var startBudget: Int?
    /// How long a start counts against `startBudget`, seconds. Apple publishes nothing.
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

    /// The rules of a phone, as far as known: 8 hours of life, stamps at most 8 hours ahead, 10 starts an hour, no
    /// budget of pushes (its size is unknown).
    public static let phone = DeviceRules(
        activeSecondsMax: 8 * 3_600, futureStampSecondsMax: 8 * 3_600, startBudget: 10)

    /// Longest time for which an ended card stays on the Lock Screen, seconds (Apple: 4 hours).
    public static let endedShownSecondsMax: Int64 = 4 * 3_600
}
