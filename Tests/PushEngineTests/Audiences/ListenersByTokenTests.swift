import Testing

@testable import PushEngine

/// Who is not to hear an alert a second time when a broadcast of it is never taken.
struct ListenersByTokenTests {
    private static let (first, second) = (MemberID(rawValue: 1), MemberID(rawValue: 2))

    /// An alert of 100 that both members had by their tokens.
    private static func served() -> ListenersByToken {
        var listeners = ListenersByToken()
        listeners.take(alertStampSeconds: 100, retries: RetrySet())
        listeners.noteServed(Self.first)
        listeners.noteServed(Self.second)
        return listeners
    }

    @Test func aVersionWithoutAnAlertForgetsNobodyWhoHadTheOneBefore() {
        var listeners = Self.served()
        listeners.take(alertStampSeconds: 100, retries: RetrySet())
        #expect(listeners.served.isEmpty)
        #expect(listeners.alerted == [Self.first, Self.second])
        listeners.take(alertStampSeconds: 100, retries: RetrySet())
        #expect(listeners.alerted == [Self.first, Self.second])
    }

    @Test func aNewerAlertIsForEverybody() {
        var listeners = Self.served()
        listeners.take(alertStampSeconds: 100, retries: RetrySet())
        listeners.take(alertStampSeconds: 110, retries: RetrySet())
        #expect(listeners.alerted.isEmpty)
    }

    @Test func whoWaitsForTheAlertHasNotHadIt() {
        var listeners = Self.served()
        var retries = RetrySet()
        retries.set(RetrySet.Entry(notBeforeMillis: 0, isOwed: true, owesAlert: true), for: Self.second)
        listeners.take(alertStampSeconds: 100, retries: retries)
        #expect(listeners.alerted == [Self.first])
    }

    @Test func whoLeavesIsForgotten() {
        var listeners = Self.served()
        listeners.forget(Self.first)
        listeners.take(alertStampSeconds: 100, retries: RetrySet())
        listeners.forget(Self.second)
        #expect(listeners.served.isEmpty)
        #expect(listeners.alerted.isEmpty)
    }

    /// An owner before left the ring to the channel with that alert.
    @Test func aTakeoverGoesOnWithTheAlertThatWasLeft() {
        var listeners = ListenersByToken()
        listeners.resume(alertStampSeconds: 100)
        listeners.noteServed(Self.first)
        listeners.take(alertStampSeconds: 100, retries: RetrySet())
        #expect(listeners.alerted == [Self.first])
        listeners.removeAll()
        #expect(listeners.alerted.isEmpty)
    }
}
