import APNSProtocol
import Testing

@testable import ChannelKeeping

struct BeaconScheduleTests {
    private static let minute: Int64 = 60_000
    private let schedule = BeaconSchedule(lingerMillis: 8 * 3_600_000)

    @Test func beaconsComeAfterMinutesThenHourly() {
        let offsets = (0..<20).compactMap { self.schedule.offsetMillis(of: $0) }
        #expect(offsets == ([1, 5, 15, 30, 60, 120, 180, 240, 300, 360, 420] as [Int64]).map { $0 * Self.minute })
        #expect(self.schedule.count == offsets.count)
    }

    /// `dueCount` and `offsetMillis` agree at every edge.
    @Test func dueCountFollowsTheOffsets() {
        for index in 0..<self.schedule.count {
            guard let offset = self.schedule.offsetMillis(of: index) else { continue }
            #expect(self.schedule.dueCount(afterMillis: offset - 1) == index)
            #expect(self.schedule.dueCount(afterMillis: offset) == index + 1)
        }
        #expect(self.schedule.dueCount(afterMillis: .max) == 11)
        #expect(self.schedule.dueCount(afterMillis: -1) == 0)
    }

    @Test(arguments: [Int64(0), 1, 60_000, 60_001, 1_800_001, 3_600_000, 3_600_001])
    func aShortLingerHasFewer(lingerMillis: Int64) {
        let schedule = BeaconSchedule(lingerMillis: lingerMillis)
        let offsets = (0..<20).compactMap { schedule.offsetMillis(of: $0) }
        #expect(offsets.count == schedule.count)
        #expect(offsets.allSatisfy { $0 < lingerMillis })
    }

    /// After the clock was set back, the number of beacons sent shows how much time has passed.
    @Test func aClockSetBackRepeatsNothing() {
        #expect(self.schedule.elapsedMillis(endedMillis: 1_000, beaconsSent: 0, wallMillis: -9_000_000) == 0)
        #expect(self.schedule.elapsedMillis(endedMillis: 1_000, beaconsSent: 3, wallMillis: 0) == 15 * Self.minute)
        #expect(
            self.schedule.elapsedMillis(endedMillis: 0, beaconsSent: 1, wallMillis: 40 * Self.minute)
                == 40 * Self.minute)
        #expect(self.schedule.elapsedMillis(endedMillis: 0, beaconsSent: 999, wallMillis: 0) == 420 * Self.minute)
    }
}

struct ReconcilePlanTests {
    private func kept(
        _ number: Int64, _ id: String, _ phase: KeptChannel.Phase, isOwned: Bool = true, hasOwner: Bool = true
    ) -> ReconcilePlan.Kept {
        let owner = isOwned ? KeptOwner(audience: Array("a".utf8), life: number) : nil
        var channel = KeptChannel(owner: owner, policy: .none, phase: phase, sinceMillis: 0)
        channel.id = Array(id.utf8)
        return .init(number: number, channel: channel, hasOwner: hasOwner)
    }

    @Test func eachDisagreementHasItsStep() {
        let plan = ReconcilePlan(
            kept: [
                self.kept(1, "fine", .open), self.kept(2, "orphan", .open, hasOwner: false),
                self.kept(3, "missing", .open), self.kept(4, "lingers", .ended, hasOwner: false),
                self.kept(5, "gone", .ended), self.kept(6, "warm", .open, isOwned: false),
                self.kept(7, "shown", .possiblyOurs, isOwned: false), self.kept(8, "leaving", .deleting),
                self.kept(9, "left", .deleted), self.kept(10, "warm-gone", .open, isOwned: false),
            ],
            listed: ["other", "fine", "orphan", "lingers", "warm", "shown", "leaving", "left"].map { Array($0.utf8) },
            wallMillis: 1_000_000, settleMillis: 60_000)
        #expect(
            plan.steps == [
                .delete(number: 2, id: Array("orphan".utf8)), .openAgain(number: 3, id: Array("missing".utf8)),
                .forget(number: 5, id: Array("gone".utf8)), .forget(number: 10, id: Array("warm-gone".utf8)),
            ])
        #expect(plan.possiblyOurs == [Array("shown".utf8)])
        #expect(plan.unknown == [Array("other".utf8)])
    }

    /// A new channel that is not in Apple's list does not count as missing yet, because the list lags.
    @Test func whatIsNewIsNotMissing() {
        let kept = [self.kept(1, "new", .open)]
        #expect(ReconcilePlan(kept: kept, listed: [], wallMillis: 59_999, settleMillis: 60_000).steps == [])
        #expect(ReconcilePlan(kept: kept, listed: [], wallMillis: 60_000, settleMillis: 60_000).steps.count == 1)
    }
}

struct RefusalMeaningTests {
    @Test(arguments: [
        (429, "TooManyRequests", RefusalMeaning.later), (503, "Service Unavailable", .later), (503, "Shutdown", .later),
        (500, "InternalServerError", .mayBeDone), (502, "", .mayBeDone), (403, "ExpiredProviderToken", .later),
        (429, "TooManyProviderTokenUpdates", .later), (400, "CannotCreateChannelConfig", .limitReached),
        (400, "ChannelNotRegistered", .channelGone), (400, "BadChannelId", .channelGone),
        (400, "FeatureNotEnabled", .forGood), (403, "TopicMismatch", .forGood), (403, "InvalidProviderToken", .forGood),
        (400, "BadRequestPayload", .forGood),
    ])
    func refusalsMeanWhatAppleSays(status: UInt16, reason: String, meaning: RefusalMeaning) {
        #expect(RefusalMeaning(status: status, reason: reason) == meaning)
    }
}
