import DeviceModel
import PushModel
import Testing
import Upstream

@testable import mailboat

/// The demo's script says what it means: its records are events by the contract, its payloads are pushes by Apple's rules.
struct StoryTests {
    private static let script = Script(startSeconds: 1_700_000_000, durationMillis: 18_000, fanCount: 20, seed: 7)

    private var publications: [Publication] {
        Self.script.cues.compactMap { cue in
            switch cue.action {
            case .publish(let publication), .registerOnceStarted(_, _, let publication): publication
            case .rotateToken, .killToken, .disownToken, .goAway, .say: nil
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
                // What only a worker can know (the key, the app's name) passes here.
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
}
