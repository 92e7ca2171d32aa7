import PushModel
import Testing

@testable import APNSPool

@Suite struct ProviderTokenScheduleTests {
    private static let minute: Int64 = 60_000
    /// A wall time on the 45-minute grid.
    private static let gridMillis: Int64 = 2_700_000 * 629_000

    private func time(_ steadyMillis: Int64, _ wallMillis: Int64) -> EngineTime {
        EngineTime(steadyMillis: steadyMillis, wallMillis: wallMillis)
    }

    @Test func theFirstTokenIsDueAtOnce() {
        let schedule = ProviderTokenSchedule()
        #expect(
            schedule.due(now: self.time(5, Self.gridMillis))
                == .sign(issuedAtSeconds: Self.gridMillis / 1_000, isAheadOfSchedule: false))
    }

    /// Cases: the minute of a 45-minute period at which a process starts, and the age of its first token at that time.
    @Test(arguments: zip([0, 1, 24, 25, 26, 30, 44] as [Int64], [0, 1, 24, 25, 1, 0, 4] as [Int64]))
    func issueTimesLieOnTheGridOrTheFineGrid(startMinute: Int64, ageMinutes: Int64) {
        let now = self.time(0, Self.gridMillis + startMinute * Self.minute)
        #expect(
            ProviderTokenSchedule().due(now: now)
                == .sign(issuedAtSeconds: now.wallSeconds - ageMinutes * 60, isAheadOfSchedule: false))
    }

    /// Processes may start at any minute of a period. Each process soon uses issue times of the common grid.
    @Test(arguments: 0..<45 as Range<Int64>) func everyStartJoinsTheGrid(startMinute: Int64) throws {
        let log = self.run(minutes: 200, startWall: Self.gridMillis + startMinute * Self.minute)
        let last = try #require(log.last)
        #expect(last.issuedAtSeconds.isMultiple(of: 2_700))
        for (earlier, later) in zip(log, log.dropFirst()) {
            #expect(later.atMillis - earlier.atMillis >= 20 * Self.minute, "two new tokens within 20 minutes")
        }
        #expect(log.count <= 200 / 45 + 3)
    }

    private struct Signed { var atMillis: Int64; var issuedAtSeconds: Int64 }

    /// Asks the schedule once a second, and checks that the token in use is never older than 45 minutes and one second.
    private func run(minutes: Int64, startWall: Int64) -> [Signed] {
        var schedule = ProviderTokenSchedule()
        var log: [Signed] = []
        for second in 0..<minutes * 60 {
            let now = self.time(second * 1_000, startWall + second * 1_000)
            switch schedule.due(now: now) {
            case .keep: break
            case .sign(let issuedAtSeconds, let isAheadOfSchedule):
                #expect(!isAheadOfSchedule)
                schedule.signed(issuedAtSeconds: issuedAtSeconds, now: now)
                log.append(Signed(atMillis: second * 1_000, issuedAtSeconds: issuedAtSeconds))
            case .usePrevious: Issue.record("nobody asked to go back")
            }
            #expect((0...2_700).contains(schedule.ageSeconds(now: now) ?? -1))
        }
        return log
    }

    @Test(arguments: [-7_200_000, -600_000, 600_000, 7_200_000, 86_400_000] as [Int64])
    func aSteppedClockNeitherAgesNorRejuvenatesTheToken(stepMillis: Int64) {
        var schedule = ProviderTokenSchedule()
        let start = self.time(0, Self.gridMillis)
        schedule.signed(issuedAtSeconds: start.wallSeconds, now: start)
        let before = self.time(44 * Self.minute, Self.gridMillis + 44 * Self.minute + stepMillis)
        #expect(schedule.due(now: before) == .keep)
        #expect(schedule.ageSeconds(now: before) == Int64(44 * 60))
        let after = self.time(45 * Self.minute, Self.gridMillis + 45 * Self.minute + stepMillis)
        guard case .sign = schedule.due(now: after) else {
            Issue.record("the token was not renewed at 45 minutes")
            return
        }
    }

    @Test func expiredWithinTwentyMinutesGivesOneTokenOutOfTurn() {
        var schedule = ProviderTokenSchedule()
        schedule.signed(issuedAtSeconds: Self.gridMillis / 1_000, now: self.time(0, Self.gridMillis))
        let told = self.time(5 * Self.minute + 1, Self.gridMillis + 5 * Self.minute + 1)
        let exact = Self.gridMillis / 1_000 + 300
        expectEqual(schedule.expiredReported(now: told), .sign(issuedAtSeconds: exact, isAheadOfSchedule: true))
        schedule.signed(issuedAtSeconds: exact, now: told)
        let again = self.time(24 * Self.minute, Self.gridMillis + 24 * Self.minute)
        expectEqual(schedule.expiredReported(now: again), .keep, "one within 20 minutes")
        #expect(schedule.due(now: again) == .keep)
        let later = self.time(26 * Self.minute, Self.gridMillis + 26 * Self.minute)
        // The clock seems slow, so a token from an earlier point of the grid would be expired at once.
        #expect(
            schedule.due(now: later)
                == .sign(issuedAtSeconds: Self.gridMillis / 1_000 + 26 * 60, isAheadOfSchedule: false))
    }

    @Test func expiredAfterTwentyMinutesIsInTurn() {
        var schedule = ProviderTokenSchedule()
        schedule.signed(issuedAtSeconds: Self.gridMillis / 1_000, now: self.time(0, Self.gridMillis))
        let told = self.time(21 * Self.minute, Self.gridMillis + 21 * Self.minute)
        expectEqual(
            schedule.expiredReported(now: told),
            .sign(issuedAtSeconds: told.wallSeconds, isAheadOfSchedule: false))
    }

    @Test func expiredAfterTheClockWasSetIsMendedAtOnce() {
        var schedule = ProviderTokenSchedule()
        // The token was signed with a clock that was two hours slow. The clock is set right 3 minutes later.
        let slow = Self.gridMillis - 120 * Self.minute
        schedule.signed(issuedAtSeconds: slow / 1_000, now: self.time(0, slow))
        let set = self.time(3 * Self.minute, Self.gridMillis + 3 * Self.minute)
        #expect(schedule.due(now: set) == .keep)
        let exact = set.wallSeconds
        expectEqual(schedule.expiredReported(now: set), .sign(issuedAtSeconds: exact, isAheadOfSchedule: true))
        schedule.signed(issuedAtSeconds: exact, now: set)
        // Another step of the clock soon afterwards does not cause another token ahead of schedule.
        let again = self.time(4 * Self.minute, Self.gridMillis + 300 * Self.minute)
        expectEqual(schedule.expiredReported(now: again), .keep)
        // The next regular token uses the grid again.
        let inTurn = self.time(23 * Self.minute, Self.gridMillis + 23 * Self.minute)
        #expect(
            schedule.due(now: inTurn) == .sign(issuedAtSeconds: Self.gridMillis / 1_000, isAheadOfSchedule: false))
    }

    @Test func refusedCredentialsAreTheTokensFaultOnlyAfterTheClockWasSet() {
        var schedule = ProviderTokenSchedule()
        let fast = Self.gridMillis + 120 * Self.minute
        schedule.signed(issuedAtSeconds: fast / 1_000, now: self.time(0, fast))
        expectEqual(schedule.invalidReported(now: self.time(Self.minute, fast + Self.minute)), .keep)
        let set = self.time(2 * Self.minute, Self.gridMillis + 2 * Self.minute)
        expectEqual(
            schedule.invalidReported(now: set), .sign(issuedAtSeconds: set.wallSeconds, isAheadOfSchedule: true))
        schedule.signed(issuedAtSeconds: set.wallSeconds, now: set)
        expectEqual(schedule.invalidReported(now: set), .keep, "the clock stands since")
        // The schedule does not return to the refused token.
        expectEqual(schedule.tooManyUpdatesReported(now: set), .keep)
    }

    /// The clock was set back by a second shortly before the renewal. The renewal waits for the point of the grid.
    @Test func aSmallCorrectionDoesNotMissTheGrid() {
        var schedule = ProviderTokenSchedule()
        schedule.signed(issuedAtSeconds: Self.gridMillis / 1_000, now: self.time(0, Self.gridMillis))
        let due = self.time(45 * Self.minute, Self.gridMillis + 45 * Self.minute - 1_000)
        #expect(schedule.due(now: due) == .keep)
        let next = self.time(45 * Self.minute + 1_000, Self.gridMillis + 45 * Self.minute)
        #expect(
            schedule.due(now: next) == .sign(issuedAtSeconds: Self.gridMillis / 1_000 + 2_700, isAheadOfSchedule: false)
        )
    }

    @Test func tooManyUpdatesGoBackToTheTokenBefore() {
        var schedule = ProviderTokenSchedule()
        schedule.signed(issuedAtSeconds: Self.gridMillis / 1_000, now: self.time(0, Self.gridMillis))
        let renewed = self.time(45 * Self.minute, Self.gridMillis + 45 * Self.minute)
        schedule.signed(issuedAtSeconds: renewed.wallSeconds, now: renewed)
        let told = self.time(46 * Self.minute, Self.gridMillis + 46 * Self.minute)
        expectEqual(schedule.tooManyUpdatesReported(now: told), .usePrevious)
        schedule.exchanged(now: told)
        #expect(schedule.ageSeconds(now: told) == Int64(46 * 60))
        #expect(schedule.due(now: told) == .keep)
        expectEqual(schedule.tooManyUpdatesReported(now: told), .keep, "there is nothing further back")
        // The older token may not be used past 55 minutes. Then the newer one returns, without a third signature.
        let aged = self.time(55 * Self.minute, Self.gridMillis + 55 * Self.minute)
        #expect(schedule.due(now: aged) == .usePrevious)
        schedule.exchanged(now: aged)
        #expect(schedule.ageSeconds(now: aged) == Int64(10 * 60))
        #expect(schedule.due(now: aged) == .keep)
    }

    @Test func anOldTokenIsNotGoneBackTo() {
        var schedule = ProviderTokenSchedule()
        schedule.signed(issuedAtSeconds: Self.gridMillis / 1_000, now: self.time(0, Self.gridMillis))
        let late = self.time(54 * Self.minute, Self.gridMillis + 54 * Self.minute)
        schedule.signed(issuedAtSeconds: late.wallSeconds, now: late)
        expectEqual(
            schedule.tooManyUpdatesReported(now: self.time(56 * Self.minute, Self.gridMillis + 56 * Self.minute)), .keep
        )
    }

    /// The clock steps and APNs refuses tokens at random. Each connection sees new tokens at least 20 minutes apart,
    /// and no three tokens are signed within 20 minutes.
    @Test(arguments: 1...200 as ClosedRange<UInt64>) func newTokensKeepTheirDistance(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var schedule = ProviderTokenSchedule()
        var wallOffset = Self.gridMillis + Int64.random(in: 0..<2_700_000, using: &random)
        var steady: Int64 = 0
        var signatures: [Int64] = []
        for _ in 0..<2_000 {
            steady += Int64.random(in: 1...60_000, using: &random)
            if Int.random(in: 0..<50, using: &random) == 0 {
                wallOffset += Int64.random(in: -7_200_000...7_200_000, using: &random)
            }
            let now = self.time(steady, steady + wallOffset)
            let decision =
                switch Int.random(in: 0..<20, using: &random) {
                case 0: schedule.expiredReported(now: now)
                case 1: schedule.tooManyUpdatesReported(now: now)
                case 2: schedule.invalidReported(now: now)
                default: schedule.due(now: now)
                }
            switch decision {
            case .keep: break
            case .usePrevious: schedule.exchanged(now: now)
            case .sign(let issuedAtSeconds, let isAheadOfSchedule):
                schedule.signed(issuedAtSeconds: issuedAtSeconds, now: now)
                if let last = signatures.last, steady - last < 20 * Self.minute {
                    #expect(isAheadOfSchedule, "seed \(seed)")
                }
                if signatures.count > 1 {
                    #expect(
                        steady - signatures[signatures.count - 2] >= 20 * Self.minute,
                        "three in 20 minutes, seed \(seed)"
                    )
                }
                signatures.append(steady)
            }
        }
        #expect(signatures.count > 10)
    }
}
