import PushEngine
import PushModel
import Testing

@testable import ShardLoop

/// Tests that an inlet's record is let in only when all earlier records of its key are finished. Publishers learn of
/// the partition at different times. The group commits at any time, and partitions are looked at one by one.
@Suite struct InletOrderTests {
    /// A world with two old partitions and one that was added.
    private struct World {
        static let inlet: Int32 = 2
        var random: SplitMix64
        var gate = InletGate()
        /// The keys of each partition's records, in order.
        var logs: [[Int]] = [[], [], []]
        var committed: [Int64] = [0, 0, 0]
        /// Number of keys in the world.
        var keyCount = 12
        var hasLearnt: Set<Int> = []
        /// For each record of the inlet: the offset of its key's last record in an old partition, or `nil` if there is
        /// none.
        var before: [Int64?] = []
        var lastOld: [Int: Int64] = [:]
        var letIn: Int64 = 0

        init(seed: UInt64) { self.random = SplitMix64(seed: seed) }

        static func home(_ key: Int) -> Int { key % 2 }

        mutating func live() {
            for _ in 0..<Int.random(in: 0...6, using: &self.random) {
                let key = Int.random(in: 0..<self.keyCount, using: &self.random)
                if Int.random(in: 0..<8, using: &self.random) == 0 { self.hasLearnt.insert(key) }
                if self.hasLearnt.contains(key) {
                    self.before.append(self.lastOld[key])
                    self.logs[2].append(key)
                } else {
                    self.lastOld[key] = Int64(self.logs[Self.home(key)].count)
                    self.logs[Self.home(key)].append(key)
                }
            }
            for partition in 0..<2 where Bool.random(using: &self.random) {
                let end = Int64(self.logs[partition].count)
                if self.committed[partition] < end {
                    self.committed[partition] = Int64.random(in: self.committed[partition]...end, using: &self.random)
                }
            }
        }

        /// Reads all commits first, and then the end of each log. More records and commits may come in between.
        mutating func look() -> [InletGate.Sight] {
            let committed = self.committed
            var sights: [InletGate.Sight] = []
            for partition in (0..<3).shuffled(using: &self.random) {
                if Bool.random(using: &self.random) { self.live() }
                sights.append(
                    InletGate.Sight(
                        topic: 0, partition: Int32(partition), committedOffset: committed[partition],
                        endOffset: Int64(self.logs[partition].count)))
            }
            return sights
        }

        /// Plays some publishing and commits, and looks once.
        /// - Returns: the number of records that were let in too early.
        mutating func step() -> Int {
            self.live()
            let sights = self.look()
            var early = 0
            for position in self.gate.saw(sights, inlets: [Self.inlet]) {
                for offset in self.letIn..<position.nextOffset {
                    guard let last = self.before[Int(offset)] else { continue }
                    let key = self.logs[2][Int(offset)]
                    if self.committed[Self.home(key)] <= last { early += 1 }
                }
                self.letIn = max(self.letIn, position.nextOffset)
            }
            self.committed[2] = self.letIn
            return early
        }

        /// Ends publishing, and finishes all records in old partitions.
        mutating func end() {
            for partition in 0..<2 { self.committed[partition] = Int64(self.logs[partition].count) }
            for _ in 0..<4 {
                let sights = (0..<3).map {
                    InletGate.Sight(
                        topic: 0, partition: Int32($0), committedOffset: self.committed[$0],
                        endOffset: Int64(self.logs[$0].count))
                }
                for position in self.gate.saw(sights, inlets: [Self.inlet]) { self.letIn = position.nextOffset }
            }
        }
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func nothingOvertakes(seed: UInt64) {
        var world = World(seed: seed)
        for _ in 0..<60 {
            let early = world.step()
            #expect(early == 0)
        }
        world.end()
        #expect(world.letIn == Int64(world.logs[2].count), "and in the end all of it is let in")
    }
}
