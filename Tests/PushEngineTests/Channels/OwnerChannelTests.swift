import APNSProtocol
import ChannelKeeping
import PushModel
import Testing

@testable import PushEngine

/// Tests an audience's channels at its owner, without an engine: what the keeper sends, what is broadcast, and what
/// APNs' answers lead to.
@Suite struct OwnerChannelTests {
    private typealias Effect = AudienceChannels.NewsEffect

    /// Each message of the keeper has the effect that the table names for the channel's standing.
    @Test func whatTheKeeperTells() {
        let (id, other) = (OwnerPlay.channel, Array("b3RoZXI=".utf8))
        let rows: [(AudienceChannels.Standing, KeeperNews, Effect, AudienceChannels.Standing)] = [
            (.wanted, .opened(id: id), .nothing, .wanted), (.wanted, .opened(id: other), .declared, .open),
            (.open, .opened(id: id), .nothing, .open), (.open, .opened(id: other), .declared, .open),
            (.dead, .opened(id: id), .declared, .open), (.dead, .opened(id: other), .declared, .open),
            (.wanted, .vanished(id: id), .declared, .wanted), (.open, .vanished(id: id), .declared, .wanted),
            (.dead, .vanished(id: id), .declared, .wanted), (.open, .vanished(id: other), .nothing, .open),
            (.open, .closed(id: id), .closed, .open), (.open, .closed(id: other), .nothing, .open),
            (.wanted, .refused(.full(keptMax: 1)), .kept, .wanted),
            (.wanted, .refused(.lifeIsOver), .lifeIsOver, .wanted), (.open, .refused(.lifeIsOver), .nothing, .open),
        ]
        let play = OwnerPlay(channel: true)
        for (before, news, effect, after) in rows {
            var channel = AudienceChannels.Channel(environment: .production, standing: before, id: id)
            let told = channel.take(news, newestStampSeconds: 7, by: play.rules, now: play.now)
            #expect(told == effect && channel.standing == after, "\(before) \(news)")
        }
    }
    /// The owner asks the keeper for a missing channel until it has one, and reports the end of the life once.
    @Test func itIsWishedForUntilItIsThere() {
        let play = OwnerPlay(channel: true)
        play.owner.openCame(by: play.rules, now: play.now, into: &play.effects)
        #expect(play.takeKinds() == [.writeFirst] && play.owner.channels.all.map(\.standing) == [.wanted])
        let next = play.look()
        #expect(play.takeKinds() == [.wish] && next == play.now.steadyMillis + 60_000)
        play.advance(59_999)
        play.look()
        #expect(play.take().isEmpty)
        play.advance(1)
        play.look()
        #expect(play.takeKinds() == [.wish])
        let isTaken = play.send(.opened(id: OwnerPlay.channel))
        #expect(isTaken == true && play.owner.channels.revision == 1)
        let again = play.send(.opened(id: OwnerPlay.channel))
        #expect(again == false, "it is known")
        play.publishToAll(isEnd: true)
        _ = play.take()
        play.look()
        #expect(play.owner.channels.all.map(\.isEndReported) == [false], "the end is to be broadcast first")
        guard let end = play.broadcast() else {
            Issue.record("nothing is broadcast")
            return
        }
        play.answer(end, .accepted)
        play.look()
        #expect(play.takeKinds() == [.broadcast, .scheduleRollUps, .broadcastTaken, .write, .wish, .write])
        play.look()
        #expect(play.take().isEmpty && play.owner.channels.all.map(\.isEndReported) == [true])
    }
    @Test func newsOfAnotherLifeAreGivenBack() {
        let play = OwnerPlay(channel: true)
        play.openChannel()
        var news = BusRecord.ChannelNews()
        news.life = play.owner.channels.life - 1
        news.news = .closed(id: OwnerPlay.channel)
        let isChanged = play.owner.newsCame(news, by: play.rules, now: play.now)
        #expect(isChanged == nil && play.owner.channels.all.count == 1)
    }

    // MARK: Broadcasts

    /// An owner with a channel, and a version that waits to be broadcast.
    private static func waiting(hasAlert: Bool = false) -> OwnerPlay {
        let play = OwnerPlay(channel: true)
        play.openChannel()
        play.ask(0)
        play.publishToAll(hasAlert: hasAlert)
        _ = play.take()
        return play
    }
    /// Each answer to a broadcast has the effects that the table names. The table also says whether the channel still
    /// serves its listeners.
    @Test func whatBecomesOfABroadcast() throws {
        typealias Kind = OwnerPlay.Kind
        let again = AudienceOwner.BroadcastEffect.goesAgain(
            attempt: 0, retryAfterSeconds: nil, distanceMillis: 0)
        let throttled = AudienceOwner.BroadcastEffect.goesAgain(
            attempt: 0, retryAfterSeconds: 9, distanceMillis: 30_000)
        let rows: [(PushAnswer.Result, AudienceOwner.BroadcastEffect, [Kind], serves: Bool)] = [
            (.accepted, .done, [.scheduleRollUps, .broadcastTaken, .write], true),
            (OwnerPlay.refused(400, "ChannelNotRegistered"), .done, [.scheduleRollUps, .fellBack, .writeFirst], false),
            (OwnerPlay.refused(413, "PayloadTooLarge"), .done, [.scheduleRollUps, .fellBack, .writeFirst], false),
            (OwnerPlay.refused(429, "TooManyRequests", retryAfterSeconds: 9), throttled, [.scheduleRollUps], true),
            (OwnerPlay.refused(503, "ServiceUnavailable"), again, [.scheduleRollUps], true),
            (.notProcessed, again, [.scheduleRollUps], true), (.unknown(detail: ""), again, [.scheduleRollUps], true),
        ]
        for (result, effect, kinds, serves) in rows {
            let play = Self.waiting(hasAlert: true)
            play.look()
            #expect(play.takeKinds() == [.broadcast])
            let errand = try #require(play.broadcast())
            #expect(errand.priority == .high && errand.stampSeconds == play.stampSeconds)
            #expect(errand.alertStampSeconds == play.stampSeconds)
            let told = play.answer(errand, result)
            #expect(told == effect, "\(result)")
            #expect(play.takeKinds() == kinds, "\(result)")
            let channel = try #require(play.owner.channels.all.first)
            #expect(channel.serves == serves && !channel.isUnderWay, "\(result)")
            #expect((channel.takenStampSeconds == play.stampSeconds) == (effect == .done && serves), "\(result)")
            // A broadcast that may have arrived is repeated at low priority.
            guard case .goesAgain = effect else { continue }
            play.advance(60_000 - 1)
            play.look()
            let second = try #require(play.broadcast())
            #expect((second.priority == .low) == (result == .unknown(detail: "")), "\(result)")
        }
    }
    @Test func oneOfAChannelThatHasGoneSinceChangesNothing() throws {
        let play = Self.waiting()
        play.look()
        let errand = try #require(play.broadcast())
        play.send(.closed(id: OwnerPlay.channel))
        _ = play.take()
        let effect = play.answer(errand, .accepted)
        #expect(effect == .ignored && play.take().isEmpty)
    }
    /// Listeners wait a limited time for a broadcast, then get the version by token. The broadcast is still tried, for
    /// phones without a token.
    @Test func whatIsNotTakenFallsBack() throws {
        let play = Self.waiting()
        play.look()
        let errand = try #require(play.broadcast())
        play.answer(errand, OwnerPlay.refused(503, "ServiceUnavailable"))
        _ = play.take()
        play.advance(play.rules.app.channelFallbackMillis)
        play.look()
        #expect(play.takeKinds() == [.fellBack, .writeFirst, .reschedule])
        #expect(play.owner.channels.all.map(\.isCatchingUp) == [true] && play.owner.newestVersion?.channelRevision == 2)
        #expect(play.owner.newestVersion?.channels.map(\.serves) == [false])
        play.look()
        #expect(play.takeKinds() == [.broadcast])
        let second = try #require(play.broadcast())
        #expect(second.priority == .high, "it has a unit of its own")
        play.answer(second, .accepted)
        #expect(play.owner.channels.all.map(\.isCatchingUp) == [false])
        play.publish()
        #expect(play.owner.channels.all.map(\.serves) == [true], "the next one is left to it")
    }
    @Test func aPausedAudienceBroadcastsNothing() {
        let play = Self.waiting()
        let next = play.look(isPaused: true)
        #expect(play.take().isEmpty && next > play.now.steadyMillis)
        play.advance(play.rules.app.channelFallbackMillis)
        play.look(isPaused: true)
        #expect(play.take().isEmpty, "it falls back no more")
        play.advance(1_000)
        play.look()
        #expect(play.takeKinds() == [.broadcast])
    }
    @Test func aBroadcastThatMayNotLeaveIsTakenBack() {
        let play = Self.waiting()
        play.look()
        #expect(play.takeKinds() == [.broadcast])
        let sent = play.owner.broadcastLeaves(channel: 0, mayLeave: false, by: play.rules, now: play.now)
        #expect(sent == nil && play.owner.channels.all.map(\.isUnderWay) == [false])
        play.look()
        #expect(play.takeKinds() == [.broadcast])
    }

    // MARK: Random events

    /// Events happen in random order. No partition is sent a version that is not in `state`. Each event has one
    /// outcome, after every partition's copy of its version is acknowledged. Lives and revisions only grow. Every
    /// effect and every standing is reached.
    @Test func whateverHappens() {
        var seen: Set<OwnerPlay.Kind> = []
        var standings: Set<UInt8> = []
        for seed in UInt64(1)...120 {
            var random = SplitMix64(seed: seed)
            let play = OwnerPlay(channel: true)
            play.rules.app.budgetAudiencePerHour = Int.random(in: 1...9, using: &random)
            var errands: [ChannelErrand] = []
            var (durable, ended): (Set<Int64>, Set<Int64>) = ([], [])
            var unacknowledged: [Int64: Int] = [:]
            for step in 0..<250 {
                let (life, turn) = (play.owner.life, play.owner.channels.revision)
                switch Int.random(in: 0..<17, using: &random) {
                case 0:
                    play.ask(
                        Int32.random(in: 0..<4, using: &random),
                        life: Int.random(in: 0..<9, using: &random) == 0 ? play.owner.life + 5 : 0, environments: 1)
                case 1, 2:
                    guard play.owner.openCount < AudienceOwner.publicationsMax else { continue }
                    play.publish(
                        isEnd: Int.random(in: 0..<6, using: &random) == 0, hasAlert: Bool.random(using: &random),
                        isHigh: Bool.random(using: &random),
                        expiresSeconds: Bool.random(using: &random)
                            ? .max : play.now.wallSeconds + Int64.random(in: 1...90, using: &random))
                case 3, 4:
                    durable.formUnion(play.owner.publications.map(\.version.stampSeconds))
                    play.stateIsWritten()
                case 5, 6:
                    guard let stamp = unacknowledged.filter({ $0.value > 0 }).keys.sorted().first else { continue }
                    unacknowledged[stamp, default: 0] -= 1
                    play.acknowledge(stamp)
                case 7:
                    play.report(
                        Int32.random(in: 0..<4, using: &random), stampSeconds: play.stampSeconds,
                        isFinished: Bool.random(using: &random),
                        refusal: Int.random(in: 0..<5, using: &random) == 0 ? "PayloadTooLarge" : nil)
                case 8: play.passTime()
                case 9: play.advance(Int64.random(in: 1...70_000, using: &random))
                case 10: play.owner.openCame(by: play.rules, now: play.now, into: &play.effects)
                case 11:
                    let news: [KeeperNews] = [
                        .opened(id: OwnerPlay.channel), .vanished(id: OwnerPlay.channel), .refused(.lifeIsOver),
                    ]
                    play.send(news.randomElement(using: &random) ?? .refused(.lifeIsOver))
                case 12, 13: play.look(isPaused: Int.random(in: 0..<9, using: &random) == 0)
                case 14: if let errand = play.broadcast() { errands.append(errand) }
                case 15:
                    guard let errand = errands.popLast() else { continue }
                    let results: [PushAnswer.Result] = [
                        .accepted, .accepted, .notProcessed, .unknown(detail: ""),
                        OwnerPlay.refused(400, "ChannelNotRegistered"),
                        OwnerPlay.refused(429, "TooManyRequests"),
                    ]
                    play.answer(errand, results.randomElement(using: &random) ?? .accepted)
                default:
                    guard step > 200, Int.random(in: 0..<9, using: &random) == 0 else { continue }
                    play.owner.forgotten(by: play.rules, into: &play.effects)
                }
                for effect in play.take() {
                    seen.insert(OwnerPlay.Kind(effect))
                    switch effect {
                    case .send(let versions, let partitions):
                        let stamp = versions.last?.stampSeconds ?? 0
                        #expect(durable.contains(stamp), "seed \(seed): \(stamp) is told too early")
                        unacknowledged[stamp, default: 0] += partitions.count
                    case .answer(let versions, _):
                        #expect(durable.contains(versions.last?.stampSeconds ?? 0), "seed \(seed)")
                    case .fannedOut(_, let details):
                        let stamp = details.versionStampSeconds
                        #expect(ended.insert(stamp).inserted, "seed \(seed): \(stamp) has two outcomes")
                        #expect(unacknowledged[stamp] ?? 0 == 0, "seed \(seed): \(stamp) is not told to all")
                    default: break
                    }
                }
                #expect(play.owner.life >= life && play.owner.channels.revision >= turn, "seed \(seed)")
                #expect(play.owner.asked == play.owner.asked.sorted(), "seed \(seed)")
                for publication in play.owner.publications where !publication.isOpen {
                    #expect(ended.contains(publication.version.stampSeconds), "seed \(seed)")
                }
                standings.formUnion(play.owner.channels.all.map(\.standing.rawValue))
            }
        }
        #expect(seen == Set(OwnerPlay.Kind.allCases), "\(seen)")
        #expect(standings == [1, 2, 3])
    }
}
