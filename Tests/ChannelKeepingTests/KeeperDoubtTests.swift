import APNSProtocol
import PushModel
import Testing

@testable import ChannelKeeping

/// Tests of wrong answers of Apple's host for channels, and of channels that are reported as gone.
struct KeeperDoubtTests {
    private static let a = Array("a".utf8)

    // MARK: Impossible answers

    /// An answer to a creation counts as lost if its id is invalid, or was in the list before the creation.
    @Test(arguments: ["other", "no-id!", "has space", "a=b"])
    func anAnswerWithAForeignIDIsALostOne(id: String) {
        var bench = KeeperBench()
        bench.list(["other"])
        bench.open("match")
        bench.list(["other"])
        bench.create(.created(id: Array(id.utf8)))
        #expect(bench.alarms == [.foreignAnswer(id: Array(id.utf8))])
        #expect(bench.news.isEmpty && bench.state[0]?.phase == .asked, "nobody is told of it")
        #expect(bench.keeper.counters.answersLost == 1 && bench.keeper.counters.created == 0)
        bench.wait(bench.keeper.settings.settleMillis)
        bench.list(["other"])
        bench.wait(bench.keeper.settings.backoffMaxMillis)
        bench.list(["other"])
        bench.create(.created(id: Self.a))
        bench.announceAll()
        #expect(bench.news == [.opened(id: Self.a)])
        bench.take { $0.audienceVoided(KeeperBench.owner("match"), receipt: 2, now: $1) }
        bench.wait(10_000)
        #expect(bench.deletions.map { $0.1 } == [Self.a], "what is not ours is never deleted")
    }

    /// With `isExclusive`, nobody else creates channels here. Even so, a channel from before the creation is not ours.
    @Test func aForeignIDIsNotAdoptedEither() {
        var settings = KeeperSettings()
        settings.isExclusive = true
        var bench = KeeperBench(settings)
        bench.list(["other"])
        bench.open("match")
        bench.list(["other"])
        bench.create(.created(id: Array("other".utf8)))
        bench.wait(settings.settleMillis)
        bench.list(["other", "new"])
        #expect(bench.news == [.opened(id: Array("new".utf8))])
    }

    /// An answer may contain an id of any length, so an alarm has only the beginning of the id.
    @Test func ofALongIDTheBeginningIsTold() {
        var bench = KeeperBench()
        bench.list([])
        bench.open("match")
        bench.list([])
        bench.create(.created(id: Array(repeating: UInt8(ascii: "A"), count: 5_000)))
        #expect(bench.alarms == [.foreignAnswer(id: Array(repeating: UInt8(ascii: "A"), count: 128))])
    }

    // MARK: Carried out twice

    @Test func aSecondChannelIsShown() {
        var bench = KeeperBench()
        bench.list(["other"])
        bench.open("match")
        bench.list(["other"])
        bench.create(.created(id: Self.a))
        let listCount = bench.lists.count
        bench.wait(bench.keeper.settings.settleMillis)
        #expect(bench.lists.count == listCount + 1, "the list after it is asked for")
        bench.list(["other", "a", "second"])
        let second = Array("second".utf8)
        #expect(bench.alarms == [.perhapsSecond(id: second, sinceMillis: bench.now.wallMillis)])
        #expect(bench.keeper.status.possiblyOurs.map(\.id) == [second] && bench.keeper.counters.shown == 1)
        #expect(bench.deletions.isEmpty)
        // A channel that appears later is somebody else's.
        bench.wait(bench.keeper.settings.listIntervalMillis)
        bench.list(["other", "a", "second", "later"])
        #expect(bench.keeper.status.possiblyOurs.count == 1 && bench.keeper.status.unknownCount == 2)
    }

    @Test func aSecondChannelIsOursWhereNobodyElseCreates() {
        var settings = KeeperSettings()
        settings.isExclusive = true
        var bench = KeeperBench(settings)
        bench.list([])
        bench.open("match")
        bench.list([])
        bench.create(.created(id: Self.a))
        bench.wait(settings.settleMillis)
        bench.list(["a", "second"])
        #expect(bench.keeper.counters.adopted == 1 && bench.alarms.isEmpty)
        bench.wait(settings.listIntervalMillis)
        bench.list(["a", "second"])
        bench.wait(settings.reconcileSpacingMillis)
        #expect(bench.deletions.map { $0.1 } == [Array("second".utf8)], "the pool has no room for it")
    }

    // MARK: A channel that is doubted

    private func opened() -> KeeperBench {
        var bench = KeeperBench()
        bench.list([])
        bench.open("match")
        bench.list([])
        bench.create(.created(id: Self.a))
        bench.announceAll()
        bench.wait(bench.keeper.settings.settleMillis)
        bench.list(["a"])
        bench.actions = []
        return bench
    }

    /// APNs has refused a broadcast on the channel. The keeper requests the list at once. If the list lacks the
    /// channel, the keeper opens another.
    @Test func aChannelThatIsDoubtedAndNotInTheListHasVanished() {
        var bench = self.opened()
        bench.open("match", receipt: 2)
        #expect(bench.lists.count == 1 && bench.actions.contains(.resolve(receipt: 2)))
        bench.list([])
        #expect(bench.news == [.vanished(id: Self.a)] && bench.alarms == [.vanished(id: Self.a)])
        bench.announceAll()
        bench.list([])
        #expect(bench.creations.count == 1)
        bench.create(.created(id: Array("b".utf8)))
        #expect(bench.news.last == .opened(id: Array("b".utf8)))
    }

    @Test func aChannelThatIsDoubtedAndInTheListIsToldOnceMore() {
        var bench = self.opened()
        bench.open("match", receipt: 2)
        #expect(bench.news.isEmpty)
        bench.list(["a"])
        #expect(bench.news == [.opened(id: Self.a)] && bench.alarms.isEmpty)
    }

    /// A new channel is not called gone because a list lacks it. The list may lag.
    @Test func aYoungChannelIsNotCalledGone() {
        var bench = KeeperBench()
        bench.list([])
        bench.open("match")
        bench.list([])
        bench.create(.created(id: Self.a))
        bench.announceAll()
        bench.actions = []
        bench.open("match", receipt: 2)
        bench.list([])
        #expect(bench.news.isEmpty && bench.alarms.isEmpty)
        bench.actions = []
        bench.wait(bench.keeper.settings.settleMillis)
        #expect(bench.lists.count == 1, "it is looked for again")
        bench.list(["a"])
        #expect(bench.news == [.opened(id: Self.a)])
    }

    // MARK: The end on a channel that keeps it

    @Test func anEndThatWasNotTakenIsBroadcastOnAChannelThatKeepsIt() throws {
        var bench = KeeperBench()
        bench.list([])
        bench.take {
            $0.audienceOpens(KeeperBench.owner("match"), policy: .mostRecent, receipt: 1, now: $1)
        }
        bench.list([])
        bench.create(.created(id: Self.a))
        bench.announceAll()
        bench.take { $0.audienceEnded(KeeperBench.owner("match"), content: [1], receipt: 2, now: $1) }
        bench.wait(60_000)
        try #require(bench.beacons.count == 1)
        let first = bench.beacons[0]
        bench.take { $0.beaconAnswered(request: first, .failed, now: $1) }
        bench.wait(30_000)
        try #require(bench.beacons.count == 2)
        let second = bench.beacons[1]
        bench.take { $0.beaconAnswered(request: second, .sent, now: $1) }
        bench.wait(3_600_000)
        #expect(bench.beacons.count == 2 && bench.state[0]?.end == [], "Apple keeps the one that it has taken")
    }

    // MARK: Reconciling

    @Test func whatIsTooYoungForTheListIsNamed() {
        var channel = KeptChannel(owner: KeeperBench.owner("match"), policy: .none, phase: .open, sinceMillis: 0)
        channel.id = Self.a
        let plan = ReconcilePlan(
            kept: [.init(number: 3, channel: channel, hasOwner: true)], listed: [], wallMillis: 59_999,
            settleMillis: 60_000)
        #expect(plan.steps.isEmpty && plan.tooYoung.map(\.number) == [3])
    }
}
