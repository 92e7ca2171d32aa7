import Testing

@testable import PushEngine

/// Steady and wall time in one.
func at(_ millis: Int64) -> EngineTime { EngineTime(steadyMillis: millis, wallMillis: 1_700_000_000_000 + millis) }

/// `#expect(value == expected)` for values that come from mutating methods, which the macro cannot call.
func expectEqual<Value: Equatable>(
    _ value: Value, _ expected: Value, _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(value == expected, comment, sourceLocation: sourceLocation)
}
