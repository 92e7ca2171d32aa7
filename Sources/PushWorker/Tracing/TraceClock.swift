import PushModel
import Tracing

/// A moment in the form that tracers take.
struct TraceMoment: TracerInstant {
    var nanosecondsSinceEpoch: UInt64

    static func < (left: Self, right: Self) -> Bool { left.nanosecondsSinceEpoch < right.nanosecondsSinceEpoch }

    func later(byMicros micros: Int64) -> TraceMoment {
        TraceMoment(nanosecondsSinceEpoch: self.nanosecondsSinceEpoch &+ UInt64(max(0, micros)) &* 1_000)
    }
}

/// A clock for one trace. It starts at the wall clock's time when the trace began, and then follows the steady clock.
/// So no span of a trace ends before it begins.
struct TraceClock {
    private let beganSteadyMillis: Int64
    private let beganWallMillis: Int64

    init(_ began: EngineTime) {
        self.beganSteadyMillis = began.steadyMillis
        self.beganWallMillis = began.wallMillis
    }

    func moment(of now: EngineTime) -> TraceMoment { self.moment(ofSteadyMillis: now.steadyMillis) }

    func moment(ofSteadyMillis steadyMillis: Int64) -> TraceMoment {
        let millis = self.beganWallMillis + max(0, steadyMillis - self.beganSteadyMillis)
        return TraceMoment(nanosecondsSinceEpoch: UInt64(max(0, millis)) * 1_000_000)
    }
}

extension Tracer {
    /// Like `startSpan`, for a tracer of unknown type.
    func startAnySpanAt(
        _ name: String, context: ServiceContext, ofKind kind: SpanKind, at moment: TraceMoment
    ) -> any Tracing.Span {
        self.startSpan(
            name, context: context, ofKind: kind, at: moment, function: #function, file: #fileID, line: #line)
    }
}
