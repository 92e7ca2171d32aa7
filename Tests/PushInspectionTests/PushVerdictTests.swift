import DeviceModel
import Testing

@testable import PushInspection

struct PushVerdictTests {
    @Test(arguments: [
        (TimelineTests.push(), PushVerdict.Word.shown, "The card shows what the push brought."),
        (
            TimelineTests.push(phone: .took(.ignoredOlder)), .ignored,
            "1795600000 (09:46:40 UTC) is older than 1795600010 (09:46:50 UTC), which the phone has seen."
        ),
        (TimelineTests.push(phone: .took(.ignoredSameStamp)), .ignored, "is that of what the phone shows."),
        (TimelineTests.push(phone: .took(.ignoredRepeat)), .ignored, "the same push arrived before"),
        (TimelineTests.push(phone: .took(.ignoredAfterEnd)), .ignored, "has ended on the phone"),
        (TimelineTests.push(phone: .took(.ignoredFuture)), .ignored, "too far ahead"),
        (TimelineTests.push(phone: .took(.ignoredStale)), .ignored, "stale-date was over"),
        (TimelineTests.push(phone: .took(.throttled)), .budget, "Over the budget on the phone"),
        (TimelineTests.push(phone: .took(.shownAsSecondCard)), .shown, "draws only this newer one"),
        (TimelineTests.push(phone: .couldNotDecode("“minutes” is missing")), .undecodable, "“minutes” is missing."),
        (TimelineTests.push(phone: .isAway), .waiting, "APNs keeps the newest push"),
        (
            TimelineTests.push(status: 410, reason: "Unregistered", phone: .notReached), .refused,
            "410 Unregistered. The token is dead."
        ),
        (
            TimelineTests.push(status: 503, reason: "ServiceUnavailable", phone: .notReached), .refused,
            "Refused by APNs: 503 ServiceUnavailable."
        ),
        (TimelineTests.push(status: nil, phone: .notReached), .unanswered, "no answer"),
    ])
    func everyPushHasAVerdict(push: ObservedPush, word: PushVerdict.Word, text: String) {
        let verdict = PushVerdict(push, stampSeconds: 1_795_600_000)
        #expect(verdict.word == word)
        #expect(verdict.text.contains(text), "\(verdict.text)")
    }

    /// APNs may name no reason. The verdict still says that the token is dead.
    @Test func aDeadTokenNeedsNoReason() {
        let text = PushVerdict(TimelineTests.push(status: 410, reason: "", phone: .notReached), stampSeconds: nil).text
        #expect(text == "Refused by APNs: 410. The token is dead.")
        let other = PushVerdict(TimelineTests.push(status: 500, reason: "", phone: .notReached), stampSeconds: nil).text
        #expect(other == "Refused by APNs: 500.")
    }
}
