import ChildProcesses
import DevPage
import PushInspection
import Testing

@testable import mailboat

/// Tests of the page of `mailboat dev` after a flood. The page asks the worker about events that came too fast to be
/// read.
@Suite(.timeLimit(.minutes(5))) struct DevAfterFloodTests {
    private static let update = #"{"event":"update","priority":10,"content-state":{"minutes":7}}"#

    /// After a flood the page makes phones for unknown activities again. It makes no second phone for an activity whose
    /// registration it did not read.
    @Test func phonesComeByThemselvesAgain() async throws {
        var options = DevStage.Options(apps: ["com.example.app"], kafkaPort: 0)
        options.limits.entriesPerSecondMax = 1
        try await DevPageTests.run(options) { house in
            let activities = (1...6).map { "order-\($0)" }
            for (number, activity) in activities.enumerated() {
                let token = String(repeating: "c\(number)", count: 32)
                let register = #"{"event":"register","token":"\#(token)"}"#
                #expect(try await house.publish(register, activity: activity).status == 202)
            }
            try await until("the flood is over") {
                house.stage.store.read { timeline in
                    timeline.unlisted.events > 0
                        && timeline.changes(since: timeline.revision)["sampling"]?["makesPhones"] == .bool(true)
                }
            }
            let listed = house.stage.store.read { Set($0.entries.map(\.activity)) }
            let unread = try #require(activities.first { !listed.contains($0) })
            #expect(try await house.publish(Self.update, activity: unread).status == 202)
            #expect(try await house.waitFor("activity=\(unread)&key=minutes&value=7").status == 200)
            let phones = house.stage.store.read { $0.phonesInOrder.filter { $0.activity == unread } }
            #expect(phones.count == 1)

            // Events that share a second with others may be passed over and make no phone. A later event makes one.
            try await until("a phone has come by itself") {
                #expect(try await house.publish(Self.update, activity: "order-9").status == 202)
                return try await house.get("/wait-for?activity=order-9&key=minutes&value=7&timeout=4").status == 200
            }
        }
    }
}
