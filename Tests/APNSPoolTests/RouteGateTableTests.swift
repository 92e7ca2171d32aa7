import APNSProtocol
import PushModel
import Testing

@testable import APNSPool

/// Tests of each event in each state of a route's gate.
@Suite struct RouteGateTableTests {
    enum State: CaseIterable {
        case flowing
        /// The gate flows, and one more failure trips it.
        case doubted
        case resting
        case probing
        case recovering
        /// The gate recovers, and one more failure trips it.
        case relapsing
        /// The gate recovers, and one more success makes it flow.
        case recovered
    }
    enum Event: CaseIterable { case failed, failedWithRetryAfter, succeeded, reset, advanceEarly, advanceLate }

    private static func gate(_ state: State, _ random: inout SplitMix64) -> RouteGate {
        var gate = RouteGate(streakMax: 3, restMillisMin: 100, restMillisMax: 1_000)
        if state == .flowing { return gate }
        for _ in 0..<2 { _ = gate.failed(now: at(0), using: &random) }
        if state == .doubted { return gate }
        _ = gate.failed(now: at(0), using: &random)
        if state == .resting { return gate }
        _ = gate.advance(now: at(100))
        if state == .probing { return gate }
        _ = gate.succeeded()
        for _ in 0..<8 { _ = gate.succeeded() }
        if state == .relapsing { for _ in 0..<2 { _ = gate.failed(now: at(100), using: &random) } }
        if state == .recovered { for _ in 10..<RouteGate.recoveredInFlight - 1 { _ = gate.succeeded() } }
        return gate
    }

    /// Each cell has the state after the event, then the method's answer. The number after `recovering` is
    /// `inFlightMax`.
    private static let table = MachineTable(
        """
        event                 flowing     doubted     resting  probing      recovering    relapsing     recovered
        failed                flowing     resting:trip resting resting:restAgain recovering5 resting:trip recovering511
        failedWithRetryAfter  flowing     resting:trip resting resting:restAgain recovering5 resting:trip recovering511
        succeeded             flowing     flowing     resting  recovering2:resume recovering11 recovering3 flowing
        reset                 flowing     flowing     flowing  flowing      flowing       flowing       flowing
        advanceEarly          flowing     flowing     resting  probing      recovering10  recovering2   recovering1023
        advanceLate           flowing     flowing     probing  probing      recovering10  recovering2   recovering1023
        """)

    @Test func eachEventInEachState() throws {
        try MachineTable.expectEvents(Event.self, nameMethodsOf: ["APNSProtocol/Response/RouteGate"])
        Self.table.check(State.self, Event.self) { event, state in
            var random = SplitMix64(seed: 1)
            var gate = Self.gate(state, &random)
            var answer = ""
            switch event {
            case .failed:
                let action = gate.failed(now: at(100), using: &random)
                answer = action == .none ? "" : ":\(action)"
            case .failedWithRetryAfter:
                let action = gate.failed(now: at(100), retryAfterSeconds: 30, using: &random)
                answer = action == .none ? "" : ":\(action)"
                if action != .none { #expect((gate.nextDeadlineMillis ?? 0) >= 30_100, "\(state)") }
            case .succeeded:
                let action = gate.succeeded()
                answer = action == .none ? "" : ":\(action)"
            case .reset: gate.reset()
            case .advanceEarly:
                let hasBegun = gate.advance(now: at(10))
                #expect(!hasBegun)
            case .advanceLate:
                let hasBegun = gate.advance(now: at(200))
                #expect(hasBegun == (state == .resting))
            }
            Self.expectConsistent(gate, "\(event) while \(state)")
            return Self.describe(gate.state) + answer
        }
    }

    private static func describe(_ state: RouteGate.State) -> String {
        switch state {
        case .flowing: "flowing"
        case .resting: "resting"
        case .probing: "probing"
        case .recovering(let inFlightMax): "recovering\(inFlightMax)"
        }
    }

    /// Expects that the gate lets through as many requests as its state allows, and has a deadline only while it rests.
    private static func expectConsistent(_ gate: RouteGate, _ what: Comment) {
        let let0 = gate.limited(5_000, inFlight: 0)
        switch gate.state {
        case .flowing:
            #expect(let0 == 5_000 && !gate.isHolding && gate.nextDeadlineMillis == nil, what)
        case .resting(let untilMillis):
            #expect(let0 == 0 && gate.isHolding && gate.nextDeadlineMillis == untilMillis, what)
        case .probing:
            #expect(let0 == 1 && gate.isHolding && gate.nextDeadlineMillis == nil, what)
            #expect(gate.limited(5_000, inFlight: 1) == 0, what)
        case .recovering(let inFlightMax):
            #expect(let0 == inFlightMax && !gate.isHolding && gate.nextDeadlineMillis == nil, what)
            #expect(gate.limited(5_000, inFlight: inFlightMax + 7) == 0, what)
        }
    }
}
