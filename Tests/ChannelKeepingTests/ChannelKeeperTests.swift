import APNSProtocol
import PushModel
import Testing

@testable import ChannelKeeping

struct ChannelKeeperTests {
    private static let a = Array("a".utf8)

    private func exclusive() -> KeeperSettings {
        var settings = KeeperSettings()
        settings.isExclusive = true
        return settings
    }

    @Test func aChannelIsOpenedInTheOrderOfTheRules() {
        var bench = KeeperBench()
        bench.list([])
        bench.open("match", receipt: 7)
        #expect(bench.actions.contains(.resolve(receipt: 7)), "the wish is durable")
        bench.list(["other"])
        #expect(bench.state[0]?.phase == .asked)
        #expect(bench.state[0]?.strangers == [KeptChannel.hash(ofID: Array("other".utf8))])
        #expect(bench.creations.count == 1)
        #expect(bench.news == [])
        bench.create(.created(id: Self.a))
        #expect(bench.state[0]?.phase == .open && bench.state[0]?.id == Self.a)
        #expect(bench.news == [.opened(id: Self.a)])
        bench.announceAll()
        #expect(bench.state[0]?.isAnnounced == true)
    }

    /// A creation leaves only after `state` has its intent, and its id is announced only after `state` has the id.
    @Test func intentAndIDWaitForState() throws {
        let now = EngineTime(steadyMillis: 0, wallMillis: 0)
        var keeper = ChannelKeeper(settings: KeeperSettings(), records: [], seed: 1, now: now)
        func lists(_ actions: [KeeperAction]) -> UInt64? {
            actions.compactMap { if case .list(let request) = $0 { request } else { nil } }.first
        }
        func write(_ actions: [KeeperAction]) -> UInt64? {
            actions.compactMap { if case .write(_, _, let write) = $0 { write } else { nil } }.first
        }
        var actions = keeper.timePassed(now: now)
        actions = keeper.listed(request: try #require(lists(actions)), .listed([]), now: now)
        actions = keeper.audienceOpens(KeeperBench.owner("m"), policy: .none, receipt: 1, now: now)
        #expect(actions.count == 1)
        actions = keeper.stateAcknowledged(write: try #require(write(actions)), now: now)
        #expect(actions.first == .resolve(receipt: 1))
        actions = keeper.listed(request: try #require(lists(actions)), .listed([]), now: now)
        #expect(actions.count == 1, "the intent alone")
        actions = keeper.stateAcknowledged(write: try #require(write(actions)), now: now)
        guard case .create(let request, .none) = actions.first else {
            Issue.record("no creation")
            return
        }
        actions = keeper.created(request: request, .created(id: Self.a), now: now)
        #expect(actions.count == 1, "the id alone")
        actions = keeper.stateAcknowledged(write: try #require(write(actions)), now: now)
        guard case .announce = actions.first else {
            Issue.record("not told")
            return
        }
    }

    @Test(arguments: [true, false])
    func whatALostAnswerMadeIsAdoptedOrShown(isExclusive: Bool) {
        var settings = KeeperSettings()
        settings.isExclusive = isExclusive
        var bench = KeeperBench(settings)
        bench.list(["other"])
        bench.open("match")
        bench.list(["other"])
        bench.create(.lost)
        let listCount = bench.lists.count
        bench.wait(settings.settleMillis - 1)
        #expect(bench.lists.count == listCount, "a late creation would not be seen")
        bench.wait(1)
        #expect(bench.lists.count == listCount + 1)
        bench.list(["other", "new"])
        if isExclusive {
            #expect(bench.news == [.opened(id: Array("new".utf8))])
            #expect(bench.creations.count == 1)
        } else {
            #expect(bench.keeper.status.possiblyOurs.map(\.id) == [Array("new".utf8)])
            #expect(bench.alarms == [.possiblyOurs(id: Array("new".utf8), sinceMillis: bench.now.wallMillis)])
            bench.list(["other", "new"])
            #expect(bench.creations.count == 2)
            #expect(bench.deletions.isEmpty)
        }
    }

    /// A takeover in the middle of a creation counts as a lost answer. The intent in `state` says which ids were in the
    /// list before the creation.
    @Test(arguments: [true, false])
    func aTakeoverSettlesFirst(isExclusive: Bool) {
        var settings = KeeperSettings()
        settings.isExclusive = isExclusive
        var asked = KeptChannel(owner: KeeperBench.owner("m"), policy: .none, phase: .asked, sinceMillis: 0)
        asked.strangers = [KeptChannel.hash(ofID: Array("other".utf8))]
        var bench = KeeperBench(settings, records: [(4, asked)])
        #expect(bench.lists == [])
        bench.wait(settings.settleMillis)
        bench.list(["other", "new"])
        #expect(bench.keeper.status.possiblyOurs.count == (isExclusive ? 0 : 1))
        #expect(bench.state[4]?.phase == (isExclusive ? .open : .wanted))
    }

    @Test func theSettleTimeIsNeverBelowTheRequestTimeout() {
        for timeout in [Int64(0), 1, 35_000, 900_000] {
            var settings = KeeperSettings()
            settings.requestTimeoutMillis = timeout
            settings.listLagMillis = -1
            #expect(settings.settleMillis >= timeout)
        }
    }

    @Test func theQuotaIsCountedFromTheList() {
        var settings = KeeperSettings()
        settings.quota = ChannelQuota(countMax: 20)
        var bench = KeeperBench(settings)
        bench.list((0..<16).map { "other-\($0)" })
        #expect(bench.alarms == [.quotaHigh(count: 16, quota: settings.quota)])
        bench.open("match")
        bench.list((0..<19).map { "other-\($0)" })
        #expect(bench.news == [.refused(.quota(count: 19, quota: settings.quota))])
        #expect(bench.creations == [])
        #expect(bench.alarms.count == 2)
        bench.announceAll()
        #expect(bench.state[0] == nil)
        bench.open("another", receipt: 2)
        #expect(bench.actions.contains(.resolve(receipt: 2)))
        #expect(bench.news.count == 2, "and whoever comes soon is refused without a request")
    }

    @Test func limitsHaveAnAnswer() {
        var settings = KeeperSettings()
        settings.waitingMax = 2
        settings.keptMax = 3
        var bench = KeeperBench(settings)
        for name in ["a", "b", "c"] { bench.open(name) }
        #expect(bench.news == [.refused(.tooManyWaiting(waitingMax: 2))])
        settings.waitingMax = 9
        settings.keptMax = 2
        var full = KeeperBench(settings)
        for name in ["a", "b", "c"] { full.open(name) }
        #expect(full.news == [.refused(.full(keptMax: 2))])
    }

    @Test func refusalsForGoodAreTold() {
        var bench = KeeperBench()
        bench.list([])
        bench.open("match")
        bench.list([])
        bench.create(.refused(status: 400, reason: "FeatureNotEnabled"))
        #expect(bench.news == [.refused(.byAPNs(status: 400, reason: "FeatureNotEnabled"))])
        #expect(bench.alarms == [.refused(status: 400, reason: "FeatureNotEnabled")])
        bench.announceAll()
        #expect(bench.state.values.isEmpty)
    }

    @Test func throttlingBacksOffAndAsksForAListAgain() {
        var bench = KeeperBench()
        bench.list([])
        bench.open("match")
        bench.list([])
        bench.create(.refused(status: 429, reason: "TooManyRequests"))
        let listCount = bench.lists.count
        #expect(bench.state[0]?.phase == .wanted)
        bench.wait(400)
        #expect(bench.lists.count == listCount)
        bench.wait(700)
        #expect(bench.lists.count == listCount + 1)
        #expect(bench.creations.count == 1)
        #expect(bench.news == [])
    }

    @Test func aWarmChannelServesAtOnce() {
        var settings = KeeperSettings()
        settings.poolSize = 1
        var bench = KeeperBench(settings)
        bench.list([])
        bench.create(.created(id: Self.a))
        #expect(bench.keeper.status.warmCount == 1)
        bench.open("match", receipt: 3)
        #expect(bench.news == [.opened(id: Self.a)])
        #expect(bench.actions.contains(.resolve(receipt: 3)))
    }

    @Test func anEndLingersWithItsBeaconsAndGoes() {
        var bench = KeeperBench()
        bench.list([])
        bench.open("match")
        bench.list([])
        bench.create(.created(id: Self.a))
        bench.announceAll()
        bench.take { $0.audienceEnded(KeeperBench.owner("match"), content: [1], receipt: 2, now: $1) }
        var sent: [Int64] = []
        let began = bench.now.steadyMillis
        for _ in 0..<8 * 60 - 1 {
            bench.wait(60_000)
            if bench.beacons.count > sent.count {
                sent.append((bench.now.steadyMillis - began) / 60_000)
                let request = bench.beacons.last!
                bench.take { $0.beaconAnswered(request: request, .sent, now: $1) }
            }
            bench.list(["a"])
            #expect(bench.deletions.isEmpty)
        }
        #expect(sent == [1, 5, 15, 30, 60, 120, 180, 240, 300, 360, 420])
        bench.wait(60_000)
        #expect(bench.deletions.map(\.1) == [Self.a])
        #expect(bench.state[0]?.phase == .deleting)
        let request = bench.deletions[0].0
        bench.take { $0.deleted(request: request, .refused(status: 400, reason: "ChannelNotRegistered"), now: $1) }
        #expect(bench.news.last == .closed(id: Self.a))
        bench.announceAll()
        bench.wait(3_600_000)
        bench.list([])
        bench.wait(3_600_000)
        bench.list([])
        #expect(bench.state.values.isEmpty)
    }

    /// A kept channel that is missing from a list has vanished only if a second list lacks the channel, too. Then the
    /// keeper wants another channel.
    @Test func whatIsOursAndMissingIsOpenedAgain() {
        var open = KeptChannel(owner: KeeperBench.owner("m"), policy: .none, phase: .open, sinceMillis: 0)
        open.id = Self.a
        open.isAnnounced = true
        var bench = KeeperBench(records: [(0, open)])
        bench.list([])
        bench.wait(590_000)
        #expect(bench.news == [])
        bench.wait(10_000)
        bench.list([])
        #expect(bench.news == [.vanished(id: Self.a)])
        #expect(bench.state[0]?.phase == .open)
        bench.announceAll()
        #expect(bench.state[0]?.phase == .wanted)
    }

    /// A new life gets its own channel. The former life's channel exists beside it for a while.
    @Test func aNewLifeHasAChannelOfItsOwn() {
        var bench = KeeperBench()
        bench.list([])
        bench.open("match", life: 1)
        bench.list([])
        bench.create(.created(id: Self.a))
        bench.open("match", life: 2)
        #expect(bench.state[0]?.phase == .ended)
        bench.list(["a"])
        bench.create(.created(id: Array("b".utf8)))
        #expect(bench.state[1]?.owner?.life == 2)
        bench.open("match", life: 1)
        #expect(bench.news.last == .refused(.lifeIsOver))
    }
}
