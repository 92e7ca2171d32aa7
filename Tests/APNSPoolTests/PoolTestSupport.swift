import PushModel
import Testing

@testable import APNSPool

/// The time `millis` after the start of a test, on the steady and the wall clock.
func at(_ millis: Int64) -> EngineTime { EngineTime(steadyMillis: millis, wallMillis: 1_700_000_000_000 + millis) }

/// Expects `value == expected`. Use it for results of mutating methods, which the macro `#expect` cannot call.
func expectEqual<Value: Equatable>(
    _ value: Value, _ expected: Value, _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(value == expected, comment, sourceLocation: sourceLocation)
}

extension ConnectionPool {
    /// Brings a connection that the pool has requested to its first SETTINGS.
    mutating func ready(_ connection: Int, streams: Int = 1_000, now: EngineTime) {
        self.transportConnected(connection, now: now)
        self.settingsReceived(connection, streamsMax: streams, now: now)
    }

    /// Leases a stream and begins a request on it. The stream id is 1.
    mutating func begin(push: UInt64, app: UInt16 = 0, now: EngineTime) -> StreamLease? {
        guard let lease = self.lease(now: now) else { return nil }
        self.began(
            lease, push: PushID(rawValue: push), app: app, streamID: 1, tokenGeneration: self.tokenGeneration, now: now,
            micros: now.steadyMillis * 1_000)
        return lease
    }

    mutating func drainActions() -> [PoolAction] {
        var actions: [PoolAction] = []
        self.takeActions(into: &actions)
        return actions
    }
}
