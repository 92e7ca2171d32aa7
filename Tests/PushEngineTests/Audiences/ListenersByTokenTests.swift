import Testing

@testable import PushEngine

/// Tests which members have had an alert by token. They do not get the alert again if APNs never takes the alert's
/// broadcast.
struct ListenersByTokenTests {
    private static let (first, second) = (MemberID(rawValue: 1), MemberID(rawValue: 2))

    /// Both members had the alert with stamp 100 by their tokens.
    private static func served() -> ListenersByToken {
        var listeners = ListenersByToken()
        listeners.take(alertStampSeconds: 100, retries: RetrySet())
        listeners.markServed(Self.first)
        listeners.markServed(Self.second)
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

    /// A former owner left the ring to the channel, which has yet to bring the alert with stamp 100. The next owner
    /// continues with that alert.
    @Test func aTakeoverGoesOnWithTheAlertThatWasLeft() {
        var listeners = ListenersByToken()
        listeners.resume(alertStampSeconds: 100)
        listeners.markServed(Self.first)
        listeners.take(alertStampSeconds: 100, retries: RetrySet())
        #expect(listeners.alerted == [Self.first])
        listeners.removeAll()
        #expect(listeners.alerted.isEmpty)
    }
}
