import Testing

@testable import mailboat_bench

struct StatisticsTests {
    @Test(
        arguments: [
            ([], 0), ([3], 3), ([3, 1], 2), ([9, 1, 5], 5), ([1, 2, 3, 100], 2.5), ([2, 2, 2], 2),
        ] as [([Double], Double)])
    func theMedianIsTheMiddle(values: [Double], median: Double) { #expect(Sample(values).median == median) }

    @Test(
        arguments: [
            (0, "0"), (0.0004, "0.000"), (0.25, "0.250"), (2.046, "2.05"), (13.37, "13.4"), (131_471.6, "131,472"),
            (1_000_000, "1,000,000"), (-2.5, "-2.50"), (.infinity, "-"), (.nan, "-"), (9.99, "9.99"),
        ] as [(Double, String)])
    func numbersAreShort(value: Double, text: String) { #expect(value.short == text) }

    @Test(arguments: [("0", [0]), ("0-3,8", [0, 1, 2, 3, 8]), ("\t0-1", [0, 1]), ("3-1", []), ("", [])])
    func coresAreRead(list: String, cores: [Int]) { #expect(CorePlan.cores(list: Substring(list)) == cores) }

    @Test func twoCoresAreSharedOutAsClientAndTheRest() {
        let plan = CorePlan(cores: [2, 5])
        #expect(plan.client == 5)
        #expect(plan.server == 2)
        #expect(plan.kafka == 2)
        #expect(plan.isServerShared)
    }

    @Test func threeCoresAreOneForEach() {
        let plan = CorePlan(cores: [0, 1, 2])
        #expect(plan.kafka == 2)
        #expect(!plan.isServerShared)
    }

    @Test func withOneCoreNothingIsPinned() {
        let plan = CorePlan(cores: [0])
        #expect(plan.client == nil)
        #expect(plan.server == nil)
    }
}
