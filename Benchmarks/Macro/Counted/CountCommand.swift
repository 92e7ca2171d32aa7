import ArgumentParser
import Foundation

/// The command of `make bench-micro`.
struct CountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "count",
        abstract: "Count what each part of a push takes, and compare with the thresholds in the tree.",
        discussion: """
            Instructions by callgrind, allocations by a preloaded library, under virtual time: the machine's mood does not move them. Ends with 1 \
            when a row is more than 3 % above its threshold, and when rows and thresholds are not the same.
            """)

    @Option(help: ArgumentHelp("The thresholds.", valueName: "file"))
    var thresholds = "Benchmarks/Macro/Counted/thresholds.json"

    @Flag(help: "Write what was counted as the thresholds from now on.")
    var update = false

    @Option(help: ArgumentHelp("Folder with the sources of the libraries that processes are started with."))
    var preloaded = "Benchmarks/Preloaded"

    /// Number of pushes in a turn of the loop, and number of activities. Callgrind takes about a second for them.
    private static let turns: [(pushes: Int, activities: Int)] = [(1, 1_000), (32, 3_200), (1_000, 10_000)]
    private static let partitionCounts = [64, 256]
    /// Number of members. In each partition about a thousand of them share the fixed cost of a pass. Callgrind takes
    /// some seconds for them.
    private static let memberCount = 20_000
    private static let memberPartitionCount = 16
    /// Number of members whose memory is counted. Each of the 16 partitions then has about as many members as one of 64
    /// partitions that share a million members.
    private static let rememberedCount = 240_000

    func run() throws {
        let bench = try Bench(mailboat: CommandLine.arguments[0], isQuick: true, preloadedSources: self.preloaded)
        defer { bench.cleanUp() }
        let counts = try self.count(bench)
        if self.update {
            try counts.write(to: self.thresholds)
            print("wrote \(self.thresholds)")
            return
        }
        let thresholds = try OperationCounts.read(from: self.thresholds)
        let comparisons = counts.comparisons(beside: thresholds)
        Self.show(counts, thresholds, comparisons)
        guard comparisons.allSatisfy({ $0.comparison == .holds || $0.comparison == .better }) else { throw ExitCode(1) }
    }

    private func count(_ bench: Bench) throws -> OperationCounts {
        var counts = OperationCounts()
        let callgrind = try Callgrind(bench)
        for (pushes, activities) in Self.turns {
            bench.say("turns of \(pushes)")
            let arguments = Self.arguments(activities: activities, partitions: Self.partitionCounts[0], turn: pushes)
            let report = try self.report(bench, arguments)
            let profile = try callgrind.profile(arguments, within: CountedOperationsCommand.countedPart)
            for operation in CountedOperation.ofEachPush {
                try counts.add(operation, "turn of \(pushes)", report, profile)
            }
        }
        for partitions in Self.partitionCounts {
            bench.say("\(partitions) partitions")
            func arguments(_ activities: Int) -> [String] {
                Self.arguments(activities: activities, partitions: partitions, turn: 1_000)
            }
            let memory = try self.report(bench, arguments(10_000))
            counts.add("idle activity, \(partitions) partitions: memory", memory.byteCountPerActivity, "B")
            let report = try self.report(bench, arguments(1_000))
            let profile = try callgrind.profile(arguments(1_000), within: CountedOperationsCommand.countedPart)
            try counts.add(.idle, "\(partitions) partitions", report, profile)
        }
        try self.countMembers(bench, callgrind, into: &counts)
        return counts
    }

    private func countMembers(_ bench: Bench, _ callgrind: Callgrind, into counts: inout OperationCounts) throws {
        for length in AudienceWorkload.TokenLength.allCases {
            bench.say("members, tokens of \(length.rawValue) bytes")
            func arguments(_ members: Int) -> [String] {
                [
                    "counted-members", "--members", "\(members)", "--partitions", "\(Self.memberPartitionCount)",
                    "--token-bytes", "\(length.rawValue)",
                ]
            }
            let circumstance = "\(length.rawValue)-byte tokens"
            let memory = try self.report(bench, arguments(Self.rememberedCount))
            counts.add(
                "member, \(circumstance): memory beyond the token",
                memory.byteCountPerActivity - Double(length.rawValue), "B")
            let report = try self.report(bench, arguments(Self.memberCount))
            let profile = try callgrind.profile(
                arguments(Self.memberCount), within: CountedMembersCommand.countedPart)
            for operation in CountedOperation.ofEachMember {
                try counts.add(operation, circumstance, report, profile)
            }
        }
    }

    private static func arguments(activities: Int, partitions: Int, turn: Int) -> [String] {
        [
            "counted-operations", "--activities", "\(activities)", "--partitions", "\(partitions)", "--turn",
            "\(turn)",
        ]
    }

    /// Runs a counted process without callgrind, and returns its allocations and memory.
    private func report(_ bench: Bench, _ arguments: [String]) throws -> CountedOperationsCommand.Report {
        let counter = try AllocationCounter(bench)
        var environment = counter.environment
        environment["SWIFT_DETERMINISTIC_HASHING"] = "1"
        let process = try ChildProcess(
            "counted-operations", [bench.own] + arguments, core: bench.cores.client,
            logPath: bench.logPath("counted"), environment: environment, inheritsEnvironment: false)
        try process.waitForEnd(limitSeconds: 120)
        guard let line = process.output.split(separator: "\n").last else {
            throw BenchmarkFailure("counted-operations said nothing")
        }
        let report = try JSONDecoder().decode(CountedOperationsCommand.Report.self, from: Data(line.utf8))
        // Registrations always allocate. Without a counter all counts would be 0, and would keep every threshold.
        guard report.steps.values.contains(where: { $0.allocations > 0 }) else {
            throw BenchmarkFailure("counted-operations: the allocation counter has counted nothing")
        }
        return report
    }

    private static func show(
        _ counts: OperationCounts, _ thresholds: OperationCounts,
        _ comparisons: [(name: String, comparison: OperationCounts.Comparison)]
    ) {
        let width = comparisons.map(\.name.count).max() ?? 0
        func number(_ row: OperationCounts.Row?) -> String {
            row.map { String(format: "%12.3f", $0.value) } ?? String(repeating: " ", count: 11) + "-"
        }
        print("\nrow".padding(toLength: width + 1, withPad: " ", startingAt: 0), "       now    threshold  holds")
        for (name, comparison) in comparisons {
            print(
                name.padding(toLength: width, withPad: " ", startingAt: 0), number(counts.rows[name]),
                number(thresholds.rows[name]), comparison.rawValue)
        }
        let bad = comparisons.filter { $0.comparison != .holds && $0.comparison != .better }
        if !bad.isEmpty {
            print("\n\(bad.count) rows do not hold. If that is meant to be: make bench-micro ARGS=--update")
        } else if comparisons.contains(where: { $0.comparison == .better }) {
            print("\nSome rows are better than their thresholds. To keep it so: make bench-micro ARGS=--update")
        }
    }
}

extension OperationCounts {
    /// Adds the rows with the instructions and the allocations of an operation, per single operation.
    fileprivate mutating func add(
        _ operation: CountedOperation, _ circumstance: String, _ report: CountedOperationsCommand.Report,
        _ profile: InclusiveProfile
    ) throws {
        guard let step = report.steps[operation], step.operations > 0 else {
            throw BenchmarkFailure("\(operation.rawValue) was not counted")
        }
        let instructions = profile.instructions(in: operation.symbolPart)
        guard instructions > 0 else {
            throw BenchmarkFailure("callgrind has seen no call of \(operation.symbolPart)")
        }
        let name = "\(operation.description), \(circumstance)"
        self.add("\(name): instructions", Double(instructions) / Double(step.operations), "instructions")
        self.add("\(name): allocations", Double(step.allocations) / Double(step.operations), "allocations")
    }

    fileprivate mutating func add(_ name: String, _ value: Double, _ unit: String) {
        self.rows[name] = Row(value: (value * 1_000).rounded() / 1_000, unit: unit)
    }
}
