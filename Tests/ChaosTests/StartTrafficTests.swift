import PushModel
import Testing
import Upstream

@testable import ChaosTesting

struct StartTrafficTests {
    private static func play(
        seed: UInt64, seconds: Int64 = 300, members: Int = 600
    ) -> (published: [Publication], killed: Set<String>) {
        var traffic = StartTraffic(count: 6, memberCount: members, durationMillis: seconds * 1_000, seed: seed)
        var (published, killed): ([Publication], Set<String>) = ([], [])
        for tick in 0...seconds * 100 {
            for step in traffic.steps(nowMillis: tick * 10) {
                switch step {
                case .publish(let publication): published.append(publication)
                case .kill(let token): killed.insert(token)
                case .listen: Issue.record("start members listen on no channel here")
                case .rotate: Issue.record("a push-to-start token is not rotated")
                }
            }
        }
        return (published, killed)
    }

    @Test func aSeedMakesTheSameEvents() {
        let values = Self.play(seed: 1).published.map(\.value)
        #expect(values == Self.play(seed: 1).published.map(\.value))
        #expect(values != Self.play(seed: 2).published.map(\.value))
    }

    /// All records differ, and so do the attributes of starts. The judge finds a record in the log by its bytes, and a
    /// card by the attributes of its start.
    @Test func noTwoAreTheSame() {
        let published = Self.play(seed: 1).published
        let records = published.map { ChaosAudit.RecordBytes(key: Array($0.activity.utf8), value: $0.value) }
        #expect(Set(records).count == records.count)
        let attributes = published.compactMap(\.event?.attributes)
        #expect(Set(attributes).count == attributes.count && attributes.count == 10)
    }

    /// Four of the six audiences are started twice, and three still live at the end. No update or end comes for an
    /// audience that has ended.
    @Test func livesBeginAndEnd() {
        var living: [String: Bool] = [:]
        var starts: [String: Int] = [:]
        for event in Self.play(seed: 2).published.compactMap(\.event) {
            let audience = event.audience ?? ""
            switch event.kind {
            case .start:
                #expect(living[audience] != true)
                living[audience] = true
                starts[audience, default: 0] += 1
            case .update: #expect(living[audience] == true)
            case .end:
                #expect(living[audience] == true)
                living[audience] = false
            }
        }
        #expect(starts.values.sorted() == [1, 1, 2, 2, 2, 2])
        #expect(living.values.count { $0 } == 3, "some never end")
    }

    @Test func everythingThatMayHappenDoes() {
        let (published, killed) = Self.play(seed: 3)
        let memberships = published.compactMap(\.membership)
        let joined = Dictionary(grouping: memberships.filter(\.isJoin), by: \.token)
        #expect(joined.count >= 600 && !killed.isEmpty && joined.keys.contains(where: killed.contains))
        #expect(memberships.allSatisfy { !$0.isJoin || $0.isStartToken })
        #expect(joined.values.contains { Set($0.compactMap(\.audience)).count > 1 }, "some are in several")
        #expect(joined.values.contains { $0.count > Set($0.compactMap(\.audience)).count }, "some come back")
        #expect(memberships.contains { !$0.isJoin && $0.audience == nil })
        #expect(memberships.contains { !$0.isJoin && $0.audience != nil })
        #expect(published.contains { $0.isMisplaced })
        #expect(published.contains { $0.outcomes == ["duplicate"] }, "a second start of one that lives")
        #expect(published.compactMap(\.event).contains { $0.kind == .update && $0.alert != nil })
    }

    @Test func withoutMembersThereIsNothing() { #expect(Self.play(seed: 1, members: 0).published.isEmpty) }

    /// The worker accepts all records of the traffic.
    @Test func recordsAreAsTheContractSays() throws {
        var event = DecodedEvent()
        for publication in Self.play(seed: 3).published {
            #expect(throws: Never.self) { try EventDecoder.decode(publication.value.span, into: &event) }
            #expect(throws: Never.self) {
                try EventRules.checkTarget(event, key: Array(publication.activity.utf8).span)
            }
        }
    }
}
