import Simulation
import Testing

@Suite struct SimulationTests {
    /// Plays runs with fixed seeds, fifty in each test case. A failure names its seed.
    @Test("Whatever happens, devices show the right thing and every event is accounted for", arguments: 0..<8)
    func historiesHold(fifty: UInt64) {
        for seed in (fifty * 50)..<(fifty * 50 + 50) { Self.play(seed) }
    }

    /// Plays runs with random seeds. `make simulate SEED=…` plays one of them again.
    @Test("New histories hold as well")
    func newHistoriesHold() {
        var generator = SystemRandomNumberGenerator()
        let first = UInt64.random(in: 1_000_000..<1_000_000_000, using: &generator)
        print("simulation: new seeds \(first) to \(first + 19)")
        for seed in first..<(first + 20) { Self.play(seed) }
    }

    /// Plays 20 worlds, and lets each lose a log if it has one to lose.
    @Test("A log that is not what it was halts its partition", arguments: SimulationWorld.Loss.allCases)
    func whatIsLostHalts(loss: SimulationWorld.Loss) {
        var count = 0
        for seed in UInt64(0)..<20 {
            let world = SimulationWorld(seed: seed, audiencesPercent: 0)
            if world.run(losing: loss) { count += 1 }
            #expect(world.faults.isEmpty, "\(world.faults.joined(separator: "\n"))")
        }
        #expect(count > 5)
    }

    /// Plays worlds that move to another cluster in the middle of the run. Logs have other offsets there, and many
    /// workers die during their first steps.
    @Test("Positions of another cluster hide nothing", arguments: 0..<2)
    func whatMovesGoesOn(fifty: UInt64) {
        var count = 0
        for seed in (fifty * 50)..<(fifty * 50 + 50) {
            let world = SimulationWorld(seed: seed, movesPercent: 100)
            world.run()
            if world.hasMovedCluster { count += 1 }
            #expect(world.faults.isEmpty, "\(world.faults.joined(separator: "\n"))")
        }
        #expect(count > 30)
    }

    private static func play(_ seed: UInt64) {
        let world = SimulationWorld(seed: seed)
        world.run()
        let faults = world.faults
        #expect(faults.isEmpty, "\(faults.joined(separator: "\n"))")
    }
}
