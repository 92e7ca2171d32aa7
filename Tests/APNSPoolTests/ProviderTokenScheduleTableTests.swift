import PushModel
import Testing

@testable import APNSPool

/// Tests of each event in each state of a key's token.
@Suite struct ProviderTokenScheduleTableTests {
    enum State: CaseIterable {
        /// No token is signed yet.
        case none
        /// The token is five minutes old.
        case young
        /// The token is five minutes old, and the wall clock was set after it was signed.
        case clockSet
        /// The token is 25 minutes old. The token before it is 70 minutes old, too old to be used again.
        case settled
        /// The token was signed five minutes ago. The token before it is 44 minutes old, and could be used again.
        case changed
        /// The token is 45 minutes old.
        case due
        /// A token was signed five minutes ago, before its regular time.
        case aheadOfSchedule
        /// The older of two tokens has been in use for five minutes.
        case reverted
        /// The older of two tokens has been in use for twenty minutes.
        case revertedLong
    }
    enum Event: CaseIterable {
        case due, signed, expiredReported, invalidReported, tooManyUpdatesReported, exchanged
    }

    private static let minute: Int64 = 60_000
    /// A wall time on the 45-minute grid.
    private static let gridMillis: Int64 = 2_700_000 * 629_000

    private static func time(_ minutes: Int64, wallAhead: Int64 = 0) -> EngineTime {
        EngineTime(
            steadyMillis: minutes * Self.minute, wallMillis: Self.gridMillis + (minutes + wallAhead) * Self.minute)
    }

    /// A schedule in `state`, and the time at which the event happens.
    private static func schedule(_ state: State) -> (ProviderTokenSchedule, EngineTime) {
        var schedule = ProviderTokenSchedule()
        guard state != .none else { return (schedule, Self.time(0)) }
        guard state != .reverted, state != .revertedLong else {
            // The first token is signed near the end of a period. The second token's issue time is on the grid, 5
            // minutes before its signing.
            schedule.signed(issuedAtSeconds: Self.time(30).wallSeconds, now: Self.time(30))
            schedule.signed(issuedAtSeconds: Self.time(45).wallSeconds, now: Self.time(50))
            _ = schedule.tooManyUpdatesReported(now: Self.time(51))
            schedule.exchanged(now: Self.time(51))
            return (schedule, Self.time(state == .reverted ? 56 : 71))
        }
        schedule.signed(issuedAtSeconds: Self.time(0).wallSeconds, now: Self.time(0))
        switch state {
        case .none, .young, .reverted, .revertedLong: return (schedule, Self.time(5))
        case .clockSet: return (schedule, Self.time(5, wallAhead: 60))
        case .due: return (schedule, Self.time(45))
        case .settled:
            schedule.signed(issuedAtSeconds: Self.time(45).wallSeconds, now: Self.time(45))
            return (schedule, Self.time(70))
        case .changed:
            schedule.signed(issuedAtSeconds: Self.time(39).wallSeconds, now: Self.time(39))
            return (schedule, Self.time(44))
        case .aheadOfSchedule:
            _ = schedule.expiredReported(now: Self.time(5))
            schedule.signed(issuedAtSeconds: Self.time(5).wallSeconds, now: Self.time(5))
            return (schedule, Self.time(10))
        }
    }

    /// Each cell has the decision before the slash: `sign` with the minute of the issue time, and `!` if ahead of
    /// schedule. After the slash it has the age of the token then in use, in minutes, and the decision that is due
    /// next.
    private static let table = MachineTable(
        """
        event                   none      young     clockSet  settled   changed   due       aheadOfSchedule reverted  revertedLong
        due                     sign0/0   keep/5    keep/5    keep/25   keep/5    sign45/0  keep/5    keep/26   previous/26
        signed                  /0        /0        /0        /0        /0        /0        /0        /0        /0
        expiredReported         sign0/0   sign5!/0  sign65!/0 sign70/0  sign44!/0 sign45/0  keep/5    previous/11 previous/26
        invalidReported         keep/-sign0 keep/5    sign65!/0 keep/25   keep/5    keep/45sign45 keep/5    keep/26   keep/41previous
        tooManyUpdatesReported  keep/-sign0 keep/5    keep/5    keep/25   previous/44 keep/45   keep/5    keep/26   keep/41previous
        exchanged               /-sign0   /-sign0   /-sign45  /70previous /44       /-sign45  /-sign10  /11       /26
        """)

    @Test func eachEventInEachState() throws {
        try MachineTable.expectEvents(Event.self, nameMethodsOf: ["APNSPool/ProviderToken/ProviderTokenSchedule"])
        Self.table.check(State.self, Event.self) { event, state in
            var (schedule, now) = Self.schedule(state)
            let decision: ProviderTokenSchedule.Decision? =
                switch event {
                case .due: schedule.due(now: now)
                case .expiredReported: schedule.expiredReported(now: now)
                case .invalidReported: schedule.invalidReported(now: now)
                case .tooManyUpdatesReported: schedule.tooManyUpdatesReported(now: now)
                case .signed, .exchanged: nil
                }
            switch event {
            case .signed: schedule.signed(issuedAtSeconds: now.wallSeconds, now: now)
            case .exchanged: schedule.exchanged(now: now)
            case .due, .expiredReported, .invalidReported, .tooManyUpdatesReported: break
            }
            switch decision {
            case .sign(let issuedAtSeconds, _): schedule.signed(issuedAtSeconds: issuedAtSeconds, now: now)
            case .usePrevious: schedule.exchanged(now: now)
            case .keep, nil: break
            }
            let age = schedule.ageSeconds(now: now).map { "\($0 / 60)" } ?? "-"
            let next = schedule.due(now: now)
            // After a decision was carried out, no other decision may be due at once. Otherwise the store would loop
            // for ever.
            if decision != .keep, decision != nil { #expect(next == .keep, "\(event) while \(state)") }
            return (decision.map(Self.describe) ?? "") + "/" + age + (next == .keep ? "" : Self.describe(next))
        }
    }

    private static func describe(_ decision: ProviderTokenSchedule.Decision) -> String {
        switch decision {
        case .keep: "keep"
        case .sign(let issuedAtSeconds, let isAheadOfSchedule):
            "sign\((issuedAtSeconds - Self.gridMillis / 1_000) / 60)\(isAheadOfSchedule ? "!" : "")"
        case .usePrevious: "previous"
        }
    }
}
