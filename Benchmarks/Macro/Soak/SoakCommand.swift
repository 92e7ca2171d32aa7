import CommandSupport
import ArgumentParser
import Foundation
import LocalFiles

/// The command of `make soak`. It runs one load for a long time, and shows which values grow.
struct SoakCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract:
            "Keep a worker under an even load for a long time, and see whether memory, files and latency stay flat.",
        discussion: """
            Ends with 1 when something could not be measured, an event was lost or the load could not be kept up. A value that grew is a row that \
            does not hold, and says NO.
            """)

    @Option(help: "The program to measure.")
    var mailboat: String

    @Option(help: "How long the load lasts.")
    var minutes: Double = 60

    @Option(help: "Pushes a second; a fifth of them go to an audience.")
    var perSecond = 5_000

    @Option(
        help: ArgumentHelp("A real Kafka, in topics of its own that are deleted afterwards.", valueName: "host:port"))
    var bootstrap: String?

    @Option(help: ArgumentHelp("Write rows and samples as JSON.", valueName: "file"))
    var results: String?

    @Option(help: ArgumentHelp("Write the plots as SVG.", valueName: "directory"))
    var plots: String?

    @Option(help: "The commit that is measured, for the results.")
    var commit = ""

    func validate() throws {
        guard (3...10_000).contains(self.minutes) else {
            throw ValidationError("--minutes \(self.minutes): expected 3 to 10000")
        }
        guard (100...100_000).contains(self.perSecond) else {
            throw ValidationError("--per-second \(self.perSecond): expected 100 to 100000")
        }
    }

    func run() throws {
        let endings = LivingChildren.endOnSignals()
        defer { withExtendedLifetime(endings) {} }
        do {
            if let results { try OutputFile.check(results) }
            if let plots { try FileManager.default.createDirectory(atPath: plots, withIntermediateDirectories: true) }
            let bench = try Bench(mailboat: self.mailboat, isQuick: false, preloadedSources: "")
            defer { bench.cleanUp() }
            bench.bootstrap = self.bootstrap
            let samples = try SoakRun(bench: bench, minutes: self.minutes, perSecond: self.perSecond).run()
            try self.write(samples, bench)
        } catch {
            StandardError.print("mailboat-bench: \(error)")
            throw ExitCode.failure
        }
    }

    /// The document that `--results` writes.
    private struct Report: Encodable {
        var results: Results
        var samples: [SoakSample]
    }

    private func write(_ samples: [SoakSample], _ bench: Bench) throws {
        if let plots { try SoakPlots(samples).write(to: plots) }
        for row in try SoakFlatness(samples).rows { bench.add(row) }
        var results = Results(machine: Machine.current(isQuick: false, commit: self.commit))
        if let bootstrap { results.machine.kafka = "a real broker at \(bootstrap)" }
        results.rows = bench.rows
        print("\n" + ResultTable.plain(results.rows) + "\n")
        let broken = results.rows.count { $0.holds == false }
        print(broken == 0 ? "flat: every target holds" : "\(broken) targets do not hold")
        guard let path = self.results else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let data = try encoder.encode(Report(results: results, samples: samples))
        try OutputFile.write(Array(data + Data("\n".utf8)), to: path)
    }
}
