import ArgumentParser
import ChildProcesses
import DevPage
import KafkaLog
import PushInspection
import Testing

@testable import mailboat

/// Tests of `mailboat trigger` with `mailboat dev` as the worker. A push starts the card of its story.
@Suite(.timeLimit(.minutes(5))) struct TriggerPageTests {
    @Test func thePageRegistersTheTokenThatComesBackAndShowsTheStory() async throws {
        let options = DevStage.Options(apps: ["com.example.pizza"], kafkaPort: 0)
        try await DevPageTests.run(options) { house in
            let page = "http://127.0.0.1:\(house.port)"
            let brokers = house.stage.pageSettings.bootstrapShown
            // The call blocks, so it runs on a thread of its own.
            let witness = await NamedThread.run("witness") {
                StoryWitness.find(brokers: brokers, page: page, simulator: page)
            }
            #expect(witness == .page(origin: page, registers: true))
            let words = ["--key", "order-12", "--pause", "0", "--page", page + "/", "--bootstrap", brokers]
            try await Trigger.parse(["start", "--no-end"] + words).run()
            #expect(try await house.waitFor("activity=order-12&key=driverName&value=Anne&card=active").status == 200)

            let found = try await house.get("/api/entries?search=activity:order-12%20event:start")
            #expect(found.body.contains("order-12"), "\(found.body)")
        }
    }
}
