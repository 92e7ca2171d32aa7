import APNSSimulator
import DeviceModel
import PushModel
import Testing
import Upstream

@testable import mailboat

/// Tests of the demo's script: its records are events by the contract, and its payloads are pushes by Apple's rules.
struct StoryTests {
    private static let script = Script(startSeconds: 1_700_000_000, durationMillis: 18_000, fanCount: 20, seed: 7)

    private var publications: [Publication] {
        Self.script.cues.compactMap { cue in
            switch cue.action {
            case .publish(let publication), .registerOnceStarted(_, _, let publication): publication
            case .listenAndJoin(let join): Publication(join)
            case .listenOnceStarted, .rotateToken, .killToken, .disownToken, .goAway, .answersTake, .say: nil
            }
        }
    }

    @Test func cuesAreInOrderOfTime() {
        #expect(Self.script.cues.map(\.atMillis) == Self.script.cues.map(\.atMillis).sorted())
        #expect(Self.script.cues.contains { if case .goAway = $0.action { true } else { false } })
    }

    @Test func onlyWhatIsMeantToBeMalformedIsRejected() {
        var rejected = 0
        for publication in self.publications {
            var event = DecodedEvent()
            let isMalformed = publication.outcomes == ["dead-lettered"]
            do {
                try EventDecoder.decode(publication.value.span, into: &event)
                // The key and the app's name are not checked here, because only a worker knows them.
                continue
            } catch {
                #expect(isMalformed, "\(publication.activity): \(error.field) \(error.reason)")
                rejected += 1
            }
        }
        #expect(rejected >= 4)
    }

    @Test func everyEventIsAPushByItself() throws {
        for publication in self.publications {
            guard let event = publication.event else { continue }
            let payload = event.payload(recordMillis: 1_700_000_000_123)
            #expect(throws: Never.self, "\(publication.activity)") { try PayloadReader.read(payload.span) }
        }
    }

    @Test func thePhonesExpectWhatWasPublishedLast() throws {
        var phones = ExpectedPhones()
        phones.join(activity: "order", token: "aa")
        for (second, step) in [(1, "preparing"), (2, "oven")] {
            let event = StoryEvent(.update, app: Script.pizza, contentState: "{\"step\":\"\(step)\"}")
            try phones.take(event, activity: "order", recordMillis: Int64(second) * 1_000)
        }
        var right = Device()
        try right.push(
            body: StoryEvent(.update, app: Script.pizza, contentState: "{\"step\":\"oven\"}").payload(
                recordMillis: 9_000), priority: 5,
            nowMillis: 9_000)
        #expect(phones.compare { _ in right }.equivalent == 1)
        #expect(phones.compare { _ in nil }.differences.count == 1)
    }

    /// The content that a member must show depends on whether it joined before or after the goal.
    @Test func membersExpectWhatWasPublishedForTheirAudience() throws {
        var members = ExpectedMembers()
        members.join(token: "aa", recordMillis: 0)
        var goal = StoryEvent(
            .update, app: Script.football, contentState: "{\"home\":1}", alert: "{\"title\":\"Goal\",\"body\":\"1:0\"}")
        goal.audience = Script.match
        try members.take(goal, recordMillis: 10_000)
        members.join(token: "bb", recordMillis: 20_000)
        var phone = JournaledPhones()
        func push(_ token: String, _ event: StoryEvent, atMillis: Int64) {
            phone.apply(
                .push(
                    atMillis: atMillis, token: token, topic: "t", priority: 10,
                    body: event.payload(recordMillis: 10_000)))
        }
        push("aa", goal, atMillis: 10_000)
        let one = members.compare { phone.device(token: $0) }
        #expect(one.checked == 2 && one.equivalent == 1)
        #expect(one.differences == ["fan bb…: nothing was pushed to it"])
        goal.alert = nil
        push("bb", goal, atMillis: 20_100)
        #expect(members.compare { phone.device(token: $0) }.differences.count == 1, "its newest alert is not the same")

        var end = StoryEvent(
            .end, app: Script.football, contentState: "{\"home\":1}", alert: "{\"title\":\"Over\",\"body\":\"1:0\"}")
        end.audience = Script.match
        try members.take(end, recordMillis: 30_000)
        for token in ["aa", "bb"] { push(token, end, atMillis: 30_100) }
        #expect(members.compare { phone.device(token: $0) }.equivalent == 2)
        push("bb", end, atMillis: 30_150)
        #expect(members.compare { phone.device(token: $0) }.equivalent == 1, "once more than there were events")
    }

    /// A phone that listens gets every new version over the channel. It gets one push, with the version from before it
    /// listened.
    @Test func aMemberThatListensGetsOnePush() throws {
        var members = ExpectedMembers()
        var goal = StoryEvent(.update, app: Script.football, contentState: "{\"home\":1}")
        goal.audience = Script.match
        try members.take(goal, recordMillis: 10_000)
        members.join(token: "aa", listens: true, recordMillis: 20_000)
        var phone = JournaledPhones()
        func push(atMillis: Int64) {
            phone.apply(
                .push(
                    atMillis: atMillis, token: "aa", topic: "t", priority: 5,
                    body: goal.payload(recordMillis: 10_000)))
        }
        push(atMillis: 20_100)
        let once = members.compare { phone.device(token: $0) }
        #expect(once.equivalent == 1 && once.listening == 1)
        push(atMillis: 22_100)
        let twice = members.compare { phone.device(token: $0) }
        #expect(twice.differences == ["fan aa…: it got 2 pushes, expected at most 1"])
    }

    /// A phone whose card was started by a push must show exactly that one card.
    @Test func aMemberThatWasStartedHasOneCard() throws {
        var start = StoryEvent(
            .start, app: Script.football, contentState: "{\"home\":0}",
            alert: "{\"title\":\"Kick-off\",\"body\":\"0:0\"}")
        start.audience = Script.match
        start.attributesType = "MatchAttributes"
        start.attributes = "{\"home\":\"Pandas\"}"
        var goal = StoryEvent(
            .update, app: Script.football, contentState: "{\"home\":1}", alert: "{\"title\":\"Goal\",\"body\":\"1:0\"}")
        goal.audience = Script.match
        var members = ExpectedMembers()
        try members.take(start, recordMillis: 1_000)
        members.join(token: "aa", isStarted: true, recordMillis: 3_000)
        try members.take(goal, recordMillis: 10_000)
        var phone = JournaledPhones()
        func push(_ event: StoryEvent, recordMillis: Int64, atMillis: Int64) {
            phone.apply(
                .push(
                    atMillis: atMillis, token: "aa", topic: "t", priority: 10,
                    body: event.payload(recordMillis: recordMillis)))
        }
        push(start, recordMillis: 1_000, atMillis: 1_100)
        #expect(members.compare { phone.device(token: $0) }.started == 1)
        push(goal, recordMillis: 10_000, atMillis: 10_100)
        let comparison = members.compare { phone.device(token: $0) }
        #expect(comparison.equivalent == 1 && comparison.started == 1)
        push(start, recordMillis: 11_000, atMillis: 12_100)
        let twice = members.compare { phone.device(token: $0) }
        #expect(twice.equivalent == 0 && twice.started == 0)
    }
}
