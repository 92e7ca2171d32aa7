import APNSProtocol
import PushModel
import Testing

@testable import ChannelKeeping

/// Tests of the order of the keeper's actions and of its records.
struct KeeperOrderTests {
    private static let a = Array("a".utf8)

    /// A keeper that has missed the times of some beacons sends one beacon for all of them, and then deletes the
    /// channel.
    @Test func aChannelDoesNotGoWithoutItsLastBeacon() throws {
        var ended = KeptChannel(owner: KeeperBench.owner("m"), policy: .none, phase: .ended, sinceMillis: 0)
        ended.id = Self.a
        ended.isAnnounced = true
        ended.beaconsSent = 3
        ended.end = [1]
        ended.endedMillis = 1_700_000_000_000 - 10 * 3_600_000 + 7_000_000
        var bench = KeeperBench(records: [(0, ended)])
        #expect(bench.beacons.count == 1)
        #expect(bench.deletions.isEmpty)
        let first = try #require(bench.beacons.first)
        bench.take { $0.beaconAnswered(request: first, .failed, now: $1) }
        bench.wait(30_000)
        #expect(bench.beacons.count == 2)
        let second = try #require(bench.beacons.last)
        bench.take { $0.beaconAnswered(request: second, .sent, now: $1) }
        #expect(bench.deletions.map(\.1) == [Self.a])
    }

    /// A beacon that cannot be sent delays the channel's deletion only by `beaconGraceMillis`.
    @Test func theGraceOfABeaconEnds() {
        var ended = KeptChannel(owner: KeeperBench.owner("m"), policy: .none, phase: .ended, sinceMillis: 0)
        ended.id = Self.a
        ended.end = [1]
        ended.endedMillis = 1_700_000_000_000 - 9 * 3_600_000 - 1
        let bench = KeeperBench(records: [(0, ended)])
        #expect(bench.beacons.isEmpty)
        #expect(bench.deletions.map(\.1) == [Self.a])
    }

    @Test func aLifeBeforeTheNewestGetsNothing() {
        var bench = KeeperBench()
        bench.open("match", life: 2)
        bench.open("match", life: 1, receipt: 9)
        #expect(bench.news == [.refused(.lifeIsOver)])
        #expect(bench.actions.contains(.resolve(receipt: 9)))
        #expect(bench.state.count == 1)
    }

    /// The record of the channel that serves a wish is written before the wish is removed. So a crash between the two
    /// writes loses no wish.
    @Test func aWishGoesBehindTheChannelThatServesIt() {
        let now = EngineTime(steadyMillis: 0, wallMillis: 1_700_000_000_000)
        let wish = KeptChannel(owner: KeeperBench.owner("m"), policy: .none, phase: .wanted, sinceMillis: 0)
        var warm = KeptChannel(owner: nil, policy: .none, phase: .open, sinceMillis: 0)
        warm.id = Self.a
        var keeper = ChannelKeeper(settings: KeeperSettings(), records: [(0, wish), (1, warm)], seed: 1, now: now)
        let numbers = keeper.timePassed(now: now).compactMap {
            if case .write(let number, let channel, _) = $0 { (number, channel?.owner != nil) } else { nil }
        }
        #expect(numbers.map(\.0) == [1, 0])
        #expect(numbers.map(\.1) == [true, false])
        var served = warm
        served.owner = wish.owner
        let bench = KeeperBench(records: [(0, wish), (1, served)])
        #expect(bench.state[0] == nil, "a takeover between the two drops the wish")
        #expect(bench.news == [.opened(id: Self.a)])
    }

    /// `state` never has two intents. After a creation that made nothing, the next list waits until `state` no longer
    /// has the intent.
    @Test func nothingIsMadeBeforeTheIntentBeforeIsGone() throws {
        var bench = KeeperBench()
        bench.list([])
        bench.open("first")
        bench.open("second")
        bench.list([])
        let request = try #require(bench.creations.last)
        let listCount = bench.lists.count
        var now = bench.now
        let actions = bench.keeper.created(request: request, .refused(status: 429, reason: "TooManyRequests"), now: now)
        guard case .write(0, _, let write) = actions.first else {
            Issue.record("no write")
            return
        }
        now.steadyMillis += 3_600_000
        bench.now = now
        bench.wait(0)
        #expect(bench.lists.count == listCount)
        bench.take { $0.stateAcknowledged(write: write, now: $1) }
        #expect(bench.lists.count == listCount + 1)
    }
}
