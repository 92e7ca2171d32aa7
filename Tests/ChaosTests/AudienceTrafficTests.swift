import PushModel
import Testing
import Upstream

@testable import ChaosTesting

struct AudienceTrafficTests {
    private struct Played {
        var published: [Publication] = []
        var rotations = 0
        var killed: Set<String> = []
    }

    /// What is published when APNs is told of tokens at once.
    private static func play(seed: UInt64, seconds: Int64 = 120, count: Int = 4, members: Int = 400) -> Played {
        var traffic = AudienceTraffic(
            count: count, memberCount: members, durationMillis: seconds * 1_000, seed: seed)
        var played = Played()
        for tick in 0...seconds * 100 {
            for step in traffic.steps(nowMillis: tick * 10, wallMillis: 1_700_000_000_000 + tick * 10) {
                switch step {
                case .publish(let publication): played.published.append(publication)
                case .rotate(_, let new, _, let records):
                    played.rotations += 1
                    played.published += records
                    traffic.rotated(to: new)
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

    /// What was published is recognised in the log by its bytes.
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

    /// The worker takes all of them.
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

    /// After its end nothing is published for an audience but joins, and those bring nobody away from another.
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
