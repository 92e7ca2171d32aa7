import Dispatch
import Foundation
import KafkaLog
import PushEngine
import PushModel
import Testing

@testable import PushWorker

/// Tests of what a running worker answers about its state, over real sockets.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct StatePagesTests {
    private static func object(_ body: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any], "\(body)")
    }

    private static func get(_ path: String, _ worker: WorkerService) async throws -> (status: Int, body: [String: Any])
    {
        let answer = try await AdminPort.get(path, port: try #require(worker.adminPort))
        return (answer.status, try Self.object(answer.body))
    }

    private static func kind(_ body: [String: Any]) -> String {
        (body["error"] as? [String: Any])?["kind"] as? String ?? "none"
    }

    @Test func anActivityIsShownAsItStands() async throws {
        try await WorkerHouse.with { house in
            var configuration = house.configuration()
            configuration.apps[0].engine.budgetPerHour = 3
            configuration.apps[0].engine.budgetReserve = 0
            let worker = try await house.readyWorker(configuration)
            let token = String(repeating: "ab", count: 32)
            try house.register("order/7 ü", token: token)
            try house.update("order/7 ü", 1)
            try house.update("homeless", 1)
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.pushesAccepted == 1 && $0.engine.consumed == 3 }

            let shown = try await Self.get("/activities/order%2F7%20%C3%BC", worker)
            #expect(shown.status == 200)
            #expect(shown.body["life"] as? String == "alive")
            #expect(shown.body["token"] as? String == "usable")
            #expect(shown.body["ended"] as? Bool == false)
            #expect(shown.body["last-stamp-seconds"] is Int)
            let budget = try #require(shown.body["budget"] as? [String: Any])
            #expect(budget["per-hour"] as? Int == 3 && budget["out"] as? Int == 1 && budget["left"] as? Int == 2)
            let returns = try #require(budget["returns-in-seconds"] as? [Int])
            #expect(returns.count == 1 && (3_000...3_600).contains(returns[0]), "\(returns)")
            #expect(await worker.activityReport(key: "order/7 ü")?.budget.out == 1)
            #expect(await worker.activityReport(key: "order/7 ü", app: "com.example.none") == nil)
            #expect(!"\(shown.body)".contains(token))
            let told = try #require(await worker.activityToken(key: "order/7 ü"))
            #expect(told.token == [UInt8](repeating: 0xAB, count: 32) && told.app == WorkerHouse.app)
            #expect(await worker.activityToken(key: "order/7 ü", app: "com.example.none") == nil)
            #expect(await worker.activityToken(key: "homeless") == nil, "nobody has registered a token for it")

            let homeless = try await Self.get("/activities/homeless?app=\(WorkerHouse.app)", worker)
            #expect(homeless.body["token"] as? String == "none")
            #expect((homeless.body["pending"] as? [String: Any])?["event"] as? String == "update")
            #expect(homeless.body["events-pending"] as? Int == 1)
            let wait = try #require(homeless.body["waits-for"] as? [String: Any])
            #expect(wait["cause"] as? String == "token" && wait["given-up-then"] as? Bool == true)
            #expect((1...300_000).contains(try #require(wait["ends-in-millis"] as? Int)))
            #expect(await worker.activityWait(key: "homeless")?.cause == .token)

            try house.publish("order/7 ü", #"{"event":"end"}"#)
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.pushesAccepted == 2 }
            let ended = try await Self.get("/activities/order%2F7%20%C3%BC", worker)
            #expect(ended.body["ended"] as? Bool == true)

            let unknown = try await Self.get("/activities/nobody", worker).body
            #expect(Self.kind(unknown) == "activity-unknown")
            #expect(((unknown["error"] as? [String: Any])?["remedy"] as? String)?.contains("/audiences/<id>") == true)
            #expect(Self.kind(try await Self.get("/activities/a?app=com.example.none", worker).body) == "app-unknown")
            #expect(try await Self.get("/activities/a?what=1", worker).status == 400)
            #expect(try await Self.get("/activities/%FF", worker).status == 400)
            await worker.stop()
        }
    }

    /// Any shard may have the audience's owner, and any shard may have members. The page shows what this worker has.
    @Test func anAudienceIsShownAsFarAsItIsHere() async throws {
        try await WorkerHouse.with { house in
            let worker = try await house.readyWorker()
            for number in 0..<20 {
                let token = String(repeating: String(format: "%02x", number + 16), count: 32)
                try house.publish(token, #"{"event":"register","audience":"cup"}"#)
            }
            try house.publish(
                "cup", #"{"event":"update","to":{"audience":"cup"},"priority":10,"content-state":{"goals":1}}"#)
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.members.accepted == 20 }
            let shown = try await Self.get("/audiences/cup", worker)
            #expect(shown.status == 200)
            let owner = try #require(shown.body["owner"] as? [String: Any])
            let partition = Int(Murmur2.partition(key: Array("cup".utf8).span, count: 4))
            #expect(owner["partition"] as? Int == partition && shown.body["owner-partition"] as? Int == partition)
            let versions = try #require(owner["versions"] as? [[String: Any]])
            #expect(versions.last?["priority"] as? String == "high")
            #expect((owner["budget"] as? [String: Any])?["per-hour"] as? Int == 15)
            let partitions = try #require(shown.body["partitions"] as? [[String: Any]])
            #expect(partitions.reduce(0) { $0 + ($1["members"] as? Int ?? 0) } == 20)
            #expect(partitions.allSatisfy { ($0["rings"] as? [[String: Any]])?.first?["progress"] as? Double == 1 })
            #expect(
                Set(owner["asked-partitions"] as? [Int] ?? []) == Set(partitions.compactMap { $0["partition"] as? Int })
            )
            #expect(Self.kind(try await Self.get("/audiences/nobody", worker).body) == "audience-unknown")
            await worker.stop()
        }
    }

    /// Orders from the admin port reach the partitions through Kafka, like orders from the command line.
    @Test func anAudienceIsPausedAndResumed() async throws {
        try await WorkerHouse.with { house in
            let worker = try await house.readyWorker()
            let token = String(repeating: "cd", count: 32)
            try house.publish(token, #"{"event":"register","audience":"cup"}"#)
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.membersHeld == 1 }
            let port = try #require(worker.adminPort)

            func post(_ path: String) async throws -> (status: Int, text: String) {
                try await NamedThread.run("test-http") {
                    Result { try ChannelPagesTests.exchange(port, "POST", path, host: "localhost") }
                }.get()
            }
            let paused = try await post("/audiences/cup/pause")
            #expect(paused.status == 200 && paused.text.contains(#""paused":true"#))
            try await WorkerHouse.wait(for: worker) { $0.engine.audiencesPaused == 1 }
            try house.publish("cup", #"{"event":"update","to":{"audience":"cup"},"content-state":{"goals":1}}"#)
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.membersPaused == 1 }
            #expect(worker.snapshot().engine.members.accepted == 0)
            #expect(try await post("/audiences/cup/resume").status == 200)
            try await WorkerHouse.wait(for: worker) { $0.engine.members.accepted == 1 }
            #expect(try await post("/audiences/cup/stop").status == 404)
            #expect(try await post("/audiences/cup/pause?app=com.example.none").status == 404)
            await worker.stop()
        }
    }

    @Test func theWorkerShowsHowItStands() async throws {
        try await WorkerHouse.with { house in
            let configuration = house.configuration()
            let worker = try await house.readyWorker(configuration)
            let shown = try await Self.get("/status", worker)
            #expect(shown.status == 200)
            #expect(shown.body["version"] as? String == MailboatVersion.current)
            #expect(shown.body["ready"] as? Bool == true)
            #expect((shown.body["configuration"] as? [String: Any])?["hash"] as? String == configuration.hash)
            #expect((shown.body["shards"] as? [[String: Any]])?.count == 2)
            let partitions = try #require(shown.body["partitions"] as? [[String: Any]])
            #expect(partitions.compactMap { $0["number"] as? Int } == [0, 1, 2, 3])
            #expect(partitions.allSatisfy { $0["phase"] as? String == "running" })
            #expect((shown.body["routes"] as? [[String: Any]])?.isEmpty == false)
            await worker.stop()
        }
    }

    /// Two workers share the partitions. One has the activity, and the other says where it is.
    @Test func aKeyOfAnotherWorkerIsNotFoundHere() async throws {
        try await WorkerHouse.with { house in
            let one = try await house.readyWorker()
            let other = try house.worker()
            try await other.start()
            try await WorkerHouse.wait(for: other) { $0.isReady && $0.runningPartitionCount == 2 }
            try await WorkerHouse.wait(for: one) { $0.isReady && $0.runningPartitionCount == 2 }
            let partition = Int(Murmur2.partition(key: Array("homeless".utf8).span, count: 4))
            try house.update("homeless", 1)
            try await house.flush()
            let isOnes = one.snapshot().partitions.contains { Int($0.number) == partition }
            let (here, elsewhere) = isOnes ? (one, other) : (other, one)
            try await WorkerHouse.wait(for: here) { $0.engine.slots == 1 }
            #expect(try await Self.get("/activities/homeless", here).status == 200)
            let answer = try await Self.get("/activities/homeless", elsewhere)
            #expect(answer.status == 404 && Self.kind(answer.body) == "elsewhere")
            #expect((answer.body["error"] as? [String: Any])?["partition"] as? Int == partition)
            await other.stop()
            await one.stop()
        }
    }

    @Test func aTokenIsAskedFor() async throws {
        try await WorkerHouse.with { house in
            let secret = "0123456789abcdef0123456789abcdef"
            let path = house.directory + "/token"
            try Data("\(secret)\n".utf8).write(to: URL(fileURLWithPath: path))
            var configuration = house.configuration()
            configuration.admin.tokenFile = path
            let worker = try await house.readyWorker(configuration)
            let port = try #require(worker.adminPort)
            let statuses = await NamedThread.run("test-http") { () -> [String: Int] in
                var statuses: [String: Int] = [:]
                for route in ["/status", "/activities/a", "/audiences/a"] {
                    for (name, token) in [("none", nil), ("wrong", secret + "0"), ("right", secret)] {
                        let answer = try? ChannelPagesTests.exchange(port, "GET", route, token: token)
                        statuses["\(route) \(name)"] = answer?.status
                    }
                }
                for route in ["/healthz", "/readyz", "/metrics", "/openapi.json"] {
                    statuses[route] = (try? ChannelPagesTests.exchange(port, "GET", route))?.status
                }
                return statuses
            }
            for route in ["/status", "/activities/a", "/audiences/a"] {
                #expect(statuses["\(route) none"] == 401)
                #expect(statuses["\(route) wrong"] == 401)
                #expect(statuses["\(route) right"] == (route == "/status" ? 200 : 404))
            }
            for route in ["/healthz", "/readyz", "/metrics", "/openapi.json"] { #expect(statuses[route] == 200) }
            await worker.stop()
        }
    }

    /// A loop that hangs has a limited number of open questions, and each question times out.
    @Test func questionsAreFewAndEndInTime() async throws {
        try await WorkerHouse.with { house in
            let worker = try await house.readyWorker()
            let questions = try #require(worker.statePages).questions
            let gate = DispatchSemaphore(value: 0)
            // Each question stays open until its shard's next turn.
            let hanging = (0..<ShardQuestions.underWayMax).map { _ in
                Task { () -> Result<[Int], ShardQuestions.Fault> in
                    do throws(ShardQuestions.Fault) {
                        return .success(
                            try await questions.ask(shard: 0) { _ in
                                gate.wait()
                                gate.signal()
                                return 7
                            })
                    } catch { return .failure(error) }
                }
            }
            for task in hanging { #expect(await task.value == .failure(.timedOut)) }
            await #expect(throws: ShardQuestions.Fault.busy) { _ = try await questions.ask(shard: 1) { _ in 7 } }
            let answer = try await Self.get("/activities/a", worker)
            #expect(answer.status == 503 && Self.kind(answer.body) == "busy")
            gate.signal()
            // The questions are answered one by one.
            var answers: [Int] = []
            while answers.isEmpty, !Task.isCancelled {
                answers = (try? await questions.ask { _ in 7 }) ?? []
                await Task.yield()
            }
            #expect(answers == [7, 7])
            await worker.stop()
            await #expect(throws: ShardQuestions.Fault.notRunning) { _ = try await questions.ask { _ in 7 } }
        }
    }
}
