import APNSSimulator
import ChildProcesses
import Foundation
import Testing

/// Tests of SIGHUP and changed files with a real worker.
@Suite(.timeLimit(.minutes(10)))
struct HangUpTests {
    private static func page(_ worker: WorkerProcess) async throws -> String {
        try await LocalHTTP.get("/metrics", port: worker.adminPort)?.body ?? ""
    }

    private static func log(_ worker: WorkerProcess) throws -> String {
        try String(contentsOfFile: worker.logPath, encoding: .utf8)
    }

    @Test func settingsAreReadAgain() async throws {
        try await TestHouse.with { house in
            let worker = try await house.startWorker(settings: "budget.per-hour: 3\nbudget.policy: defer")
            try await worker.ready()
            let publisher = try TestPublisher(house.kafka)
            try publisher.register("order-1", token: Tokens.make(1))
            try await publisher.flush()
            // The budget leaves one push for updates, because two are reserved for alerts and ends. The test waits for
            // the first push, so that later updates do not merge with it.
            for step in 0..<3 {
                try publisher.update("order-1", "step \(step)", priority: 10)
                try await publisher.flush()
                try await house.apns("the first is sent") { $0.accepted >= 1 }
            }
            try await until("one was sent, and the rest waits") {
                try await Self.page(worker).contains("\nmailboat_events_pending 1\n")
            }
            let before = try String(contentsOfFile: worker.configurationPath, encoding: .utf8)

            try before.replacing("per-hour: 3", with: "per-hour: three").write(
                toFile: worker.configurationPath, atomically: true, encoding: .utf8)
            worker.hangUp()
            try await until("the fault is counted") {
                try await Self.page(worker).contains("\nmailboat_config_last_reload_success 0\n")
            }
            #expect(
                try Self.log(worker).contains("budget.per-hour: is \"three\": expected a whole number from 1 to 3600"))
            #expect(try await Self.page(worker).contains("\nmailboat_events_pending 1\n"))

            try before.replacing("per-hour: 3", with: "per-hour: 30").write(
                toFile: worker.configurationPath, atomically: true, encoding: .utf8)
            worker.hangUp()
            // The larger budget lets the waiting updates leave.
            try await house.phonesAgree(with: publisher.phones)
            let after = try await Self.page(worker)
            #expect(after.contains("\nmailboat_config_last_reload_success 1\n"))
            #expect(after.contains("\nmailboat_events_unaccounted 0\n"))
            #expect(try Self.log(worker).contains("configuration reloaded"))
            #expect(house.violations(except: .http2, .tls).isEmpty)
            worker.terminate()
            #expect(try await worker.exited() == 0)
        }
    }

    /// A SIGHUP does not end a worker that reads its settings for the first time.
    @Test func itEndsNothingThatBegins() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hang-up-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // The settings come from a pipe, so the worker reads until the test closes it.
        let settings = folder + "/settings.yaml"
        #expect(mkfifo(settings, 0o600) == 0)
        let worker = try ChildProcess(
            name: "the worker", executable: BuiltExecutable.besideThisOne("mailboat"),
            arguments: ["run", "--config", settings, "--check"], logPath: folder + "/log")
        var pipe: Int32 = -1
        try await until("the settings are read") {
            pipe = open(settings, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            return pipe >= 0
        }
        worker.hangUp()
        let handle = FileHandle(fileDescriptor: pipe)
        try handle.write(contentsOf: Data("kafka.bootstrap: localhost:1\n".utf8))
        try handle.close()
        try await until("it has ended") { !worker.isRunning }
        #expect(worker.status == 1)
        #expect(try String(contentsOfFile: worker.logPath, encoding: .utf8).contains("apps: is missing"))
    }

    /// A watched file is read again without a signal.
    @Test func aFileThatIsWatchedIsReadAgain() async throws {
        try await TestHouse.with { house in
            let worker = try await house.startWorker(settings: "reload.watch: true")
            try await worker.ready()
            let before = try String(contentsOfFile: worker.configurationPath, encoding: .utf8)
            try (before + "\nlog.level: debug\n").write(
                toFile: worker.configurationPath, atomically: true, encoding: .utf8)
            try await until("the change is taken") { try Self.log(worker).contains("setting=log.level") }
            worker.terminate()
            #expect(try await worker.exited() == 0)
        }
    }
}
