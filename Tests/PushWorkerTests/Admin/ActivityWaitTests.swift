import Testing

@testable import PushEngine
@testable import PushWorker

/// Tests of the reason why an activity's push waits. The reason is found from a shard's report about the activity.
struct ActivityWaitTests {
    private static func report(
        _ pending: ActivityReport.Push? = Self.push(), _ change: (inout ActivityReport) -> Void = { _ in }
    ) -> ActivityReport {
        var report = ActivityReport(
            app: "com.example.app", partition: 0, life: "alive", hasEnded: false, token: "usable",
            environment: "production", frequentUpdates: false,
            budget: ActivityReport.Budget(
                perHour: 10, reserve: 2, out: 0, left: 10, returnsInSeconds: [], policy: "defer"),
            eventsPending: 1, pending: pending, inFlight: nil, lastStampSeconds: nil, lastAcceptedSeconds: nil,
            restMillis: 0, tokenWaitMillis: nil, attempts: 0, awaitsRecord: false)
        change(&report)
        return report
    }

    private static func push(
        _ event: String = "update", priority: String = "high", hasAlert: Bool = false, ageMillis: Int64 = 200
    ) -> ActivityReport.Push {
        ActivityReport.Push(
            event: event, priority: priority, hasAlert: hasAlert, merged: 1, stampSeconds: nil, ageMillis: ageMillis)
    }

    private static func wait(
        _ report: ActivityReport, pauses: [String] = [], _ change: (inout AppConfiguration) -> Void = { _ in }
    ) -> ActivityWait? {
        var app = AppConfiguration(bundleID: "com.example.app")
        app.budgetPolicy = .defer
        change(&app)
        return ActivityWait(report, app: app, pauses: pauses)
    }

    @Test func nothingWaitsWithoutEvents() {
        #expect(Self.wait(Self.report(nil) { $0.eventsPending = 0 }) == nil)
        #expect(Self.wait(Self.report(nil))?.cause == .record)
    }

    /// APNs said that the token died before its registration, so the token is kept. The push waits for the next
    /// attempt, and the wait names that answer.
    @Test func aTokenThatDiedBeforeItsRegistrationIsNamed() throws {
        let wait = try #require(
            Self.wait(Self.report { ($0.attempts, $0.earlierDeaths, $0.restMillis) = (2, 2, 1_500) }))
        #expect(wait.cause == .attempt && wait.endsInMillis == 1_500 && !wait.isGivenUpThen)
        #expect(
            wait.text
                == "the next attempt: APNs has answered 410 for a time before the token was registered, 2 times in a row. The registration is newer, so the token is kept; after 8 such answers in a row it is taken for dead"
        )
    }

    @Test func anAnswerAndARecordComeFirst() {
        #expect(Self.wait(Self.report { $0.inFlight = Self.push() })?.cause == .answer)
        #expect(Self.wait(Self.report { $0.awaitsRecord = true })?.cause == .record)
    }

    @Test func aTokenIsWaitedForUntilTheEventIsGivenUp() throws {
        let none = try #require(
            Self.wait(
                Self.report {
                    $0.token = "none"
                    $0.tokenWaitMillis = 299_000
                }))
        #expect(none.cause == .token && none.endsInMillis == 299_000 && none.isGivenUpThen)
        #expect(
            none.text
                == "a token: nobody has registered one under this key. The event is kept for 5m (the worker’s setting registration-wait)"
        )
        let started = Self.wait(
            Self.report {
                $0.token = "none"
                $0.life = "started"
            })
        #expect(started?.cause == .registration && started?.endsInMillis == nil)
        let ending = Self.wait(
            Self.report(Self.push("end")) {
                ($0.token, $0.life, $0.tokenWaitMillis) = ("none", "ending", 40_000_000)
            })
        #expect(ending?.cause == .registration)
        for (token, text) in [("dead", "is dead"), ("doubted", "has refused it")] {
            let refused = Self.wait(
                Self.report {
                    $0.token = token
                    $0.tokenWaitMillis = 4_000
                })
            #expect(refused?.cause == .token && refused?.text.contains(text) == true)
            #expect(refused?.endsInMillis == 4_000 && refused?.isGivenUpThen == true)
        }
        // A start uses a start token, so a missing update token does not delay it.
        #expect(Self.wait(Self.report(Self.push("start")) { $0.token = "none" })?.cause == .stream)
    }

    @Test func theTimeThatDecidesIsTold() {
        let low = Self.push(priority: "low")
        #expect(Self.wait(Self.report(low))?.cause == .window)
        #expect(Self.wait(Self.report(low))?.endsInMillis == 800)
        let distant = Self.wait(Self.report(low) { $0.restMillis = 900 })
        #expect(distant?.cause == .distance && distant?.endsInMillis == 900)
        let failed = Self.wait(
            Self.report {
                $0.restMillis = 4_000
                $0.attempts = 2
            })
        #expect(failed?.cause == .attempt && failed?.text == "the next attempt: the last 2 have failed")
    }

    @Test func theBudgetSaysWhenTheUnitReturns() throws {
        func spent(_ push: ActivityReport.Push, out: Int) -> ActivityWait? {
            Self.wait(
                Self.report(push) {
                    $0.budget.out = out
                    $0.budget.returnsInSeconds = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
                })
        }
        let wait = try #require(spent(Self.push(), out: 9))
        // 9 of 10 units are spent, and 2 are kept for alerts and ends. Two units must return before this push may
        // leave.
        #expect(wait.cause == .budget && wait.endsInMillis == 20_000 && !wait.isGivenUpThen)
        #expect(wait.text == "the hourly budget: 9 of 10 are spent, 2 of them kept for alerts and ends")
        #expect(spent(Self.push(hasAlert: true), out: 9)?.cause == .stream)
        #expect(spent(Self.push(hasAlert: true), out: 10)?.endsInMillis == 10_000)
        #expect(spent(Self.push("end"), out: 10)?.cause == .stream)
    }

    @Test func aPauseIsToldToThoseItConcerns() {
        let topic = "APNs refuses the topic of app com.example.app in production"
        #expect(Self.wait(Self.report(), pauses: [topic])?.text == "APNs: \(topic)")
        let others = [
            "APNs refuses the topic of app com.example.other in production", "route development/K: slow",
            // The bundle ids of these two apps begin with that of the app under test.
            "APNs refuses the topic of app com.example.app.beta in production",
            "APNs refuses the topic of app com.example.app2 in production",
        ]
        #expect(Self.wait(Self.report(), pauses: others)?.cause == .stream)
    }

    @Test func aWorkerThatDoesNotHaveThePartitionSaysSo() {
        var snapshot = WorkerSnapshot()
        #expect(snapshot.waitForWorker(partition: 3)?.text.contains("joins") == true)
        snapshot.hasJoinedGroup = true
        #expect(snapshot.waitForWorker(partition: 3)?.text.contains("this one does not") == true)
        for (phase, isFree) in [(WorkerSnapshot.PartitionPhase.restoring, false), (.running, true), (.halted, false)] {
            snapshot.partitions = [
                WorkerSnapshot.Partition(
                    number: 3, shard: 0, phase: phase, restoredRecords: 0, restoreRecordsMax: 0, reason: "")
            ]
            #expect((snapshot.waitForWorker(partition: 3) == nil) == isFree)
        }
    }
}
