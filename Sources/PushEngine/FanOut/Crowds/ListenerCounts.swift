import PushModel

/// Number of members that a version reaches by broadcast, by environment: of one partition, or summed over partitions.
/// Members that got the version by token are not counted.
struct ListenerCounts: Equatable {
    private(set) var production: UInt64 = 0
    private(set) var development: UInt64 = 0

    var isZero: Bool { self.production == 0 && self.development == 0 }

    subscript(environment: PushEnvironment) -> UInt64 {
        get { environment == .production ? self.production : self.development }
        set {
            switch environment {
            case .production: self.production = newValue
            case .development: self.development = newValue
            }
        }
    }
    /// Adds counts of another partition, as if all had been counted here.
    mutating func add(_ other: ListenerCounts) {
        self.production &+= other.production
        self.development &+= other.development
    }
}
