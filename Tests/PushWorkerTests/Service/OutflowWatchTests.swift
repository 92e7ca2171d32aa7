import PushEngine
import PushModel
import Testing

@testable import PushWorker

/// Tests of when the watch reports that events come in but no push leaves.
@Suite struct OutflowWatchTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var what: String
        var taken: UInt64 = 101
        var accepted: UInt64 = 0
        var outcomes: [Outcome: UInt64]
        var isSaid: Bool
        var testDescription: String { self.what }
    }

    static let cases: [Case] = [
        Case(what: "a lost state", taken: 18_699, outcomes: [.superseded: 18_699], isSaid: true),
        Case(what: "nobody is registered", outcomes: [.unregistered: 101], isSaid: true),
        Case(what: "an old log is read again", outcomes: [.duplicate: 50, .expired: 51], isSaid: true),
        Case(what: "registrations do not count", outcomes: [.duplicate: 101, .applied: 5_000], isSaid: true),
        Case(what: "95 of 100", taken: 200, outcomes: [.superseded: 190, .late: 10], isSaid: true),
        Case(what: "94 of 100", taken: 200, outcomes: [.superseded: 188, .late: 12], isSaid: false),
        Case(what: "something is accepted", accepted: 1, outcomes: [.superseded: 101], isSaid: false),
        Case(what: "too few", taken: 100, outcomes: [.superseded: 100], isSaid: false),
        Case(what: "registrations alone", taken: 0, outcomes: [.applied: 5_000], isSaid: false),
        Case(what: "they wait", outcomes: [:], isSaid: false),
        Case(what: "APNs refuses them", outcomes: [.rejected: 101], isSaid: false),
        Case(what: "they cannot be read", taken: 0, outcomes: [.deadLettered: 101], isSaid: false),
    ]

    @Test(arguments: cases) func itIsSaidByWhatCameInTenMinutes(_ each: Case) {
        var watch = OutflowWatch()
        // Counts from before the watch's first look do not matter.
        var counts = OutflowWatch.Counts()
        (counts.taken, counts.accepted) = (1_000, 900)
        counts.outcomes[Int(Outcome.delivered.rawValue)] = 900
        #expect(watch.look(counts, nowMillis: 5_000) == nil)
        counts.taken += each.taken
        counts.accepted += each.accepted
        for (outcome, count) in each.outcomes { counts.outcomes[Int(outcome.rawValue)] += count }
        #expect(watch.look(counts, nowMillis: 604_999) == nil, "it is not known for so long")
        let said = watch.look(counts, nowMillis: 605_000)
        #expect((said != nil) == each.isSaid, "\(said ?? "nothing")")
    }

    @Test func itNamesTheOutcomes() {
        var watch = OutflowWatch()
        _ = watch.look(OutflowWatch.Counts(), nowMillis: 0)
        var counts = OutflowWatch.Counts()
        counts.taken = 300
        counts.outcomes[Int(Outcome.superseded.rawValue)] = 290
        counts.outcomes[Int(Outcome.unregistered.rawValue)] = 10
        #expect(
            watch.look(counts, nowMillis: 600_000)
                == "events arrive and nothing is pushed: of 300 updates and starts in ten minutes APNs accepted none (10 unregistered, 290 superseded)"
        )
    }

    /// The watch looks every few seconds, at the last ten minutes. An accepted push clears the report at once.
    @Test func itIsOverWhenSomethingLeavesOrNothingComes() {
        var watch = OutflowWatch()
        var counts = OutflowWatch.Counts()
        var saidAt: [Int64] = []
        for second in stride(from: Int64(0), through: 3_600, by: 5) {
            if (600..<1_800).contains(second) {
                counts.taken += 5
                counts.outcomes[Int(Outcome.superseded.rawValue)] += 5
            }
            if second == 1_500 { counts.accepted += 1 }
            if watch.look(counts, nowMillis: second * 1_000) != nil { saidAt.append(second) }
        }
        // The report begins when more than 100 events have come. The accepted push clears it for ten minutes. The
        // report ends when the last events are ten minutes old.
        #expect(saidAt.first == 700)
        #expect(saidAt.last(where: { $0 < 1_500 }) == 1_495)
        #expect(saidAt.first(where: { $0 >= 1_500 }) == 2_100)
        #expect((2_200...2_310).contains(saidAt.last ?? 0))
    }
}
