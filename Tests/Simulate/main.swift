import Foundation
import Simulation

// Plays simulated runs, each with its own seed: `simulate --seeds COUNT [--from SEED] [--first-failure]`.
// `simulate --seed SEED` plays one run and prints everything that happens in it.
// `--audiences PERCENT`: percentage of worlds that have audiences.
// `--starts PERCENT`: percentage of worlds with audiences that also have start members.
// `--channels-kept PERCENT`: percentage of worlds with audiences that keep channels for them.
// `--moves PERCENT`: percentage of worlds that move to another cluster.

/// The arguments of the command line.
struct Arguments {
    var from: UInt64 = 0
    var seeds: UInt64 = 1_000
    /// Seed of the only run, which is printed in full. `nil`: many runs are played.
    var seed: UInt64?
    /// Whether playing stops after the first run that fails.
    var stopsAtFailure = false
    /// Percentage of worlds that have audiences.
    var audiencesPercent = AudiencePlan.worldsPercent
    /// Percentage of worlds with audiences that also have start members.
    var startsPercent = AudiencePlan.startsPercent
    /// Percentage of worlds with audiences that keep channels for them.
    var keptPercent = KeptPlan.worldsPercent
    /// Percentage of worlds that move to another cluster.
    var movesPercent = 0

    static let usage =
        "usage: simulate [--audiences PERCENT] [--starts PERCENT] [--channels-kept PERCENT] [--moves PERCENT] --seeds COUNT [--from SEED] [--first-failure] | --seed SEED"

    init(_ words: [String]) throws(Complaint) {
        var words = words[...]
        while let word = words.popFirst() {
            if word == "--first-failure" {
                self.stopsAtFailure = true
                continue
            }
            let known = ["--seeds", "--from", "--seed", "--audiences", "--starts", "--channels-kept", "--moves"]
            guard known.contains(word) else {
                throw Complaint(text: "\(word) is not understood; \(Self.usage)")
            }
            guard let text = words.popFirst(), let number = UInt64(text), number <= UInt64(Int64.max) else {
                throw Complaint(text: "\(word) wants a number from 0 on; \(Self.usage)")
            }
            switch word {
            case "--seeds": self.seeds = number
            case "--from": self.from = number
            case "--audiences": self.audiencesPercent = Int(min(number, 100))
            case "--starts": self.startsPercent = Int(min(number, 100))
            case "--moves": self.movesPercent = Int(min(number, 100))
            case "--channels-kept": self.keptPercent = Int(min(number, 100))
            default: self.seed = number
            }
        }
    }

    struct Complaint: Error { var text: String }
}

/// Seed of the present run, which is printed if the process dies in that run. It is a plain global, because a signal
/// handler may read nothing else. The process has only one thread.
nonisolated(unsafe) var currentSeed: UInt64 = 0

/// Installs handlers that print the seed if a run traps, which ends the process. All calls in them are safe in a signal
/// handler.
func printSeedOfTraps() {
    for number in [SIGILL, SIGTRAP, SIGSEGV, SIGABRT] {
        signal(number) { number in
            var bytes: [20 of UInt8] = .init(repeating: 0)
            var count = 0
            var rest = currentSeed
            repeat {
                count += 1
                bytes[20 - count] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            } while rest > 0
            let text: StaticString = "\nsimulate: the run trapped; play it again with SEED="
            _ = write(2, text.utf8Start, text.utf8CodeUnitCount)
            for index in (20 - count)..<20 {
                var byte = bytes[index]
                _ = write(2, &byte, 1)
            }
            _ = write(2, "\n", 1)
            signal(number, SIG_DFL)
            raise(number)
        }
    }
}

/// Plays the runs of all seeds.
/// - Returns: number of failed runs.
func play(_ arguments: Arguments) -> Int {
    var failed: [UInt64] = []
    var simulatedMillis: Int64 = 0
    var traced = TraceTally()
    let showsProgress = isatty(1) == 1
    let step = max(1, arguments.seeds / 20)
    for count in 1...max(1, arguments.seeds) where count <= arguments.seeds {
        currentSeed = arguments.from + count - 1
        let world = SimulationWorld(
            seed: currentSeed, audiencesPercent: arguments.audiencesPercent, startsPercent: arguments.startsPercent,
            keptPercent: arguments.keptPercent, movesPercent: arguments.movesPercent)
        world.run()
        simulatedMillis += world.simulatedMillis
        traced.add(world.traceTally)
        if !world.faults.isEmpty {
            failed.append(currentSeed)
            if failed.count <= 10 {
                print((showsProgress ? "\r" : "") + world.faults.prefix(4).joined(separator: "\n"))
            }
            if arguments.stopsAtFailure { break }
        }
        if showsProgress ? count % 20 == 0 : count % step == 0 {
            print(
                "\(showsProgress ? "\r" : "")\(count) of \(arguments.seeds) seeds, \(failed.count) failures",
                terminator: showsProgress ? "" : "\n")
            fflush(nil)
        }
    }
    if showsProgress { print("") }
    if !failed.isEmpty {
        print("failing seeds: " + failed.prefix(100).map { "\($0)" }.joined(separator: " "))
        print("play one again with its trace: make simulate SEED=\(failed[0])")
    }
    print("traced: \(traced)")
    print(
        "simulate: \(arguments.seeds) seeds, \(simulatedMillis / 3_600_000) simulated hours, \(failed.count) failures")
    return failed.count
}

/// Plays the run of one seed, and prints everything that happens in it.
/// - Returns: number of faults.
func trace(_ seed: UInt64, _ arguments: Arguments) -> Int {
    currentSeed = seed
    let world = SimulationWorld(
        seed: seed, audiencesPercent: arguments.audiencesPercent, startsPercent: arguments.startsPercent,
        keptPercent: arguments.keptPercent, movesPercent: arguments.movesPercent
    ) { print($0) }
    world.run()
    print(world.plan)
    for fault in world.faults { print(fault) }
    print(
        "simulate: 1 seeds, \(world.simulatedMillis / 3_600_000) simulated hours, \(world.faults.isEmpty ? 0 : 1) failures"
    )
    return world.faults.count
}

printSeedOfTraps()
do {
    let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
    let failures = arguments.seed.map { trace($0, arguments) } ?? play(arguments)
    exit(failures == 0 ? 0 : 1)
} catch {
    print("simulate: \(error.text)")
    exit(2)
}
