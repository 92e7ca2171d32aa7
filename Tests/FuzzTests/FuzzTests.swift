import Fuzzing
import Testing

/// Short versions of the runs of `make fuzz`: the unchanged corpus, and then a few seeds of each target.
@Suite struct FuzzTests {
    private static let corpusFolder =
        #filePath.split(separator: "/").dropLast(2).reduce("") { $0 + "/" + $1 } + "/Corpus"

    @Test(arguments: FuzzTargets.all.map { $0.name })
    func corpusAndSomeSeeds(name: String) throws {
        let target = try #require(FuzzTargets.named(name))
        let plan = try FuzzPlan(target, corpusFolder: Self.corpusFolder)
        for failure in plan.playCorpus() { Issue.record("\(failure)") }
        // Reading a settings file takes a hundred times as long as reading an event.
        let seedCount: UInt64 = name == ConfigurationTarget.name ? 1 : 8
        for seed in 0..<seedCount {
            if let failure = plan.play(seed: seed) { Issue.record("\(failure)") }
        }
    }

    /// The inputs depend only on the seed, so a seed is enough to repeat a failure.
    @Test(arguments: [EventTarget.name, StateTarget.name, HTTP2Target.name])
    func seedsDecideEverything(name: String) throws {
        let target = try #require(FuzzTargets.named(name))
        func inputs() throws -> [[UInt8]] {
            var inputs: [[UInt8]] = []
            _ = try FuzzPlan(target, corpusFolder: Self.corpusFolder).play(seed: 77) { inputs.append($0) }
            return inputs
        }
        let first = try inputs()
        #expect(first.count == FuzzPlan.inputsPerSeed)
        #expect(try inputs() == first)
    }
}
