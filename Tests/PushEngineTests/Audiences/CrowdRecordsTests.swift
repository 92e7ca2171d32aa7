import PushModel
import Testing

@testable import PushEngine

/// Tests when the records of a crowd are written, without an engine around it.
@Suite struct CrowdRecordsTests {
    @Test func progressIsWrittenOnceASecond() {
        var records = CrowdRecords()
        #expect(records.progressDueMillis(nowMillis: 5_000) == .max)
        records.met()
        #expect(records.progressDueMillis(nowMillis: 5_000) == 5_000, "the first at once")
        records.progressWritten(nowMillis: 5_000)
        records.met()
        #expect(records.isProgressDue && records.progressDueMillis(nowMillis: 9_000) == .max, "one is under way")
        let isNewest = records.progressAcknowledged(1)
        #expect(isNewest)
        #expect(records.progressDueMillis(nowMillis: 5_100) == 6_000)
    }
    /// A fast round may meet more members before the next record is acknowledged.
    @Test func theHorizonFollowsThePace() {
        var records = CrowdRecords()
        records.progressWritten(nowMillis: 0)
        #expect(records.horizonCount == CrowdRecords.horizonCountMin && !records.isHorizonNear)
        for _ in 0..<3_000 { records.met() }
        #expect(records.isHorizonNear)
        records.progressWritten(nowMillis: 10)
        #expect(records.horizonCount == 6_000 && !records.isHorizonNear)
    }
    /// No member is served before Kafka has acknowledged both the versions and their progress. Either record may be
    /// acknowledged first.
    @Test(arguments: [true, false]) func aVersionIsDurableWithBothRecords(versionsFirst: Bool) {
        var records = CrowdRecords()
        records.versionsWritten()
        records.awaitVersions()
        records.progressWritten(nowMillis: 0)
        records.awaitProgress()
        #expect(records.durability == .awaitsBoth)
        if versionsFirst {
            let isNewest = records.versionsAcknowledged(1)
            #expect(isNewest && records.durability == .awaitsProgress)
            _ = records.progressAcknowledged(1)
        } else {
            let isNewest = records.progressAcknowledged(1)
            #expect(isNewest && records.durability == .awaitsVersions)
            _ = records.versionsAcknowledged(1)
        }
        #expect(records.isDurable)
    }

    /// A model with one flag for each fact.
    private struct Model {
        var isDue = false
        var isUnderWay = false
        var awaitsVersions = false
        var awaitsProgress = false
        var versions: UInt32 = 0
        var progress: UInt32 = 0
        var required: UInt32 = 0
    }

    /// Events happen in random order. Every state is reached, and each agrees with the model's flags.
    @Test func statesSayWhatFlagsSay() {
        var reached: Set<[UInt8]> = []
        for seed in UInt64(1)...40 {
            var random = SplitMix64(seed: seed)
            var (records, model) = (CrowdRecords(), Model())
            for step in 0..<400 {
                switch Int.random(in: 0..<8, using: &random) {
                case 0:
                    records.progressed()
                    model.isDue = true
                case 1:
                    records.met()
                    model.isDue = true
                case 2:
                    records.progressWritten(nowMillis: Int64(step))
                    model.progress += 1
                    (model.isUnderWay, model.isDue) = (true, false)
                case 3:
                    records.versionsWritten()
                    records.awaitVersions()
                    model.versions += 1
                    model.awaitsVersions = true
                case 4:
                    records.awaitProgress()
                    model.required = model.progress
                    model.awaitsProgress = true
                case 5:
                    let number = UInt32.random(in: 0...model.versions, using: &random)
                    let isNewest = records.versionsAcknowledged(number)
                    #expect(isNewest == (number == model.versions))
                    if number == model.versions { model.awaitsVersions = false }
                case 6:
                    let number = UInt32.random(in: 0...model.progress, using: &random)
                    let isNewest = records.progressAcknowledged(number)
                    #expect(isNewest == (number == model.progress))
                    if number >= model.required { model.awaitsProgress = false }
                    if number == model.progress { model.isUnderWay = false }
                default:
                    let isTold = Bool.random(using: &random)
                    records.restored(isWritten: isTold)
                    model.isDue = !isTold
                }
                #expect(records.isProgressDue == model.isDue && records.isProgressUnderWay == model.isUnderWay)
                #expect(records.isDurable == (!model.awaitsVersions && !model.awaitsProgress))
                #expect(records.versionsNumber == model.versions && records.progress.number == model.progress)
                let isDue = records.progressDueMillis(nowMillis: Int64(step)) != .max
                #expect(isDue == (model.isDue && !model.isUnderWay))
                reached.insert([records.progress.state.rawValue, records.durability.rawValue])
            }
        }
        #expect(reached.count == 16)
    }
}
