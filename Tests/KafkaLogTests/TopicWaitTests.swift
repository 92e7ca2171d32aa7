import KafkaLog
import Testing

/// Tests of the wait for topics. A cluster with KRaft acknowledges a creation or deletion before its metadata shows the
/// change.
struct TopicWaitTests {
    private static let created = ["events", "state"].map { NewTopic(name: $0, partitionCount: 4) }

    private static func shown(_ counts: [String: Int]) -> [TopicDescription] {
        counts.map { TopicDescription(name: $0.key, partitionCount: $0.value, replicationFactor: 1) }
    }

    /// Plays a cluster whose metadata shows the scripted topics at each look. It always shows one older topic as well.
    private static func play(
        _ script: [[String: Int]], limitMillis: Int64 = 30_000
    ) -> (steps: [TopicWait.Step], elapsedMillis: Int64) {
        var wait = TopicWait(for: Self.created, limitMillis: limitMillis)
        var (steps, elapsedMillis): ([TopicWait.Step], Int64) = ([], 0)
        for look in 0... {
            let step = wait.looked(
                Self.shown(script[min(look, script.count - 1)].merging(["other": 1]) { first, _ in first }),
                elapsedMillis: elapsedMillis)
            steps.append(step)
            guard case .lookAgain(let afterMillis, _) = step else { break }
            #expect(afterMillis > 0)
            elapsedMillis += afterMillis
        }
        return (steps, elapsedMillis)
    }

    @Test func topicsThatAreShownAtOnceAreNotWaitedFor() {
        let played = Self.play([["events": 4, "state": 4]])
        #expect(played.steps == [.done] && played.elapsedMillis == 0)
    }

    @Test func whatIsShownLateIsWaitedFor() {
        let played = Self.play([[:], ["events": 4], ["events": 4, "state": 2], ["events": 4, "state": 4]])
        #expect(
            played.steps == [
                .lookAgain(afterMillis: 50, awaited: ["events", "state"]),
                .lookAgain(afterMillis: 100, awaited: ["state"]),
                .lookAgain(afterMillis: 200, awaited: ["state"]), .done,
            ])
    }

    /// The wait ends exactly at its limit.
    @Test func theLimitEndsTheWait() {
        let played = Self.play([["events": 4]], limitMillis: 3_000)
        #expect(played.steps.last == .overdue(awaited: ["state"]))
        #expect(played.elapsedMillis == 3_000)
        #expect(played.steps.count < 12, "it does not ask more than a few times a second")
    }

    @Test func deletedTopicsAreWaitedForUntilTheyAreGone() {
        var wait = TopicWait(untilGone: ["events", "state"], limitMillis: 100)
        #expect(
            wait.looked(Self.shown(["events": 4, "state": 4, "other": 1]), elapsedMillis: 0)
                == .lookAgain(afterMillis: 50, awaited: ["events", "state"]))
        #expect(
            wait.looked(Self.shown(["state": 4, "other": 1]), elapsedMillis: 50)
                == .lookAgain(afterMillis: 50, awaited: ["state"]))
        #expect(wait.looked(Self.shown(["state": 4]), elapsedMillis: 100) == .overdue(awaited: ["state"]))
        #expect(wait.looked(Self.shown(["other": 1]), elapsedMillis: 100) == .done)
    }

    @Test func forAWorkerAnyNumberOfPartitionsWillDo() {
        var wait = TopicWait(for: ["events"], limitMillis: 1_000)
        #expect(wait.looked([], elapsedMillis: 0) == .lookAgain(afterMillis: 50, awaited: ["events"]))
        #expect(wait.looked(Self.shown(["events": 1]), elapsedMillis: 50) == .done)
    }
}
