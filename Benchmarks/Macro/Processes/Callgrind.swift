import Foundation

/// Counts the instructions of a process's whole life, in all threads, without the kernel. The load of the machine does
/// not change the counts.
struct Callgrind {
    private let bench: Bench
    /// Path of a copy of this program without debugging information, because valgrind 3.19 cannot read that
    /// information.
    private let program: String
    private let environment: [String: String]

    /// Prepares the program.
    /// - Throws: when `strip` or a C compiler is missing, or refuses its input.
    init(_ bench: Bench) throws {
        self.bench = bench
        self.program = bench.scratch + "/counted-program"
        if !FileManager.default.fileExists(atPath: self.program) {
            let strip = try ChildProcess(
                "strip", ["strip", "--strip-debug", "-o", self.program, bench.own], core: nil,
                logPath: bench.logPath("strip"))
            try strip.waitForEnd(limitSeconds: 60)
        }
        self.environment = [
            "LD_PRELOAD": try PreloadedLibrary.path("patient-sigsuspend", bench),
            // Hash tables have the same order in every run.
            "SWIFT_DETERMINISTIC_HASHING": "1",
        ]
    }

    /// Runs one of this program's commands to its end, and counts its instructions.
    func count(_ arguments: [String]) throws -> Int {
        let process = try ChildProcess(
            "callgrind",
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", self.program] + arguments,
            core: self.bench.cores.client, logPath: self.bench.logPath("callgrind"), environment: self.environment,
            inheritsEnvironment: false)
        try process.waitForEnd(limitSeconds: 300)
        guard let count = Self.collected(output: process.output) else {
            throw BenchmarkFailure("callgrind counted nothing: \(process.lastLines)")
        }
        return count
    }

    /// Runs one of this program's commands to its end, and counts the instructions of one function and its callees, by
    /// function.
    /// - Parameter symbolPart: a text in the function's mangled name, and in no other name.
    func profile(_ arguments: [String], within symbolPart: String) throws -> InclusiveProfile {
        let path = self.bench.logPath("callgrind.out")
        let process = try ChildProcess(
            "callgrind",
            [
                "valgrind", "--tool=callgrind", "--callgrind-out-file=\(path)", "--collect-atstart=no",
                "--toggle-collect=*\(symbolPart)*", self.program,
            ] + arguments,
            core: self.bench.cores.client, logPath: self.bench.logPath("callgrind"), environment: self.environment,
            inheritsEnvironment: false)
        try process.waitForEnd(limitSeconds: 300)
        return InclusiveProfile(try String(contentsOfFile: path, encoding: .utf8))
    }

    /// Reads the count from the line "==123== Collected : 456".
    static func collected(output: String) -> Int? {
        for line in output.split(separator: "\n") where line.hasPrefix("==") && line.contains(" Collected : ") {
            return line.split(separator: " ").last.flatMap { Int($0) }
        }
        return nil
    }
}
