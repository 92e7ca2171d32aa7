import PushModel
import Testing

@testable import PushEngine

/// Tests the coalescer alone: events that expire, updates whose attempt failed, and updates that an accepted push
/// makes pointless.
@Suite struct CoalescerAttemptTests {
    private typealias Ended = CoalescerBench.Ended

    // MARK: Expiry

    @Test func whatExpiresMakesRoomForWhatOutlivesIt() {
        let bench = CoalescerBench()
        bench.take(at: 10, expires: 90)
        bench.take(at: 20, expires: 60)
        bench.take(at: 30, expires: 30)
        bench.advance(29_999)
        #expect(!bench.expire() && bench.pending?.events == [1, 2, 3])
        bench[bench[bench.slot].pending].stampSeconds = 77
        bench.advance(1)
        #expect(bench.expire() && bench.pending?.events == [1, 2])
        #expect(bench.pending?.stampSeconds == nil, "other content needs another stamp")
        bench.advance(60_000)
        #expect(bench.expire() && bench.pending == nil && bench.updateCount == 0)
        // If all events expire in one call, the events beneath end before the newest.
        let cause = OutcomeDetails.Cause.expires
        #expect(bench.ended == [3, 1, 2].map { Ended(event: $0, outcome: .expired, cause: cause) })
    }

    /// The outcome `expired` promises that the phone never got the event. An event that may be on the phone ends as
    /// `unknown`.
    @Test func whatMayBeOnThePhoneIsUnknown() {
        let bench = CoalescerBench()
        bench.take(at: 10, expires: 30, mayBeSent: true)
        bench.advance(30_000)
        #expect(bench.expire())
        #expect(bench.ended == [Ended(event: 1, outcome: .unknown, cause: .mayBeSent)])
    }

    /// A start expires after its content has given way to a newer event. The push still says the same, so nothing has
    /// to be written to `state`.
    @Test func aStartThatIsTooLateChangesNoNewerContent() {
        let bench = CoalescerBench()
        bench.take(at: 20, expires: 60)
        bench.take(at: 10, expires: 30, alert: "start", isStart: true)
        #expect(bench.pending?.events == [2, 1])
        bench.advance(30_000)
        #expect(!bench.expire() && bench.pending?.events == [1] && bench.pending?.isStart == false)
        #expect(bench.ended == [Ended(event: 2, outcome: .expired, cause: .startExpired)])
    }

    /// A start that was not sent in time is dropped. The update after it stays pending. The slot has a token, so the
    /// update can still be pushed.
    @Test func aStartThatIsTooLateLeavesWhatCameAfterIt() {
        let bench = CoalescerBench()
        bench[bench.slot].life = .starting
        bench.take(at: 10, expires: 30, alert: "start", isStart: true)
        bench.take(at: 20)
        bench.advance(30_000)
        bench.expire()
        #expect(bench.pending?.isStart == false && bench.pending?.events == [2])
        #expect(bench[bench.slot].life == .alive, "it has a token")
    }

    /// An end that expires unsent does not end the activity.
    @Test func anEndThatExpiresRevivesTheActivity() {
        let bench = CoalescerBench()
        bench[bench.slot].life = .ending
        bench.take(at: 10, expires: 30, isEnd: true)
        bench.advance(30_000)
        bench.expire()
        #expect(bench[bench.slot].life == .alive && bench.heldCount == 0)
        #expect(bench.ended == [Ended(event: 1, outcome: .expired, cause: .expires)])
    }

    /// An older event takes the place of the newest, which has expired. The older event's content does not fit beside
    /// an alert beneath it, so that alert goes first.
    @Test func anAlertBeneathGoesFirst() {
        let bench = CoalescerBench()
        let alert = String(repeating: "A", count: 2_000)
        bench.take(at: 30, expires: 30)
        bench.take(at: 10, expires: 90, alert: alert)
        bench.take(at: 20, expires: 60, padding: 3_000)
        #expect(bench.pending?.events == [2, 3, 1] && bench.behind == nil)
        bench.advance(30_000)
        bench.expire()
        #expect(bench.pending?.events == [2] && bench.pending?.alertText == alert)
        #expect(bench.behind?.events == [3] && bench.behind?.contentNumber == 3)
        #expect(bench.ended.map(\.event) == [1] && bench.updateCount == 2)
    }

    // MARK: After an attempt that failed

    @Test func whatFailedWaitsAgain() {
        let bench = CoalescerBench()
        bench.take(at: 10, priority: .high)
        bench.send()
        bench.requeue()
        #expect(bench.inFlight == nil && bench.pending?.events == [1] && bench.ended.isEmpty)
    }

    /// An event that arrives during an attempt is merged into the failed update as if that update had been waiting.
    @Test(arguments: [(10, 20, 2, 1), (20, 10, 1, 2)] as [(Int64, Int64, Int64, Int64)])
    func whatCameMeanwhileIsMerged(failed: Int64, came: Int64, sent: Int64, superseded: Int64) {
        let bench = CoalescerBench()
        bench.take(at: failed, alert: failed < came ? "ding" : "")
        bench.send()
        bench.take(at: came, priority: .high, isReplay: true)
        bench.requeue()
        #expect(bench.pending?.events == [sent] && bench.updateCount == 1)
        #expect(bench.pending?.alertText == (failed < came ? "ding" : ""))
        #expect(bench.pending?.priority == .high && bench.pending?.containsReplay == true)
        #expect(bench.pending?.mergedCount == 2)
        #expect(bench.ended.map(\.event) == [superseded] && bench.ended.first?.into == sent)
    }

    /// An end that arrived while the start was in flight stays behind the start.
    @Test func aStartThatFailedGoesBeforeItsEnd() {
        let bench = CoalescerBench()
        bench.take(at: 10, alert: "start", isStart: true)
        bench.send()
        bench.take(at: 20, isEnd: true)
        bench.requeue()
        #expect(bench.pending?.isStart == true && bench.behind?.isEnd == true && bench.ended.isEmpty)
    }

    /// An update that failed gives way to a start that arrived meanwhile, because the start puts up another card.
    @Test func aNewStartReplacesWhatFailed() {
        let bench = CoalescerBench()
        bench.take(at: 10)
        bench.send()
        bench.take(at: 20, alert: "start", isStart: true)
        bench.requeue()
        #expect(bench.pending?.isStart == true && bench.pending?.events == [2] && bench.updateCount == 1)
        #expect(bench.ended == [Ended(event: 1, outcome: .superseded, into: 2)])
    }

    /// Content that is too large beside the failed update's alert follows that update.
    @Test func whatDoesNotFitBesideWhatFailedFollows() {
        let bench = CoalescerBench()
        let alert = String(repeating: "A", count: 2_000)
        bench.take(at: 10, alert: alert)
        bench.send()
        bench.take(at: 20, padding: 3_000)
        bench.requeue()
        #expect(bench.pending?.events == [1] && bench.behind?.events == [2] && bench.ended.isEmpty)
        bench.send()
        bench.take(at: 30, padding: 3_100)
        #expect(bench.pending?.events == [3])
        bench.requeue()
        #expect(bench.pending?.events == [1] && bench.behind?.events == [3])
    }

    /// Two updates arrive during an attempt that fails. The failed update is merged with the first; the second still
    /// follows.
    @Test func whatFollowedWhatCameMeanwhileFollowsStill() {
        let bench = CoalescerBench()
        let alert = String(repeating: "A", count: 2_000)
        bench.take(at: 10, alert: alert, mayBeSent: true)
        bench.send()
        bench.take(at: 20, alert: alert, padding: 900)
        bench.take(at: 30, padding: 3_000)
        #expect(bench.heldCount == 3)
        bench.requeue()
        #expect(bench.pending?.events == [2] && bench.behind?.events == [3] && bench.updateCount == 2)
        #expect(bench.ended == [Ended(event: 1, outcome: .superseded, cause: .mayBeSentBefore, into: 2)])
        #expect(bench.pending?.top.mayBeSent == true)
    }

    /// Only one update can wait behind a start. Two updates that do not fit beside the start's attributes arrive while
    /// the start is in flight. The newer update stays.
    @Test func behindAStartThatFailedStandsTheNewest() {
        let bench = CoalescerBench()
        let alert = String(repeating: "A", count: 2_000)
        bench.take(at: 10, alert: "start", isStart: true, attributesByteCount: 2_000)
        bench.send()
        bench.take(at: 20, alert: alert, mayBeSent: true)
        bench.take(at: 30, padding: 3_000)
        bench.requeue()
        #expect(bench.pending?.isStart == true && bench.pending?.events == [1])
        #expect(bench.behind?.events == [3] && bench.behind?.top.mayBeSent == true && bench.updateCount == 2)
        #expect(bench.ended == [Ended(event: 2, outcome: .superseded, cause: .mayBeSentBefore, into: 3)])
    }

    /// Two updates arrive during an attempt that fails. Both are older than the failed update, and a device that has
    /// that update would ignore them. So both give way.
    @Test func whatIsOlderDoesNotFollowWhatFailed() {
        let bench = CoalescerBench()
        let alert = String(repeating: "A", count: 2_000)
        bench.take(at: 30)
        bench.send()
        bench.take(at: 10, alert: alert)
        bench.take(at: 20, padding: 3_000)
        #expect(bench.heldCount == 3)
        bench.requeue()
        #expect(bench.pending?.events == [1] && bench.behind == nil && bench.updateCount == 1)
        #expect(bench.ended.map(\.event) == [2, 3])
    }

    // MARK: After one that was accepted

    /// A device ignores an update that is older than the one it has. It does not ignore an end, or a start, which puts
    /// up another card.
    @Test func whatIsOlderThanAcceptedIsDropped() {
        let bench = CoalescerBench()
        bench.take(at: 30)
        bench.send()
        bench.take(at: 20)
        bench.accept()
        #expect(bench.heldCount == 0)
        #expect(bench.ended.last == Ended(event: 2, outcome: .superseded, cause: .older))
        for (seconds, isEnd) in [(30, false), (40, false), (20, true)] as [(Int64, Bool)] {
            let other = CoalescerBench()
            other.take(at: 30)
            other.send()
            other.take(at: seconds, isEnd: isEnd)
            other.accept()
            #expect(other.pending?.events == [2])
        }
        let started = CoalescerBench()
        started.take(at: 30)
        started.send()
        started.take(at: 20, alert: "start", isStart: true)
        started.accept()
        #expect(started.pending?.events == [2])
    }

    /// A pending update has an alert that it took over from an older event. If the device has something newer than that
    /// event, the update loses the alert.
    @Test func whatWasTakenOverFromSomethingOlderIsGivenBack() {
        let bench = CoalescerBench()
        bench.take(at: 30)
        bench.send()
        bench.take(at: 20, alert: "late")
        bench.take(at: 40)
        #expect(bench.pending?.alertText == "late")
        bench.accept()
        #expect(bench.pending?.events == [3] && bench.pending?.alertText == "")
    }

    /// Events beneath an accepted update are superseded by it.
    @Test func whatLayBeneathAnAcceptedOneHasGivenWay() {
        let bench = CoalescerBench()
        bench.take(at: 10, expires: 90)
        bench.take(at: 20, expires: 60)
        bench.send()
        bench.accept()
        #expect(
            bench.ended == [Ended(event: 1, outcome: .superseded, into: 2), Ended(event: 2, outcome: .delivered)])
        #expect(bench.heldCount == 0 && bench.updateCount == 0)
    }

    /// After an unknown answer the update may be on the phone. With `dropsAlert` the update's alert is removed, so that
    /// the alert cannot sound twice.
    @Test(arguments: [false, true])
    func anUnknownAttemptMayBeOnThePhone(dropsAlert: Bool) {
        let bench = CoalescerBench()
        bench.take(at: 10, expires: 90)
        bench.take(at: 20, expires: 60, alert: "ding")
        bench.send()
        bench.coalescer.markUnknown(bench[bench.slot].inFlight, dropsAlert: dropsAlert, in: &bench.memory)
        #expect(bench.inFlight?.alertText == (dropsAlert ? "" : "ding"))
        #expect(bench.inFlight?.top.mayBeSent == true && bench.inFlight?.under.first?.mayBeSent == false)
        bench.coalescer.mark(bench[bench.slot].inFlight, mayBeSent: true, in: &bench.memory)
        #expect(bench.inFlight?.under.first?.mayBeSent == true)
    }
}
