import APNSSimulator
import DeviceModel
import Foundation
import KafkaLog
import Logging
import PushEngine
import PushModel
import PushTransport
import Synchronization
import TLSSession
import Testing

@testable import PushWorker

/// Tests of a new configuration for a running worker, over real sockets.
struct ReloadTests {
    private static let game = "com.example.game"

    private static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    private static func state(_ phone: SimulatedDevice) -> String {
        String(decoding: phone.device.contentState, as: UTF8.self)
    }

    /// Writes a key that APNs knows into its own file.
    private static func putKey(_ keyID: String, in house: WorkerHouse) throws -> String {
        let key = try ES256PrivateKey.generate()
        house.simulator.register(
            RegisteredKey(keyID: keyID, teamID: WorkerHouse.teamID, publicKey: try key.publicKey()))
        let path = "\(house.directory)/AuthKey_\(keyID).p8"
        try Data(key.pem()).write(to: URL(fileURLWithPath: path))
        return path
    }

    private static func closes(_ snapshot: WorkerSnapshot) -> Int {
        snapshot.routes.reduce(0) { $0 + $1.counters.closesTotal }
    }

    /// Budget, apps and key change while events flow. No event is lost, and only a new key needs new connections.
    @Test func whatChangesUnderLoadLosesNothing() async throws {
        try await WorkerHouse.with { house in
            var configuration = house.configuration()
            configuration.apps[0].engine.budgetPerHour = 3
            configuration.apps[0].engine.budgetReserve = 0
            let lines = LogLines()
            let worker = try await house.readyWorker(configuration, lines: lines)
            let count = 100
            for number in 0..<count {
                try house.publish(
                    "order-\(number)",
                    #"{"event":"register","app":"\#(WorkerHouse.app)","token":"\#(Self.token(number))"}"#)
            }
            var step = 0

            /// Publishes further updates of every order until `isDone`.
            func push(until isDone: @escaping @Sendable (WorkerSnapshot) -> Bool) async throws {
                while true {
                    step += 1
                    // The count is read before the updates are published, because APNs may accept all of them before
                    // the flush returns.
                    let accepted = worker.snapshot().engine.pushesAccepted
                    for number in 0..<count {
                        try house.publish(
                            "order-\(number)",
                            #"{"event":"update","app":"\#(WorkerHouse.app)","priority":10,"content-state":{"step":\#(step)}}"#
                        )
                    }
                    try await house.flush()
                    let snapshot = try await WorkerHouse.wait(for: worker) {
                        $0.engine.pushesAccepted > accepted || isDone($0)
                    }
                    if isDone(snapshot) { return }
                }
            }
            try await push { $0.engine.pushesDowngraded > 0 }

            // With the larger budget, pushes get priority 10 again instead of 5.
            configuration.apps[0].engine.budgetPerHour = 1_000
            let first = try await worker.reload { configuration }
            #expect(first.taken.map(\.setting) == ["apps.\(WorkerHouse.app).budget.per-hour"])
            #expect(first.held.isEmpty)
            let high = worker.snapshot().engine.pushesHighPriority
            try await push { $0.engine.pushesHighPriority > high + UInt64(count) }

            // An app with its own key is added.
            var game = AppSettings(bundleID: Self.game)
            game.teamID = WorkerHouse.teamID
            game.keyID = "GAMEKEY123"
            game.keyFile = try Self.putKey("GAMEKEY123", in: house)
            game.production = configuration.apps[0].production
            configuration.apps.append(game)
            #expect(!lines.all.contains { $0.contains("more than one app") })
            try await worker.reload { configuration }
            #expect(lines.all.filter { $0.contains("more than one app") }.count == 1)
            let gameToken = Self.token(5_000)
            try house.publish("game", #"{"event":"register","app":"\#(Self.game)","token":"\#(gameToken)"}"#)
            try house.publish(
                "game", #"{"event":"update","app":"\#(Self.game)","priority":10,"content-state":{"step":77}}"#)
            try await push { _ in
                house.simulator.device(token: gameToken).map { Self.state($0) }?.contains("77") == true
            }
            #expect(worker.snapshot().routes.contains { $0.name == "production/GAMEKEY123" })
            #expect(Self.closes(worker.snapshot()) == 0, "neither asks for another connection")

            // The key is replaced by the next one, with its new id.
            configuration.apps[0].keyID = "NEXTKEY123"
            configuration.apps[0].keyFile = try Self.putKey("NEXTKEY123", in: house)
            let connections = house.simulator.statistics().connectionsAccepted
            try await worker.reload { configuration }
            try await push { snapshot in
                snapshot.routes.contains { $0.name == "production/NEXTKEY123" }
                    && house.simulator.statistics().connectionsAccepted > connections
            }
            // No push needs the former key now.
            house.simulator.revokeKey(id: WorkerHouse.keyID)
            let accepted = worker.snapshot().engine.pushesAccepted
            try await push { $0.engine.pushesAccepted > accepted + UInt64(2 * count) }

            let settled = try await WorkerHouse.wait(for: worker) { $0.isSettled }
            #expect(settled.engine.isConserved)
            #expect(settled.engine.count(.deadLettered) == 0 && settled.engine.count(.rejected) == 0)
            #expect(settled.engine.count(.unknown) == 0)
            let last = "\(step)"
            for number in 0..<count {
                let shown = house.simulator.device(token: Self.token(number)).map { Self.state($0) }
                #expect(shown?.contains(last) == true, "\(number) shows \(shown ?? "nothing")")
            }
            #expect(house.simulator.violations().isEmpty)
            await worker.stop()
        }
    }

    /// A configuration with a fault is refused as a whole, and the fault is named.
    @Test func aFaultLeavesTheOldConfigurationInPlace() async throws {
        try await WorkerHouse.with { house in
            let lines = LogLines()
            let configuration = house.configuration()
            let worker = try await house.readyWorker(configuration, lines: lines)
            let status = worker.snapshot().configuration
            #expect(status.isLastTaken && status.hash == configuration.hash && status.takenAtSeconds > 0)

            var broken = configuration
            broken.apps[0].engine.budgetPerHour = 2
            broken.apps[0].engine.budgetReserve = 9
            await #expect(throws: ConfigurationError.self) { try await worker.reload { broken } }
            var missing = configuration
            missing.apps[0].engine.budgetPerHour = 2
            missing.apps[0].engine.budgetReserve = 1
            missing.apps[0].keyFile = "/nowhere/AuthKey_NOWHERE123.p8"
            missing.apps[0].keyID = nil
            await #expect(throws: ConfigurationError.self) { try await worker.reload { missing } }

            let told = lines.all.filter { $0.contains("is not used; the previous one stays") }
            #expect(told.count == 2)
            #expect(told.contains { $0.contains("budget.reserve: is 9: expected less than budget.per-hour") })
            #expect(told.contains { $0.contains("apns.key-file") && $0.contains("AuthKey_NOWHERE123.p8") })
            var after = worker.snapshot().configuration
            #expect(!after.isLastTaken)
            after.isLastTaken = true
            #expect(after == status)
            let page = try #require(worker.metricsText)
            #expect(page.contains("\nmailboat_config_last_reload_success 0\n"))
            #expect(page.contains("\nmailboat_config_info{hash=\"\(configuration.hash)\"} 1\n"))

            // After the repair, a reload succeeds and the page says so.
            let report = try await worker.reload { configuration }
            #expect(report.taken.isEmpty && report.held.isEmpty)
            #expect(worker.metricsText?.contains("\nmailboat_config_last_reload_success 1\n") == true)
            await worker.stop()
        }
    }

    /// Changes that need no restart are taken. A change that needs one is reported and counted until the restart.
    @Test func whatNeedsARestartKeepsItsValue() async throws {
        try await WorkerHouse.with { house in
            let lines = LogLines()
            let configuration = house.configuration()
            let worker = try await house.readyWorker(configuration, lines: lines)
            var other = configuration
            other.shardCount = 7
            other.topics.events = ["elsewhere"]
            other.kafka.common.append("sasl.password", "do not tell")
            other.apps[0].engine.budgetPerHour = 40
            let report = try await worker.reload { other }
            #expect(report.taken.map(\.setting) == ["apps.\(WorkerHouse.app).budget.per-hour"])
            #expect(
                Set(report.held.map(\.setting))
                    == ["shards", "topics.events", "kafka.properties.sasl.password"])
            #expect(lines.all.contains { $0.contains("needs a restart") && $0.contains("setting=shards") })
            #expect(!lines.all.contains { $0.contains("do not tell") })
            let page = try #require(worker.metricsText)
            #expect(page.contains("\nmailboat_config_awaiting_restart 3\n"))
            var effective = configuration
            effective.apps[0].engine.budgetPerHour = 40
            #expect(worker.snapshot().configuration.hash == effective.hash)
            await worker.stop()
        }
    }

    /// The worker notices a change of the file that happened after loading and before its first look. Kafka could not
    /// be reached in between.
    @Test func whatChangesBeforeItRunsIsSeenWhenItRuns() async throws {
        try await WorkerHouse.with { house in
            var configuration = house.configuration()
            configuration.watchesFile = true
            let worker = try house.worker(configuration)
            var other = configuration
            other.apps[0].engine.budgetPerHour = 40
            let taken = other
            let loads = Atomic(0)
            let lines = LogLines()
            let isThere = Atomic(true)
            let service = ReloadService(
                worker, loaded: Array("before".utf8), hangUps: await HangUps(),
                logger: Logger(label: "test") { _ in lines.handler }
            ) {
                isThere.load(ordering: .relaxed) ? .content(Array("after".utf8)) : .unreadable("m.yaml is not there")
            } load: {
                loads.add(1, ordering: .relaxed)
                return taken
            }
            var watch = FileWatch(Array("before".utf8))
            for _ in 0..<3 { await service.look(&watch) }
            #expect(loads.load(ordering: .relaxed) == 0)
            try await worker.start()
            for _ in 0..<4 { await service.look(&watch) }
            #expect(loads.load(ordering: .relaxed) == 1)
            #expect(worker.snapshot().configuration.hash == other.hash)
            #expect(lines.all.isEmpty)
            for isNow in [false, true] {
                isThere.store(isNow, ordering: .relaxed)
                for _ in 0..<4 { await service.look(&watch) }
            }
            #expect(lines.all.count == 2 && lines.all[0].contains("is gone"), "\(lines.all)")
            #expect(lines.all[0].contains("cause=m.yaml is not there") && lines.all[1].contains("is back"))
            #expect(loads.load(ordering: .relaxed) == 1)
            await worker.stop()
        }
    }

    /// The settings are taken when the key that they name arrives. In Kubernetes the settings may arrive first.
    @Test func settingsThatNameAKeyTooEarlyAreTakenWhenItIsThere() async throws {
        try await WorkerHouse.with { house in
            var configuration = house.configuration()
            configuration.watchesFile = true
            let worker = try await house.readyWorker(configuration)
            var other = configuration
            var game = AppSettings(bundleID: Self.game)
            game.teamID = WorkerHouse.teamID
            game.production = configuration.apps[0].production
            game.keyID = "LATEKEY123"
            game.keyFile = "\(house.directory)/AuthKey_LATEKEY123.p8"
            other.apps.append(game)
            let given = other
            let service = ReloadService(
                worker, loaded: Array("before".utf8), hangUps: await HangUps(),
                logger: Logger(label: "test") { _ in LogLines().handler }
            ) {
                .content(Array("after".utf8))
            } load: {
                given
            }
            var watch = FileWatch(Array("before".utf8))
            for _ in 0..<2 { await service.look(&watch) }
            #expect(!watch.refusedFaults.isEmpty && !worker.snapshot().configuration.isLastTaken)
            #expect(try Self.putKey("LATEKEY123", in: house) == game.keyFile)
            for _ in 0..<FileWatch.looksBetweenTries { await service.look(&watch) }
            #expect(watch.refusedFaults.isEmpty && worker.snapshot().configuration.isLastTaken)
            #expect(worker.snapshot().configuration.hash == other.hash)
            await worker.stop()
        }
    }

    /// A reload after the loops have ended fails, because the loops give no answer.
    @Test(.timeLimit(.minutes(2))) func whoComesWhenLoopsHaveEndedIsToldSo() async throws {
        try await WorkerHouse.with { house in
            let configuration = house.configuration()
            let worker = try await house.readyWorker(configuration)
            let reconfigurer = try #require(worker.reconfigurer)
            await worker.stop()
            var other = configuration
            other.apps[0].engine.budgetPerHour = 40
            await #expect(throws: ConfigurationError.self) { try await reconfigurer.take(other) }
        }
    }

    /// A SIGHUP that arrives while Kafka cannot be reached takes effect as soon as the worker runs.
    @Test(.timeLimit(.minutes(2))) func aHangUpThatComesBeforeItRunsIsFollowedWhenItRuns() async throws {
        try await WorkerHouse.with { house in
            let configuration = house.configuration()
            let worker = try house.worker(configuration)
            var other = configuration
            other.apps[0].engine.budgetPerHour = 40
            let taken = other
            let loads = Atomic(0)
            let hangUps = await HangUps()
            let service = ReloadService(
                worker, loaded: nil, hangUps: hangUps, logger: Logger(label: "test") { _ in LogLines().handler }
            ) {
                .unreadable("there is no file")
            } load: {
                loads.add(1, ordering: .relaxed)
                return taken
            }
            try await withThrowingTaskGroup { group in
                group.addTask { try await service.run() }
                // Five signals are sent, and the worker notices at least one. Signals that arrive together cause one or
                // two reloads.
                for _ in 0..<5 { kill(getpid(), SIGHUP) }
                while !hangUps.isWished, !Task.isCancelled { await Task.yield() }
                #expect(loads.load(ordering: .relaxed) == 0)
                try await worker.start()
                try await WorkerHouse.wait(for: worker) { $0.configuration.hash == taken.hash }
                #expect(worker.snapshot().configuration.isLastTaken)
                await worker.stop()
                group.cancelAll()
            }
        }
    }

    /// None of many simultaneous reloads is refused, and the configuration that was loaded last holds.
    @Test func reloadsAreTakenOneAfterAnother() async throws {
        try await WorkerHouse.with { house in
            let configuration = house.configuration()
            let worker = try await house.readyWorker(configuration)
            let file = BudgetFile()
            let count = 8
            try await withThrowingTaskGroup { group in
                for _ in 0..<count {
                    group.addTask {
                        try await worker.reload {
                            var other = configuration
                            other.apps[0].engine.budgetPerHour = file.read()
                            return other
                        }
                    }
                }
                for try await report in group { #expect(report.taken.count == 1) }
            }
            var last = configuration
            last.apps[0].engine.budgetPerHour = BudgetFile.before + count
            let status = worker.snapshot().configuration
            #expect(status.isLastTaken && status.hash == last.hash)
            await worker.stop()
        }
    }

    /// The second reload arrives while the first is half done. It waits, and its configuration holds in the end.
    @Test func whatIsLoadedLastHolds() async throws {
        try await WorkerHouse.with { house in
            let worker = try await house.readyWorker()
            var first = house.configuration()
            first.apps[0].engine.budgetPerHour = 21
            var second = first
            second.apps[0].engine.budgetPerHour = 22
            let (one, other) = (first, second)
            var later: Task<ReloadReport, any Error>?
            let isThrough = Flag()
            let earlier = try await worker.reload({ one }) {
                let task = Task {
                    defer { isThrough.set() }
                    return try await worker.reload { other }
                }
                later = task
                while worker.waitingReloadCount == 0, !isThrough.isSet, !Task.isCancelled { await Task.yield() }
            }
            let report = try await later?.value
            #expect(earlier.taken.map(\.after) == ["21"])
            #expect(report?.taken.map(\.after) == ["22"])
            let status = worker.snapshot().configuration
            #expect(status.isLastTaken && status.hash == other.hash)
            await worker.stop()
        }
    }

    private final class Flag: Sendable {
        private let value = Atomic(false)
        var isSet: Bool { self.value.load(ordering: .acquiring) }
        func set() { self.value.store(true, ordering: .releasing) }
    }

    /// Stands for a file whose budget grows by one with each read.
    private final class BudgetFile: Sendable {
        static let before = 20
        private let budget = Mutex(before)
        func read() -> Int {
            self.budget.withLock { budget in
                budget += 1
                return budget
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func whoeverFindsTooManyWaitingIsTurnedAway() async throws {
        let turnstile = Turnstile()
        #expect(await turnstile.enter())
        await withTaskGroup { group in
            for _ in 0..<Turnstile.waitingMax { group.addTask { await turnstile.enter() } }
            while turnstile.waitingCount < Turnstile.waitingMax, !Task.isCancelled { await Task.yield() }
            #expect(await !turnstile.enter())
            for left in (0..<Turnstile.waitingMax).reversed() {
                turnstile.leave()
                #expect(await group.next() == true)
                #expect(turnstile.waitingCount == left)
            }
        }
        turnstile.leave()
        #expect(await turnstile.enter())
    }

    /// A new app's files are read once, before the shards get its settings. A file that is deleted after that is not
    /// missed.
    @Test func aFileThatGoesWhenItWasReadIsNotMissed() async throws {
        try await WorkerHouse.with { house in
            var configuration = house.configuration()
            let worker = try await house.readyWorker(configuration)
            let roots = house.directory + "/game-roots.pem"
            configuration.apps.append(Self.gameApp(configuration, roots: roots))
            let new = configuration
            let pem = try Data(contentsOf: URL(fileURLWithPath: house.credentials.authorityPath))
            try Data("no certificate".utf8).write(to: URL(fileURLWithPath: roots))
            await #expect(throws: ConfigurationError.self) { try await worker.reload { new } }
            #expect(!worker.snapshot().configuration.isLastTaken)

            try pem.write(to: URL(fileURLWithPath: roots))
            let report = try await worker.reload(
                { new }, whenAsked: { try? FileManager.default.removeItem(atPath: roots) })
            #expect(report.refusingShards.isEmpty && worker.snapshot().configuration.isLastTaken)
            let token = Self.token(7)
            try house.publish("game", #"{"event":"register","app":"\#(Self.game)","token":"\#(token)"}"#)
            try house.publish(
                "game", #"{"event":"update","app":"\#(Self.game)","priority":10,"content-state":{"step":77}}"#)
            try await house.flush()
            try await WorkerHouse.wait(for: worker) { $0.engine.pushesAccepted == 1 }
            #expect(house.simulator.device(token: token).map { Self.state($0) }?.contains("77") == true)
            await worker.stop()
        }
    }

    /// A shard agrees to the new app, and then takes over a partition with records of that app. The shard does not know
    /// the app yet, and skips the records. So it refuses the settings, and the reload is not a success.
    @Test func aShardThatRefusesIsNoSuccess() async throws {
        try await WorkerHouse.with { house in
            let configuration = house.configuration()
            var new = configuration
            new.apps.append(Self.gameApp(configuration, roots: configuration.apps[0].production.caFile))
            let both = new
            let former = try await house.readyWorker(both)
            try house.publish("game", #"{"event":"register","app":"\#(Self.game)","token":"\#(Self.token(7))"}"#)
            try await house.flush()
            try await WorkerHouse.wait(for: former) { $0.engine.consumed == 1 && $0.isSettled }
            await former.stop()

            let worker = try house.worker(configuration)
            // The group assigns the partitions some seconds after the start.
            try await worker.start()
            let half = try await worker.reload(
                { both }, whenAsked: { _ = try? await WorkerHouse.wait(for: worker) { $0.isReady } })
            #expect(half.refusingShards.count == 1)
            #expect(!worker.snapshot().configuration.isLastTaken)
            #expect(worker.metricsText?.contains("\nmailboat_config_last_reload_success 0\n") == true)
            #expect(worker.snapshot().errors.contains { $0.contains("the old configuration until a restart") })
            await worker.stop()
        }
    }

    /// Another app with its own route, because it trusts other certificate authorities.
    private static func gameApp(_ configuration: WorkerConfiguration, roots: String?) -> AppSettings {
        var game = configuration.apps[0]
        game.engine.bundleID = Self.game
        game.production.caFile = roots
        return game
    }

    @Test func aWorkerThatDoesNotRunTakesNone() async throws {
        try await WorkerHouse.with { house in
            let worker = try house.worker()
            await #expect {
                try await worker.reload { house.configuration() }
            } throws: {
                "\($0)".contains("try again when it runs")
            }
        }
    }
}
