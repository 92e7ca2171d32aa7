import Testing

@testable import mailboat_bench

struct CountedTests {
    private static func counts(_ rows: [String: Double]) -> OperationCounts {
        OperationCounts(rows: rows.mapValues { .init(value: $0, unit: "instructions") })
    }

    @Test(
        arguments: [
            (1_000, 1_030, .holds), (1_000, 1_031, .worse), (1_000, 970, .holds), (1_000, 969, .better),
            (0, 0, .holds), (0, 0.01, .holds), (0, 0.02, .worse), (1, 1.04, .worse), (nil, 5, .unknown),
            (5, nil, .missing),
        ] as [(Double?, Double?, OperationCounts.Comparison)])
    func aRowStandsBesideItsThreshold(threshold: Double?, value: Double?, comparison: OperationCounts.Comparison) {
        func rows(_ value: Double?) -> OperationCounts { Self.counts(value.map { ["row": $0] } ?? [:]) }
        let comparisons = rows(value).comparisons(beside: rows(threshold))
        #expect(comparisons.map(\.name) == ["row"])
        #expect(comparisons.map(\.comparison) == [comparison])
    }

    /// The cost of a function includes the functions that it calls. In callgrind's format a name is written only at its
    /// first use, and the inclusive cost is in the line after `calls`.
    @Test func aProfileTellsWhatAFunctionAndItsCalleesTook() {
        let profile = InclusiveProfile(
            """
            events: Ir
            fl=(1) a.swift
            fn=(1) $s4main3runyyF
            10 7
            cfn=(2) $s4main12CountedShardV11countedTakeyyF
            calls=2 20
            11 100
            cob=(3) libc.so.6
            cfn=(3) memcpy
            calls=1 0
            12 5

            fn=(2)
            20 60
            cfn=(3)
            calls=4 0
            +1 40

            fn=(4) $s4main4moreyyF
            cfn=(2)
            calls=1 20
            31 50
            """)
        #expect(profile.instructions(in: "12CountedShardV11countedTake") == 150)
        #expect(profile.instructions(in: "memcpy") == 45)
        #expect(profile.instructions(in: "countedMerge") == 0)
    }

    /// Each counted operation has its own words, and its own symbol by which a profile finds its function. Two symbols
    /// are written out here.
    @Test func everyOperationHasASymbolAndWordsOfItsOwn() {
        #expect(Set(CountedOperation.allCases.map(\.symbolPart)).count == CountedOperation.allCases.count)
        #expect(Set(CountedOperation.allCases.map(\.description)).count == CountedOperation.allCases.count)
        for operation in CountedOperation.allCases {
            #expect(operation.symbolPart.lowercased().hasSuffix("counted\(operation)".lowercased()))
        }
        #expect(CountedOperation.take.symbolPart == "12CountedShardV11countedTake")
        #expect(CountedOperation.exchange.symbolPart == "14CountedSessionV15countedExchange")
    }

    @Test func aTurnCountsEveryOperationForEachPush() throws {
        var meter = AllocationMeter()
        meter.isOn = true
        var shard = CountedShard(activities: 40, partitionCount: 4)
        try shard.register(0..<40)
        var session = CountedSession()
        shard.wait(millis: 5_000)
        shard.keepState(true)
        try shard.turn(0..<32, number: 0, meter: &meter)
        try shard.turn(32..<40, number: 0, meter: &meter)
        shard.keepState(false)
        shard.wait(millis: 5_000)
        try shard.push(0..<32, number: 1, meter: &meter)
        try shard.push(32..<40, number: 1, meter: &meter)
        try session.turn(40, meter: &meter)
        var successor = CountedShard(activities: 40, partitionCount: 4, state: shard.state)
        try successor.restore(meter: &meter)
        #expect(shard.pushCount == 80)
        for operation in CountedOperation.ofEachPush where operation != .handOver {
            #expect(meter.steps[operation]?.operations == 40, "\(operation)")
        }
        // Each push has two records, its outcome and its state.
        #expect(meter.steps[.handOver]?.operations == 80)
        #expect(meter.steps[.idle]?.operations == 2)
    }

    /// The benchmark fails if a push does not leave in its turn. It must not count the push's answer.
    @Test func whatIsNotPushedFails() throws {
        var meter = AllocationMeter()
        var shard = CountedShard(activities: 1, partitionCount: 4)
        try shard.register(0..<1)
        shard.wait(millis: 5_000)
        try shard.push(0..<1, number: 0, meter: &meter)
        // Less than a second has passed since the first push, so no push is due.
        meter.isOn = true
        let failure = #expect(throws: BenchmarkFailure.self) { try shard.turn(0..<1, number: 1, meter: &meter) }
        #expect(failure.map { "\($0)".contains("not every push was ready") } == true)
        #expect(meter.steps[.answer]?.operations ?? 0 == 0 && shard.pushCount == 1)
    }
}
