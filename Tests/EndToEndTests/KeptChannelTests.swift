import APNSProtocol
import APNSSimulator
import ChildProcesses
import DeviceModel
import Foundation
import Testing

/// Tests of channels that a worker keeps, with a simulated APNs. The channels are made ahead of time. The next worker
/// finds them again, and none is lost.
@Suite(.timeLimit(.minutes(10)))
struct KeptChannelTests {
    private static let warmCount = 2

    /// Runs `body` in a house whose APNs has a management port for channels. It also gets the settings of a worker that
    /// keeps warm channels.
    private static func with(_ body: (TestHouse, String) async throws -> Void) async throws {
        var configuration = SimulatorConfiguration()
        configuration.managementPort = 0
        try await TestHouse.with(simulator: configuration) { house in
            let port = try #require(house.simulator.managementPort)
            try await body(
                house,
                """
                channels.warm: \(Self.warmCount)
                channels.exclusive: true
                apns.production.manage-host: 127.0.0.1
                apns.production.manage-port: \(port)
                """)
        }
    }
    private static let auto = "\naudience.channel: auto"

    private static func warm(_ worker: WorkerProcess) async throws {
        try await until("\(Self.warmCount) channels are warm (log: \(worker.logPath))") {
            try await worker.metric("mailboat_channels_warm") == Double(Self.warmCount)
        }
    }

    @Test func theNextWorkerFindsTheChannelsOfOneThatWasKilled() async throws {
        try await Self.with { house, settings in
            let first = try await house.startWorker("first", settings: settings + Self.auto)
            try await Self.warm(first)
            let made = Set(house.simulator.channels(app: TestPublisher.app).map(\.id))
            #expect(made.count == Self.warmCount)
            first.kill()
            #expect(try await first.exited() == -SIGKILL)

            let second = try await house.startWorker("second", settings: settings + Self.auto)
            try await Self.warm(second)
            #expect(Set(house.simulator.channels(app: TestPublisher.app).map(\.id)) == made)
            #expect(house.simulator.statistics().channelsCreated == Self.warmCount)
            #expect(try await second.metric("mailboat_channels_created_total") == 0)
            #expect(house.violations(except: .http2, .tls).isEmpty)
        }
    }

    /// APNs makes a channel, and the worker dies before it gets the id. The next worker waits for a minute, and adopts
    /// the unknown channel in the list. It may, because nobody else makes channels for this app (`channels.exclusive`).
    @Test func whatALostAnswerHasMadeIsAdopted() async throws {
        try await Self.with { house, settings in
            let fault = house.simulator.add(Fault(.stall(applied: true), count: 1, kind: .createChannel))
            let first = try await house.startWorker("first", settings: settings + Self.auto)
            try await until("a creation is not answered") { house.simulator.fired(fault) == 1 }
            first.kill()
            #expect(try await first.exited() == -SIGKILL)
            let lost = try #require(house.simulator.channels(app: TestPublisher.app).first?.id)

            let second = try await house.startWorker("second", settings: settings + Self.auto)
            try await Self.warm(second)
            let channels = house.simulator.channels(app: TestPublisher.app).map(\.id)
            #expect(channels.count == Self.warmCount && channels.contains(lost), "none has leaked")
            #expect(try await second.metric("mailboat_channels_adopted_total") == 1)
        }
    }

    /// `channels reconcile` deletes the channels that a worker has left behind, and no others. No worker keeps channels
    /// for the app now.
    @Test func reconcileDeletesWhatAWorkerHasLeft() async throws {
        try await Self.with { house, settings in
            let other = try #require(house.simulator.createChannel(app: TestPublisher.app, storage: .none))
            let first = try await house.startWorker("first", settings: settings + Self.auto)
            try await Self.warm(first)
            first.terminate()
            #expect(try await first.exited() == 0)
            // The command keeps the wanted number of warm channels. If that number is zero, it deletes all of them.
            try await Self.reconcile(first.configurationPath, in: house)
            #expect(house.simulator.channels(app: TestPublisher.app).count == Self.warmCount + 1)

            let without = first.configurationPath + "-without.yaml"
            try String(contentsOfFile: first.configurationPath, encoding: .utf8)
                .replacingOccurrences(of: Self.auto, with: "")
                .write(toFile: without, atomically: true, encoding: .utf8)
            try await Self.reconcile(without, in: house)
            #expect(house.simulator.channels(app: TestPublisher.app).map(\.id) == [other])
        }
    }

    private static func reconcile(_ configurationPath: String, in house: TestHouse) async throws {
        let command = try ChildProcess(
            name: "reconcile", executable: BuiltExecutable.besideThisOne("mailboat"),
            arguments: ["channels", "reconcile", "--config", configurationPath, "--execute"],
            logPath: "\(house.directory)/reconcile.log")
        try await until("the command ends") { !command.isRunning }
        let said = try String(contentsOfFile: "\(house.directory)/reconcile.log", encoding: .utf8)
        #expect(command.status == 0, "\(said)")
    }
}
