import PushModel
import Testing
import Upstream

@testable import ChaosTesting

struct AudienceTrafficTests {
    private struct Played {
        var published: [Publication] = []
        var rotations = 0
        var killed: Set<String> = []
        /// Phones that began or stopped listening, and the number of publications before APNs learnt of it.
        var listened: [(token: String, channel: String?, publishedCount: Int)] = []
    }

    /// Plays traffic. APNs learns of each token at once.
    /// - Parameter channels: channels of audiences, open from the beginning.
    private static func play(
        seed: UInt64, seconds: Int64 = 120, count: Int = 4, members: Int = 400, channels: [String: String] = [:]
    ) -> Played {
        var traffic = AudienceTraffic(
            count: count, memberCount: members, durationMillis: seconds * 1_000, seed: seed)
        for (audience, channel) in channels { traffic.opened(channel, of: audience) }
        var played = Played()
        for tick in 0...seconds * 100 {
            for step in traffic.steps(nowMillis: tick * 10, wallMillis: 1_700_000_000_000 + tick * 10) {
                switch step {
                case .publish(let publication): played.published.append(publication)
                case .rotate(_, let new, _, let records):
                    played.rotations += 1
                    played.published += records
                    traffic.hasChanged(new)
                case .listen(let token, let channel, _, let records):
                    played.listened.append((token, channel, played.published.count))
                    played.published += records
                    traffic.hasChanged(token)
                case .kill(let token): played.killed.insert(token)
                }
            }
        }
        return played
    }

    @Test func aSeedMakesTheSameEvents() {
        let values = Self.play(seed: 1).published.map(\.value)
        #expect(values == Self.play(seed: 1).published.map(\.value))
        #expect(values != Self.play(seed: 2).published.map(\.value))
    }

    /// All published records differ, because the judge finds a record in the log by its bytes.
    @Test func noTwoRecordsAreTheSame() {
        let records = Self.play(seed: 1).published.map {
            ChaosAudit.RecordBytes(key: Array($0.activity.utf8), value: $0.value)
        }
        #expect(Set(records).count == records.count)
    }

    @Test func everythingThatMayHappenDoes() {
        let played = Self.play(seed: 1, seconds: 600)
        let memberships = played.published.compactMap(\.membership)
        #expect(memberships.contains { $0.isJoin && $0.frequentUpdates } && memberships.contains { !$0.isJoin })
        #expect(memberships.contains { !$0.isJoin && $0.audience == nil })
        #expect(played.rotations > 0 && !played.killed.isEmpty)
        let audiences = Dictionary(grouping: memberships.filter(\.isJoin), by: \.token)
            .mapValues { Set($0.compactMap(\.audience)) }
        #expect(audiences.values.contains { $0.count > 1 }, "some go over to another audience")
        let events = played.published.compactMap(\.event)
        #expect(events.contains { $0.alert != nil } && events.contains(where: \.withdrawsAlert))
        #expect(events.contains { $0.timestampSeconds != nil } && events.contains { $0.priority == nil })
        #expect(
            played.published.contains { $0.outcomes == ["expired"] } && played.published.contains(where: \.isMisplaced))
        let ended = Set(events.filter { $0.kind == .end }.compactMap(\.audience))
        #expect(ended.count == 3, "half of four and a quarter")
        #expect(Set(events.compactMap(\.audience)).count == 6, "two have a successor")
    }

    @Test(arguments: [0, 1, 4])
    func asManyJoinAsWereAskedFor(count: Int) {
        let played = Self.play(seed: 3, seconds: 30, count: count)
        let joined = Set(played.published.compactMap(\.membership).filter(\.isJoin).map(\.token))
        #expect(count == 0 ? joined.isEmpty : joined.count >= 400)
        #expect(count > 0 || played.published.isEmpty)
    }

    /// The worker accepts all records of the traffic.
    @Test func recordsAreAsTheContractSays() throws {
        var event = DecodedEvent()
        for publication in Self.play(seed: 3).published {
            #expect(throws: Never.self) { try EventDecoder.decode(publication.value.span, into: &event) }
            #expect(throws: Never.self) {
                try EventRules.checkTarget(event, key: Array(publication.activity.utf8).span)
            }
            #expect(event.target == .audience || event.kind == .unregister)
        }
    }

    // MARK: Phones that listen

    /// APNs learns first that a phone listens. The phone's next record is a join that names the channel, unless the
    /// phone has left, moved or stopped listening meanwhile.
    @Test func phonesListenWhereAChannelIsKept() {
        let played = Self.play(seed: 1, seconds: 600, channels: ["match-0": "AAAA"])
        #expect(played.listened.contains { $0.channel == nil } && played.listened.contains { $0.channel == "AAAA" })
        var listening: Set<String> = []
        var ways = (said: 0, unsaid: 0, left: 0, moved: 0)
        for (token, channel, count) in played.listened {
            let membership = played.published[count].membership
            #expect(membership?.token == token)
            guard let channel else {
                // A listening phone that got a new token has published its channel under the new token.
                let hasSaid = played.published[..<count].contains {
                    $0.membership?.token == token && $0.membership?.channel != nil
                }
                #expect(listening.contains(token) || hasSaid)
                #expect(membership?.channel == nil)
                switch (membership?.isJoin, membership?.audience) {
                case (false, _): ways.left += 1
                case (_, "match-0"): ways.unsaid += 1
                default: ways.moved += 1
                }
                continue
            }
            listening.insert(token)
            ways.said += 1
            #expect(membership?.isJoin == true && membership?.audience == "match-0" && membership?.channel == channel)
        }
        #expect(ways.said > 100 && ways.unsaid > 0 && ways.left > 0 && ways.moved > 0, "\(ways)")
        let others = played.published.compactMap(\.membership).filter { $0.audience != "match-0" }
        #expect(others.allSatisfy { $0.channel == nil })
        // A phone that gets a new token keeps listening.
        let joins = played.published.compactMap(\.membership).filter { $0.channel != nil }
        #expect(joins.contains { join in !played.listened.contains { $0.token == join.token } })
    }

    @Test func aChannelThatIsGoneIsListenedToNoMore() {
        var traffic = AudienceTraffic(count: 1, memberCount: 100, durationMillis: 60_000, seed: 1)
        traffic.opened("AAAA", of: "match-0")
        traffic.closed("AAAA")
        for tick in 0..<600 as Range<Int64> {
            for step in traffic.steps(nowMillis: tick * 100, wallMillis: 1_700_000_000_000) {
                if case .listen = step { Issue.record("nobody can listen") }
            }
        }
    }

    @Test func outcomesTellOfChannels() {
        func news(_ outcome: String, key: String = "channel/com.example.pizza/match-0/5/production") -> ChannelTidings
            .News?
        {
            let json =
                #"{"outcome":"\#(outcome)","app":"com.example.pizza","audience":"match-0","life":5,"channel":"AAAA"}"#
            return ChannelTidings.news(key: Array(key.utf8), value: Array(json.utf8))
        }
        #expect(news("channel-opened") == .opened("AAAA", audience: "match-0"))
        #expect(news("channel-closed") == .closed("AAAA"))
        #expect(news("channel-refused") == nil && news("channel-opened", key: "match-0") == nil)
        #expect(ChannelTidings.news(key: Array("channel/a".utf8), value: Array("{".utf8)) == nil)
    }

    /// After an audience's end no event is published for it. No phone moves from or to an ended audience.
    @Test func anEndIsTheLastEvent() {
        var ended: Set<String> = []
        var members: [String: String] = [:]
        for publication in Self.play(seed: 4, seconds: 600).published {
            if let event = publication.event, let audience = event.audience {
                #expect(!ended.contains(audience))
                if event.kind == .end { ended.insert(audience) }
            }
            guard let membership = publication.membership, let audience = membership.audience else { continue }
            if membership.isJoin, let former = members[membership.token], former != audience {
                #expect(!ended.contains(former) && !ended.contains(audience))
            }
            members[membership.token] = membership.isJoin ? audience : nil
        }
        #expect(ended.count == 3)
    }
}
