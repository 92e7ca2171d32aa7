import Testing

@Suite struct SimulationTests {
    /// One test case is a hundred runs, so that the report stays readable; a failure names its seed.
    @Test("Whatever happens, devices show the right thing and every event is accounted for", arguments: 0..<30)
    func historiesHold(hundred: UInt64) {
        for seed in (hundred * 100)..<(hundred * 100 + 100) {
            var world = SimulationWorld(seed: seed)
            world.run()
            let faults = world.faults
            #expect(faults.isEmpty, "\(faults.joined(separator: "\n"))")
        }
    }
}
