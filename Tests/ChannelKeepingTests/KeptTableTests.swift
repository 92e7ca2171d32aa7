import APNSProtocol
import PushModel
import Testing

@testable import ChannelKeeping

struct SortedSetTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func itIsASetInOrder(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var (sorted, model) = (SortedSet<Int64>(), Set<Int64>())
        for _ in 0..<500 {
            let number = Int64.random(in: 0..<40, using: &random)
            if Bool.random(using: &random) {
                sorted.insert(number)
                model.insert(number)
            } else {
                sorted.remove(number)
                model.remove(number)
            }
            #expect(sorted.elements == model.sorted())
            #expect(sorted.first(after: number) == model.filter { $0 > number }.min())
        }
    }
}

extension KeptTable {
    /// Compares the table's indexes with a walk through all records. Returns a description of the differences; `nil`
    /// for none.
    func check(_ schedule: BeaconSchedule, beaconGraceMillis: Int64) -> String? {
        let duties = self.held.values.sorted { $0.number < $1.number }.map {
            ($0.number, HeldDuties($0, schedule: schedule, beaconGraceMillis: beaconGraceMillis))
        }
        func numbers(_ isMeant: (HeldDuties) -> Bool) -> [Int64] { duties.filter { isMeant($0.1) }.map(\.0) }
        func due(_ millis: (HeldDuties) -> Int64?) -> [DueNumber] {
            duties.compactMap { number, duties in millis(duties).map { DueNumber(millis: $0, number: number) } }
                .sorted()
        }
        if self.toBeWritten.elements != numbers({ $0.isToBeWritten }) { return "to be written" }
        if self.toBeAnnounced.elements != numbers({ $0.isToBeAnnounced }) { return "to be announced" }
        if self.toBeDeleted.elements != numbers({ $0.isToBeDeleted }) { return "to be deleted" }
        if self.beacons.elements != due({ $0.beaconMillis }) { return "beacons" }
        if self.lingering.elements != due({ $0.lingeredMillis }) { return "lingering" }
        for phase in KeptChannel.Phase.allCases where self.numbers(in: phase) != numbers({ $0.phase == phase }) {
            return "\(phase)"
        }
        for policy in MessageStoragePolicy.allCases {
            if self.nextWish(policy) != numbers({ $0.isWish && $0.policy == policy }).first { return "wishes" }
            if self.warmNumbers(policy) != numbers({ $0.isWarm && $0.policy == policy }) { return "warm" }
            if self.readyNumber(policy) != numbers({ $0.isWarmAndDurable && $0.policy == policy }).first {
                return "ready"
            }
        }
        return nil
    }
}
