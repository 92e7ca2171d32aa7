import Foundation
import Fuzzing

// Feeds mutated inputs to all code that reads bytes from strangers.
//
// `fuzz --corpus DIR [--target NAME] [--seconds N | --seeds N | --seed N] [--from N]`

struct Arguments {
    var corpus = "Tests/Corpus"
    var targets: [any FuzzTarget.Type] = FuzzTargets.all
    var seconds: UInt64?
    var seeds: UInt64 = 500
    var from: UInt64 = 0

    struct Complaint: Error { var text: String }

    static let usage = "usage: fuzz [--corpus DIR] [--target NAME] [--seconds N | --seeds N | --seed N] [--from N]"

    init(_ words: [String]) throws(Complaint) {
        var words = words[...]
        while let word = words.popFirst() {
            guard let value = words.popFirst() else { throw Complaint(text: "\(word) wants a value; \(Self.usage)") }
            switch word {
            case "--corpus": self.corpus = value
            case "--target":
                guard let target = FuzzTargets.named(value) else {
                    let names = FuzzTargets.all.map { $0.name }.joined(separator: ", ")
                    throw Complaint(text: "\(value) is no target: expected one of \(names)")
                }
                self.targets = [target]
            case "--seconds": self.seconds = try Self.number(word, value)
            case "--seeds": self.seeds = try Self.number(word, value)
            case "--from": self.from = try Self.number(word, value)
            case "--seed": (self.from, self.seeds) = (try Self.number(word, value), 1)
            default: throw Complaint(text: "\(word) is not understood; \(Self.usage)")
            }
        }
    }

    private static func number(_ word: String, _ value: String) throws(Complaint) -> UInt64 {
        guard let number = UInt64(value), number <= UInt64(Int32.max) else {
            throw Complaint(text: "\(word) wants a number from 0 to \(Int32.max), not \(value)")
        }
        return number
    }
}

/// Seed of the present input, which is printed if the input ends the process. A signal handler may read only plain
/// globals. No other thread runs here.
nonisolated(unsafe) var currentSeed: UInt64 = 0
nonisolated(unsafe) var currentTarget: StaticString = ""

/// Seconds after which reading an input counts as a hang. It normally takes at most a few milliseconds.
let hangSeconds: UInt32 = 30

/// Installs signal handlers that print the seed when a reader traps or hangs, and end the process. All their calls are
/// allowed in a signal handler.
func printSeedOfTraps() {
    for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGALRM] {
        signal(number) { number in
            func say(_ text: StaticString) { _ = write(2, text.utf8Start, text.utf8CodeUnitCount) }
            var digits: [20 of UInt8] = .init(repeating: 0)
            var (count, rest) = (0, currentSeed)
            repeat {
                count += 1
                digits[20 - count] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            } while rest > 0
            say(number == SIGALRM ? "\nfuzz: a reader hangs; " : "\nfuzz: a reader trapped; ")
            say("play it again with TARGET=")
            say(currentTarget)
            say(" SEED=")
            for index in (20 - count)..<20 {
                var digit = digits[index]
                _ = write(2, &digit, 1)
            }
            say("\n")
            signal(number, SIG_DFL)
            raise(number == SIGALRM ? SIGABRT : number)
        }
    }
}

func handlerName(_ target: any FuzzTarget.Type) -> StaticString {
    switch target.name {
    case EventTarget.name: "events"
    case StateTarget.name: "state"
    case AnswerTarget.name: "answers"
    case HTTP2Target.name: "http2"
    case KafkaTarget.name: "kafka"
    case ProxyTarget.name: "proxy"
    default: "configuration"
    }
}

/// Plays the corpus, and then the targets in turn, one seed each, until the requested seeds or seconds are over.
/// - Returns: number of failures.
func play(_ arguments: Arguments) throws -> Int {
    let plans = try arguments.targets.map { try FuzzPlan($0, corpusFolder: arguments.corpus) }
    var failures: [FuzzPlan.Failure] = []
    for plan in plans { failures += plan.playCorpus() }
    let clock = ContinuousClock()
    let begun = clock.now
    var told = begun
    var played: UInt64 = 0
    while arguments.seconds.map({ clock.now - begun < .seconds(Int64($0)) }) ?? (played < arguments.seeds) {
        currentSeed = arguments.from + played
        for plan in plans {
            currentTarget = handlerName(plan.target)
            if let failure = plan.play(seed: currentSeed, onInput: { _ in alarm(hangSeconds) }) {
                failures.append(failure)
            }
        }
        alarm(0)
        played += 1
        guard clock.now - told > .seconds(10) else { continue }
        told = clock.now
        print("\(played) seeds, \(failures.count) failures")
        fflush(nil)
    }
    for failure in failures.prefix(10) {
        print("\(failure)\n  play it again: make fuzz TARGET=\(failure.target) SEED=\(failure.seed)")
    }
    let inputs = played * UInt64(FuzzPlan.inputsPerSeed * plans.count)
    print("fuzz: \(played) seeds, \(inputs) inputs to \(plans.count) targets, \(failures.count) failures")
    return failures.count
}

printSeedOfTraps()
do {
    exit(try play(Arguments(Array(CommandLine.arguments.dropFirst()))) == 0 ? 0 : 1)
} catch let complaint as Arguments.Complaint {
    print("fuzz: \(complaint.text)")
    exit(2)
} catch {
    print("fuzz: the corpus cannot be read: \(error)")
    exit(2)
}
