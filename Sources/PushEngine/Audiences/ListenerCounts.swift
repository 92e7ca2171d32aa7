import PushModel

/// Numbers of members that a version reaches by a broadcast, as their partitions reported last. They listened when it
/// arrived, and were owed nothing by token.
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
    /// Adds counts of others, as if all had been counted here.
    mutating func add(_ other: ListenerCounts) {
        self.production &+= other.production
        self.development &+= other.development
    }
}
