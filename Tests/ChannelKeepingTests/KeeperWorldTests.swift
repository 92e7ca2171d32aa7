import Foundation
import Testing

@testable import ChannelKeeping

/// Plays whole lives of keepers with crashes, lost answers and other systems. `KEEPER_SEEDS` sets the number of
/// seeds; `KEEPER_SEED` plays one.
struct KeeperWorldTests {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }
    private static var seeds: ClosedRange<UInt64> {
        if let seed = Self.number("KEEPER_SEED") { return seed...seed }
        return 1...(Self.number("KEEPER_SEEDS") ?? 60)
    }

    @Test(arguments: [true, false])
    func keepersLeakNothingThatIsNotShown(isExclusive: Bool) {
        var (crashes, creations, beacons, leaks, failed) = (0, 0, 0, 0, 0)
        for seed in Self.seeds {
            var world = KeeperWorld(seed: seed, isExclusive: isExclusive)
            world.run()
            crashes += world.crashCount
            creations += world.createCount
            beacons += world.beaconCount
            leaks += world.leakCount
            if let failure = world.failures.first {
                failed += 1
                Issue.record("seed \(seed): \(failure)")
                if failed >= 5 { break }
            }
        }
        print(
            "exclusive \(isExclusive): \(crashes) crashes, \(creations) creations, \(beacons) beacons, \(leaks) leaks")
        #expect(creations > 0 && beacons > 0 || Self.seeds.count < 20)
        #expect(!isExclusive || leaks == 0)
    }
}
