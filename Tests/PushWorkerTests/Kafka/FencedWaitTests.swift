import KafkaLog
import Testing

@testable import PushWorker

/// Tests of when a worker may join again after another process has replaced it in the group.
struct FencedWaitTests {
    private static func member(_ id: String?, host: String = "/10.0.0.9") -> GroupMember {
        GroupMember(clientID: "mailboat", host: host, groupInstanceID: id)
    }

    @Test func itWaitsWhileSomebodyHasTheID() {
        var wait = FencedWait(id: "mailboat-0")
        #expect(wait.text.hasPrefix("another process has the kafka.group-instance-id mailboat-0, too"))
        for _ in 0..<10 {
            #expect(wait.looked([Self.member("mailboat-1"), Self.member("mailboat-0")]) == .wait)
        }
        #expect(wait.text.hasPrefix("another process at 10.0.0.9 has the kafka.group-instance-id mailboat-0, too"))
    }

    /// The worker joins when two looks in a row do not find its id. One look is not enough, because a coordinator that
    /// has just moved may not know its members yet.
    @Test func itJoinsWhenNobodyHasHadItTwice() {
        var wait = FencedWait(id: "mailboat-0")
        #expect(wait.looked([Self.member("mailboat-1"), Self.member(nil)]) == .wait)
        #expect(wait.looked([Self.member("mailboat-0")]) == .wait)
        #expect(wait.looked([]) == .wait)
        #expect(wait.looked(nil) == .wait)
        #expect(wait.looked([]) == .wait)
        #expect(wait.looked([]) == .join)
    }
}
