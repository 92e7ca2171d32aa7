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

    public init(budgetPerHour: Int? = nil, activeSecondsMax: Int64? = nil, futureStampSecondsMax: Int64? = nil) {
        self.budgetPerHour = budgetPerHour
        self.activeSecondsMax = activeSecondsMax
        self.futureStampSecondsMax = futureStampSecondsMax
    }

    /// As a phone behaves, as far as it is known: 8 hours of life, stamps at most 8 hours ahead, no budget (its size is unknown).
    public static let phone = DeviceRules(activeSecondsMax: 8 * 3_600, futureStampSecondsMax: 8 * 3_600)

    /// An ended card stays on the Lock Screen at most this long (Apple: 4 hours).
    public static let endedShownSecondsMax: Int64 = 4 * 3_600
}
