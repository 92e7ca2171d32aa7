import CommandSupport
import ArgumentParser
import Dispatch
import Foundation
import LocalFiles

/// The macro benchmark. It runs processes as in production, and reports numbers as a table and as JSON.
@main
struct MailboatBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mailboat-bench",
        abstract: "Measure what a push costs, from Kafka to APNs.",
        discussion: """
            Starts Kafka (embedded), a simulated APNs and the worker as processes of their own, on cores of their own, and measures them \
            from outside. Benchmarks/README.md says what each row means. Ends with 1 only when a measurement could not be made.
            """,
        subcommands: [
            RunRowsCommand.self, SoakCommand.self, TableCommand.self, TransportClientCommand.self, IngestCommand.self,
            RawConsumptionCommand.self,
            MeasuredWorkerCommand.self, PacedPublisherCommand.self, CountedPushesCommand.self,
            CountedPassesCommand.self, CountCommand.self, CountedOperationsCommand.self, CountedMembersCommand.self,
        ],
        defaultSubcommand: RunRowsCommand.self)
}

/// The groups of rows. On the embedded broker they run in this order.
enum RowGroup: String, CaseIterable, ExpressibleByArgument {
    case transport, worker, instructions, tracing, paced, ingest, latency, memory, restore
    case fanout, freshness
    case membersMemory = "members-memory"
    case membersRestore = "members-restore"
    case membersDead = "members-dead"
    case brownOut = "brown-out"
    case backlog, burst

    /// Groups that run on a real broker if the run is given one. The broker's machine is not measured. The rows use few
    /// partitions, as a worker of a scaled deployment has.
    static let onRealBroker: [RowGroup] = [.backlog, .burst, .paced, .latency, .restore]
    /// Groups that run on the embedded broker.
    static let onEmbeddedBroker = Self.allCases.filter { $0 != .backlog && $0 != .burst }
}

struct RunRowsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "run", abstract: "Run rows of the benchmark.")

    @Option(help: "The program to measure.")
    var mailboat: String

    @Flag(help: "Fewer and shorter rounds: a few minutes in all.")
    var quick = false

    @Option(
        parsing: .upToNextOption,
        help: "Only these groups of rows: \(RowGroup.allCases.map(\.rawValue).joined(separator: ", ")).")
    var rows: [RowGroup] = []

    @Option(
        help: ArgumentHelp(
            "A real Kafka, on which the rows \(RowGroup.onRealBroker.map(\.rawValue).joined(separator: ", ")) are run instead, in topics of their own, deleted afterwards.",
            valueName: "host:port"))
    var bootstrap: String?

    @Option(
        name: .customLong("consumer-property"),
        help: ArgumentHelp(
            "A librdkafka property of the workers' consumers, over their defaults. May be repeated.",
            valueName: "name=value"))
    var consumerProperties: [String] = []

    @Option(help: ArgumentHelp("Write the results as JSON.", valueName: "file"))
    var results: String?

    @Option(help: "Updates per second of the latency rows; otherwise half of what the worker keeps up on one core.")
    var latencyPerSecond: Double?

    @Option(
        parsing: .upToNextOption,
        help: "Updates per second of the paced rows, each a row of its own; otherwise a few from 1,000 to 50,000.")
    var pacedPerSecond: [Int] = []

    @Option(help: "The commit that is measured, for the results.")
    var commit = ""

    @Option(help: "Folder with the sources of the libraries that processes are started with.")
    var preloaded = "Benchmarks/Preloaded"

    func validate() throws {
        let possible = self.bootstrap == nil ? RowGroup.onEmbeddedBroker : RowGroup.onRealBroker
        if let group = self.rows.first(where: { !possible.contains($0) }) {
            throw ValidationError(
                "--rows \(group.rawValue): not run on \(self.bootstrap == nil ? "the embedded broker; give --bootstrap" : "a real broker"); there are \(possible.map(\.rawValue).joined(separator: ", "))"
            )
        }
        if let property = self.consumerProperties.first(where: { !$0.contains("=") || $0.hasPrefix("=") }) {
            throw ValidationError("--consumer-property \(property): expected name=value")
        }
    }

    func run() throws {
        let endings = LivingChildren.endOnSignals()
        defer { withExtendedLifetime(endings) {} }
        do {
            // A path that cannot be written must fail before anything is measured.
            if let results { try OutputFile.check(results) }
            let bench = try Bench(
                mailboat: self.mailboat, isQuick: self.quick, preloadedSources: self.preloaded)
            defer { bench.cleanUp() }
            bench.latencyPerSecond = self.latencyPerSecond
            bench.pacedPerSecond = self.pacedPerSecond
            bench.bootstrap = self.bootstrap
            bench.consumerProperties = self.consumerProperties.map { property in
                let parts = property.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return (String(parts[0]), String(parts[1]))
            }
            try self.measure(bench)
        } catch {
            StandardError.print("mailboat-bench: \(error)")
            throw ExitCode.failure
        }
    }

    private func measure(_ bench: Bench) throws {
        var results = Results(machine: Machine.current(isQuick: self.quick, commit: self.commit))
        if let bootstrap { results.machine.kafka = "a real broker at \(bootstrap)" }
        let machine = results.machine
        bench.say("\(machine.processor), \(machine.cores) cores, \(machine.memoryGigabytes) GB, \(machine.system)")
        bench.say("Kafka: \(machine.kafka ?? "embedded")")
        let possible = self.bootstrap == nil ? RowGroup.onEmbeddedBroker : RowGroup.onRealBroker
        var failures: [String] = []
        for group in possible where self.rows.isEmpty || self.rows.contains(group) {
            do {
                try self.measure(group, bench)
            } catch {
                // The results of the other rows are kept.
                bench.say("\(group.rawValue): could not be measured: \(error)")
                failures.append("\(group.rawValue): \(error)")
            }
        }
        results.rows = bench.rows
        bench.say("done")
        print("\n" + ResultTable.plain(results.rows) + "\n")
        let broken = results.rows.filter { $0.holds == false }
        let whole = failures.isEmpty ? "every target holds" : "every target that was measured holds"
        print(broken.isEmpty ? whole : "\(broken.count) targets do not hold")
        if let path = self.results { try results.write(to: path) }
        if !failures.isEmpty { throw BenchmarkFailure("not measured:\n  " + failures.joined(separator: "\n  ")) }
    }

    private func measure(_ group: RowGroup, _ bench: Bench) throws {
        switch group {
        case .transport: try TransportRows(bench: bench).run()
        case .worker: try WorkerRows(bench: bench).run()
        case .paced: try PacedRows(bench: bench).run()
        case .ingest: try IngestRows(bench: bench).run()
        case .latency: try LatencyRows(bench: bench).run()
        case .restore: try RestoreRows(bench: bench).run()
        case .instructions: try InstructionRows(bench: bench).run()
        case .tracing: try TracingRows(bench: bench).run()
        case .memory: try MemoryRows(bench: bench).run()
        case .backlog: try BacklogRows(bench: bench).run()
        case .burst: try BurstRows(bench: bench).run()
        case .fanout: try FanoutRows(bench: bench).run()
        case .freshness: try FreshnessRows(bench: bench).run()
        case .membersMemory: try MemberMemoryRows(bench: bench).run()
        case .membersRestore: try MemberRestoreRows(bench: bench).run()
        case .membersDead: try DeadMembersRows(bench: bench).run()
        case .brownOut: try BrownOutRows(bench: bench).run()
        }
    }
}
