import Testing

@testable import ShardLoop

@Suite struct CarefulLaneTests {
    private static func leaves(_ lane: inout CarefulLane, isRefused: Bool) -> Int {
        let width = lane.width
        lane.groupCount = width
        if isRefused { lane.wasRefused() }
        lane.groupAnswered()
        return width
    }

    @Test func groupsGrowUntilOneIsRefused() {
        var lane = CarefulLane(dueMillis: 0)
        var widths = (0..<4).map { _ in Self.leaves(&lane, isRefused: false) }
        widths.append(Self.leaves(&lane, isRefused: true))
        widths += (0..<6).map { _ in Self.leaves(&lane, isRefused: false) }
        #expect(widths == [1, 2, 4, 8, 16, 1, 2, 4, 8, 8, 8])
    }

    @Test func whatLeftBeforeSaysNothingOfHowManyMay() {
        var lane = CarefulLane(dueMillis: 0)
        lane.wasRefused()
        lane.groupAnswered()
        #expect(lane.width == 1)
        #expect((0..<3).map { _ in Self.leaves(&lane, isRefused: false) } == [1, 2, 4])
    }
}
