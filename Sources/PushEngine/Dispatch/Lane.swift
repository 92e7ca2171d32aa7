import PushModel

/// An errand of an app in one environment: its ready slots, its share of what is pending, and the guard over its
/// tokens.
struct Lane {
    /// The lane's route; `nil`: the app has none in this environment, or the errand needs none.
    var route: UInt16?
    var ready = ReadyQueue()
    /// Number of valid entries in `ready`.
    var readyCount = 0
    /// Number of slots with something to send or in flight.
    var pendingSlots = 0
    var tokenGuard = TokenRemovalGuard()
    var gate = LaneGate()
    /// The passes that have members to serve.
    var passes = PassQueue()

    init(route: UInt16?) { self.route = route }
}

extension LaneIndex {
    /// Number of environments. `allCases` would be built again for every call.
    private static let environmentCount = PushEnvironment.allCases.count
    private static let errandCount = Errand.allCases.count

    init(app: UInt16, environment: PushEnvironment, errand: Errand = .push) {
        self.init(
            index: (Int(app) * Self.environmentCount + Int(environment.rawValue)) * Self.errandCount
                + Int(errand.rawValue))
    }
}

extension Slot {
    var lane: LaneIndex { LaneIndex(app: self.app, environment: self.environment, errand: self.errand) }
}
