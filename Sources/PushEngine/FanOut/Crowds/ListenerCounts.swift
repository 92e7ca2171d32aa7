import PushModel

/// Number of members that a version reaches by broadcast, by environment, as their partitions last reported. These
/// members listened when the version arrived, and were owed nothing by token.
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
