import DeviceModel
import Testing

@testable import PushInspection

struct AudienceTests {
    static let now: Int64 = 1_795_600_000_000

    static func token(_ number: Int) -> String { String(repeating: "0", count: 56) + String(10_000_000 + number) }

    static func timeline(_ change: (inout Timeline.Limits) -> Void = { _ in }) -> Timeline {
        TimelineTests.timeline(change)
    }

    private func take(_ timeline: inout Timeline, _ value: String, key: String, at offset: Int64) {
        _ = timeline.takeEvent(
            at: EventPosition(partition: 0, offset: offset), key: Array(key.utf8), value: Array(value.utf8),
            nowMillis: Self.now)
    }

    static func glance(
        _ stamp: Int64?, content: UInt64 = 7, card: Shown.Card = .active, isOnline: Bool = true, isAlive: Bool = true
    ) -> CardGlance {
        CardGlance(
            card: stamp == nil ? .untouched : card, stampSeconds: stamp, contentHash: content, isOnline: isOnline,
            isTokenAlive: isAlive)
    }

    private func joined(_ count: Int, _ change: (inout Timeline.Limits) -> Void = { _ in }) -> Timeline {
        var timeline = Self.timeline(change)
        for number in 0..<count {
            self.take(
                &timeline, #"{"event":"register","audience":"match-7"}"#, key: Self.token(number), at: Int64(number))
        }
        return timeline
    }

    /// A member shows the audience's name where other phones show their activity. A phone of an activity with that name
    /// is another phone.
    @Test func aMemberIsNamedByItsNumberAndIsNotThePhoneOfTheActivity() throws {
        var timeline = self.joined(5)
        let fourth = timeline.watchMember(4, ofAudience: 1)
        let watched = try #require(fourth)
        #expect(timeline.phone(activity: "match-7")?.id == watched, "nothing else has the name")
        let member = try #require(timeline.phones[watched])
        #expect(timeline.json(member)["member"]?.text == #"{"audience":"match-7","number":4}"#)

        self.take(
            &timeline, #"{"event":"register","token":"\#(TimelineTests.token)"}"#, key: "match-7", at: 5)
        let own = try #require(timeline.phone(activity: "match-7"))
        #expect(own.token == TimelineTests.token && timeline.json(own)["member"] == .null)
        let fifth = timeline.watchMember(5, ofAudience: 1)
        let other = try #require(fifth)
        #expect(other > own.id && timeline.phone(activity: "match-7")?.id == own.id)
    }

    @Test func whoeverJoinsIsAPixelAndTheFirstHaveCards() throws {
        let timeline = self.joined(1_000)
        let audience = try #require(timeline.audiences.audience(named: "match-7"))
        #expect(audience.members.count == 1_000)
        #expect(timeline.phones.count == 2, "the first two")
        #expect(timeline.phonesInOrder.map(\.activity) == ["match-7", "match-7"])
        #expect(timeline.entries.count == 2, "not a line for each")
        #expect(!audience.json.text.contains(Self.token(3).suffix(12)), "no token is told")
    }

    @Test func joinsCostNoOtherEventItsLine() {
        var timeline = self.joined(600) { $0.entriesPerSecondMax = 3 }
        for offset in 0..<5 {
            self.take(&timeline, #"{"event":"update","content-state":{}}"#, key: "order-1", at: Int64(1_000 + offset))
        }
        #expect(timeline.unlisted.events == 2)
        #expect(timeline.entries.count { $0.activity == "order-1" } == 3)
    }

    @Test func theLatestJoinOfAnUpdateTokenWins() throws {
        var timeline = self.joined(3)
        self.take(&timeline, #"{"event":"register","audience":"match-8"}"#, key: Self.token(1), at: 10)
        #expect(timeline.audiences.audience(named: "match-7")?.members.map(\.hasLeft) == [false, true, false])
        #expect(timeline.audiences.audience(named: "match-8")?.members.map(\.hasLeft) == [false])
        self.take(&timeline, #"{"event":"unregister","audience":"match-7"}"#, key: Self.token(0), at: 11)
        #expect(timeline.audiences.audience(named: "match-7")?.members.map(\.hasLeft) == [true, true, false])
        self.take(&timeline, #"{"event":"register","audience":"match-7"}"#, key: Self.token(0), at: 12)
        #expect(timeline.audiences.audience(named: "match-7")?.members.map(\.hasLeft) == [false, true, false])
    }

    @Test func aPushToStartTokenMayBeInSeveral() {
        var timeline = Self.timeline()
        for (offset, name) in ["match-7", "match-8"].enumerated() {
            self.take(
                &timeline, #"{"event":"register","audience":"\#(name)","token-type":"start"}"#, key: Self.token(1),
                at: Int64(offset))
        }
        #expect(timeline.audienceNames(ofMember: Self.token(1)) == ["match-7", "match-8"])
        timeline.addUpdateToken(Self.token(2), ofStartToken: Self.token(1))
        #expect(timeline.audienceNames(ofMember: Self.token(2)) == ["match-7", "match-8"])
        // The app has reported the new token to the server, and the page now reads the server's join. The join does not
        // count as another member.
        self.take(&timeline, #"{"event":"register","audience":"match-8"}"#, key: Self.token(2), at: 5)
        #expect(timeline.audiences.memberCount == 2)
    }

    /// The update token of a member's started card joins by itself. A later token of the card needs a registration.
    @Test func aStartedCardOfAMemberNeedsNoToken() throws {
        var timeline = Self.timeline()
        self.take(
            &timeline, #"{"event":"register","audience":"match-7","token-type":"start"}"#, key: Self.token(1), at: 0)
        timeline.listPush(TimelineTests.push(token: Self.token(1)))
        let id = try #require(timeline.phone(token: Self.token(1))?.id)
        var shown = Device().shown(atSeconds: 0)
        shown.card = .active
        timeline.setShown(shown, isOnline: true, of: id)
        timeline.addUpdateToken(Self.token(2), ofStartToken: Self.token(1))
        timeline.addToken(Self.token(2), to: id, isReported: false)
        #expect(timeline.phones[id].flatMap(timeline.status)?.word == .verdict(.shown), "it is about to join")
        self.take(&timeline, #"{"event":"register","audience":"match-7"}"#, key: Self.token(2), at: 1)
        #expect(timeline.phones[id]?.unreportedToken == nil)
        timeline.listPush(TimelineTests.push(id: "id-2", token: Self.token(2)))
        #expect(timeline.phones[id].flatMap(timeline.status)?.word == .verdict(.shown))
        shown.card = .ended
        timeline.setShown(shown, isOnline: true, of: id)
        #expect(timeline.phones[id].flatMap(timeline.status)?.word == .ended)

        timeline.addToken(Self.token(3), to: id, isReported: false)
        let phone = try #require(timeline.phones[id])
        #expect(timeline.status(of: phone)?.word == .needsToken)
        #expect(timeline.membershipToRenew(of: phone)?.isStartMember == false, "the new token is an update token")
    }

    @Test func membersBeyondTheLimitAreCountedAndGetNoPhones() throws {
        var timeline = self.joined(8) { $0.audiences.membersMax = 5 }
        let audience = try #require(timeline.audiences.audience(named: "match-7"))
        #expect(audience.members.count == 5)
        #expect(audience.unfollowedCount == 3)
        #expect(timeline.takePush(TimelineTests.push(token: Self.token(7))) == 0)
        #expect(timeline.phones.count == 2)
    }

    @Test func audiencesBeyondTheLimitAreNotFollowed() {
        var timeline = Self.timeline { $0.audiences.audiencesMax = 1 }
        self.take(&timeline, #"{"event":"register","audience":"one"}"#, key: Self.token(1), at: 0)
        self.take(&timeline, #"{"event":"register","audience":"two"}"#, key: Self.token(2), at: 1)
        #expect(timeline.audiences.audiences.map(\.name) == ["one"])
    }

    @Test func pushesToMembersAreCountedByRoundAndOnlyThoseWithCardsAreListed() throws {
        var timeline = self.joined(100)
        let listed = timeline.entries.count
        for number in 0..<100 {
            timeline.takePush(
                TimelineTests.push(
                    id: "id-\(number)", status: number == 99 ? 410 : 200, reason: number == 99 ? "Unregistered" : "",
                    stamp: 1_795_600_000, token: Self.token(number)))
        }
        timeline.takePush(TimelineTests.push(id: "new", stamp: 1_795_600_001, token: Self.token(50)))
        let audience = try #require(timeline.audiences.audience(named: "match-7"))
        #expect(audience.rounds.map(\.stampSeconds) == [1_795_600_000, 1_795_600_001])
        #expect(audience.rounds[0].counts == [.shown: 99, .refused: 1])
        #expect(timeline.entries.count == listed + 2)
        // A late member gets a push with the old version. The push counts in that version's round.
        timeline.takePush(TimelineTests.push(id: "late", stamp: 1_795_600_000, token: Self.token(51)))
        #expect(timeline.audiences.audience(named: "match-7")?.rounds.last?.counts == [.shown: 100, .refused: 1])
    }

    /// A push that waited for a phone counts once. It no longer counts as waiting when the phone is back.
    @Test func aPushThatWaitedIsCountedOnce() throws {
        var timeline = self.joined(2)
        timeline.takePush(TimelineTests.push(id: "a", phone: .isAway, token: Self.token(0)))
        timeline.takePush(TimelineTests.push(id: "b", token: Self.token(1)))
        func verdicts() throws -> [PushVerdict.Word: Int] {
            try #require(timeline.audiences.audience(named: "match-7")?.verdicts.last)
        }
        #expect(try verdicts() == [.waiting: 1, .shown: 1])
        var back = TimelineTests.push(id: "a", status: nil, token: Self.token(0))
        back.hadWaited = true
        timeline.takePush(back)
        #expect(try verdicts() == [.shown: 2])
        #expect(timeline.audiences.audience(named: "match-7")?.rounds.last?.pushCount == 2)
    }

    /// APNs keeps only the newest push for a phone that is off. So an older round no longer waits for that phone.
    @Test func onlyTheNewestPushWaits() throws {
        var timeline = self.joined(3)
        for (number, stamp) in [1_795_600_000, 1_795_600_001].enumerated() {
            for member in 0..<3 {
                // The third phone is on again before the second round.
                let isAway = member < 2 || number == 0
                timeline.takePush(
                    TimelineTests.push(
                        id: "\(number)-\(member)", phone: isAway ? .isAway : .took(.shown), stamp: Int64(stamp),
                        token: Self.token(member)))
            }
        }
        func json() throws -> JSONTree {
            try #require(timeline.audiences.audience(named: "match-7")).json["rounds"] ?? .null
        }
        func round(_ verdicts: JSONTree, dropped: Int) -> [JSONTree?] { [.integer(3), verdicts, .integer(dropped)] }
        func rounds() throws -> [[JSONTree?]] {
            guard case .array(let rounds) = try json() else { return [] }
            return rounds.map { [$0["pushes"], $0["verdicts"], $0["dropped"]] }
        }
        let waiting: JSONTree = ["word": "waiting", "count": .integer(2)]
        #expect(
            try rounds() == [
                round(.array([]), dropped: 3),
                round(.array([["word": "shown", "count": .integer(1)], waiting]), dropped: 0),
            ])
        // The second phone is on again but shows nothing, so the push that waited for it has expired.
        let glance = CardGlance(card: .active, stampSeconds: nil, contentHash: 1, isOnline: true, isTokenAlive: true)
        timeline.takeGlances([(member: 0, glance: glance)], of: 1)
        #expect(timeline.audiences.audience(named: "match-7")?.verdicts.last == [.shown: 1, .waiting: 1])
    }

    @Test func roundsAreBounded() {
        var timeline = self.joined(1)
        for number in 0..<50 {
            timeline.takePush(
                TimelineTests.push(id: "id-\(number)", stamp: 1_795_600_000 + Int64(number), token: Self.token(0)))
        }
        #expect(timeline.audiences.audience(named: "match-7")?.rounds.count == SimulatedAudience.roundsMax)
    }

    @Test func whatMembersShowIsCountedAndGrouped() throws {
        var timeline = self.joined(8)
        let glances: [CardGlance] = [
            Self.glance(20), Self.glance(20), Self.glance(10, content: 6), Self.glance(nil),
            Self.glance(20, isOnline: false), Self.glance(20, card: .ended), Self.glance(20, card: .dismissed),
            Self.glance(20, isAlive: false),
        ]
        timeline.takeGlances(glances.enumerated().map { ($0.offset, $0.element) }, of: 1)
        let audience = try #require(timeline.audiences.audience(named: "match-7"))
        #expect(
            audience.counts
                == SimulatedAudience.Counts(
                    newest: 2, older: 1, untouched: 1, away: 1, ended: 1, dismissed: 1, gone: 1))
        #expect(audience.groups.map(\.count) == [5, 1])
        #expect(timeline.contentsWanted.map(\.hash) == [7, 6])
        let revision = timeline.revision
        timeline.takeGlances(glances.enumerated().map { ($0.offset, $0.element) }, of: 1)
        #expect(timeline.revision == revision, "nothing new, nobody is told")
    }

    @Test func theFieldHasARowForEachStampAndACharacterForEachMember() {
        var members = (0..<4).map { number in
            var member = SimulatedAudience.Member(token: Self.token(number), isStartMember: false)
            member.glance = number == 3 ? nil : Self.glance(Int64(number == 2 ? 9 : 20))
            return member
        }
        var field = AudienceField(members)
        #expect(field.rows.map(\.state) == [.none, .active, .active])
        #expect(field.rows.map(\.stampSeconds) == [nil, 20, 9])
        #expect(field.cells == "hhig")
        members[1].glance = Self.glance(20, isOnline: false)
        field = AudienceField(members)
        #expect(field.rows.count == 4)
        // There are more versions than rows. Members with the oldest versions share the last row.
        members = (0..<200).map { number in
            var member = SimulatedAudience.Member(token: Self.token(number), isStartMember: false)
            member.glance = Self.glance(Int64(1_000 + number))
            return member
        }
        field = AudienceField(members)
        #expect(field.rows.count == AudienceField.rowsMax)
        #expect(field.cells.count == 200)
        #expect(field.cells.hasSuffix("ihg") && field.cells.prefix(141).allSatisfy { $0 == "{" })
    }

    @Test func aWaitForMembersIsMetOrSaysWhyNot() throws {
        var timeline = self.joined(3)
        let condition = try WaitCondition([("audience", "match-7"), ("key", "minutes"), ("value", "12")])
        #expect(condition.answer(Self.timeline()) == .unmet("nobody has joined the audience “match-7”"))
        timeline.takeGlances(
            [(0, Self.glance(20)), (1, Self.glance(20)), (2, Self.glance(20, isOnline: false))], of: 1)
        guard case .unmet(let reason) = condition.answer(timeline) else {
            Issue.record("nobody has said what they show")
            return
        }
        #expect(reason.hasPrefix("0 of 3 members show it; 1 are away."))
        timeline.setContent(["minutes": .integer(12)], hash: 7, of: 1)
        #expect(condition.answer(timeline) == .metByMembers(audience: 1, members: 3))
        #expect(
            try WaitCondition([("audience", "match-7"), ("key", "minutes"), ("members", "4")]).answer(timeline)
                != .metByMembers(audience: 1, members: 3))
    }

    @Test(arguments: [
        ([("audience", "a")], "“audience” needs “key”"),
        ([("audience", "a"), ("activity", "b")], "“activity” and “audience” are both given"),
        ([("activity", "b"), ("members", "3")], "“members” is given without “audience”"),
        ([("audience", "a"), ("key", "k"), ("members", "0")], "“members” is “0”"),
        ([("audience", "a"), ("key", "k"), ("card", "ended")], "excludes “card”"),
    ])
    func aWaitForMembersHasItsRules(parameters: [(String, String)], reason: String) {
        let error = #expect(throws: WaitCondition.Fault.self) { try WaitCondition(parameters) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }
}
