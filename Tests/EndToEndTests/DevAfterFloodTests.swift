import ChildProcesses
import DevPage
import PushInspection
import Testing

@testable import mailboat

/// The page of `mailboat dev` after a flood: it asks the worker for what arrived too fast to be read.
@Suite(.timeLimit(.minutes(5))) struct DevAfterFloodTests {
    private static let update = #"{"event":"update","priority":10,"content-state":{"minutes":7}}"#

    /// Phones appear by themselves again. If a phone's registration was not read, no second phone appears for it.
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

            // When several events arrive in one second, they make no phone. A later event does.
            try await until("a phone has come by itself") {
                #expect(try await house.publish(Self.update, activity: "order-9").status == 202)
                return try await house.get("/wait-for?activity=order-9&key=minutes&value=7&timeout=4").status == 200
            }
        }
    }
}
