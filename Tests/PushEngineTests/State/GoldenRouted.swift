import APNSProtocol
import ChannelKeeping
import PushModel

@testable import PushEngine

/// Records of `routed` for the golden files. Events are left out, because they are as their producers wrote them.
enum GoldenRouted {
    typealias Case = (name: String, bytes: [UInt8])

    static let cases: [Case] = [
        Self.questions, Self.flaggedVersions, Self.versions, Self.reports, Self.channels, Self.kept,
    ].flatMap { $0 }

    private static let bundleID = Array("com.example.pizza".utf8)
    private static let id = Array("cHJvZA==".utf8)

    private static func question(_ environments: UInt8) -> [UInt8] {
        let question = BusRecord.Question(
            bundleID: Self.bundleID, partition: 7, life: 1_699_990_000, lastJoinSeconds: 1_699_999_650,
            startsUntilSeconds: 1_700_600_000, environments: environments)
        return GoldenReading.written {
            question.write(to: &$0)
        }
    }
    private static func void(isEnded: Bool) -> [UInt8] {
        let void = BusRecord.Void(bundleID: Self.bundleID, life: 1_699_990_000, isEnded: isEnded)
        return GoldenReading.written { void.write(to: &$0) }
    }
    private static let questions: [Case] = [
        ("question.plain", Self.question(0)), ("question.production", Self.question(1)),
        ("question.environments", Self.question(3)), ("void.forgotten", Self.void(isEnded: false)),
        ("void.ended", Self.void(isEnded: true)),
        ("pause.audience", PauseRecord.make(bundleID: "com.example.pizza", audience: "match-7", isPaused: true).value),
        ("pause.app", PauseRecord.make(bundleID: "com.example.pizza", audience: nil, isPaused: true).value),
        ("pause.lifted", PauseRecord.make(bundleID: "com.example.pizza", audience: "match-7", isPaused: false).value),
        ("pause.app-lifted", PauseRecord.make(bundleID: "com.example.pizza", audience: nil, isPaused: false).value),
    ]

    private static let flaggedVersions: [Case] = GoldenParts.versions.map { name, version -> Case in
        ("version.\(name)", GoldenReading.told(BusRecord.Versions(bundleID: Self.bundleID, versions: [version])))
    }
    private static let versions: [Case] = [
        (
            "version.two",
            GoldenReading.told(
                BusRecord.Versions(
                    bundleID: Self.bundleID, versions: [GoldenParts.version(1), GoldenParts.version(2)]))
        )
    ]

    private static func report(_ change: (inout BusRecord.Report) -> Void = { _ in }) -> [UInt8] {
        var report = BusRecord.Report()
        report.bundleID = Self.bundleID
        report.partition = 7
        report.life = 1_699_990_000
        report.doneStampSeconds = 1_699_999_718
        report.counts = GoldenParts.report()
        change(&report)
        let stated = report
        return GoldenReading.written {
            stated.write(to: &$0)
        }
    }
    private static let reports: [Case] = [
        ("report.plain", Self.report()), ("report.nothing", Self.report { $0.counts = CrowdReport() }),
        ("report.finished", Self.report { $0.isFinished = true }),
        ("report.listeners", Self.report { $0.counts.listeners[.production] = 71 }),
        ("report.starts", Self.report { $0.starts = GoldenParts.startReport() }),
        (
            "report.all",
            Self.report {
                $0.isFinished = true
                $0.counts.listeners[.production] = 71
                $0.counts.listeners[.development] = 72
                $0.starts = GoldenParts.startReport(5)
            }
        ),
    ]

    private static func wish(
        _ demand: BusRecord.ChannelWish.Demand, _ environment: PushEnvironment = .production
    ) -> [UInt8] {
        let wish = BusRecord.ChannelWish(
            bundleID: Self.bundleID, environment: environment, life: 1_699_990_000, demand: demand)
        return GoldenReading.written { wish.write(to: &$0) }
    }
    private static func news(_ news: KeeperNews, _ environment: PushEnvironment = .production) -> [UInt8] {
        let told = BusRecord.ChannelNews(
            bundleID: Self.bundleID, environment: environment, life: 1_699_990_000, news: news)
        return GoldenReading.written { told.write(to: &$0) }
    }
    private static let channels: [Case] = [
        ("channel-wish.open", Self.wish(.open(.none))),
        ("channel-wish.open-for-most-recent", Self.wish(.open(.mostRecent), .development)),
        ("channel-wish.ended", Self.wish(.ended(content: Array(#"{"n":9}"#.utf8)))),
        ("channel-wish.ended-without-content", Self.wish(.ended(content: []))),
        ("channel-wish.voided", Self.wish(.voided)),
        ("channel-news.opened", Self.news(.opened(id: Self.id))),
        ("channel-news.vanished", Self.news(.vanished(id: Self.id), .development)),
        ("channel-news.closed", Self.news(.closed(id: Self.id))),
        ("channel-news.quota", Self.news(.refused(.quota(count: 9_501, quota: ChannelQuota(countMax: 10_000))))),
        ("channel-news.by-apns", Self.news(.refused(.byAPNs(status: 403, reason: "Forbidden")))),
        ("channel-news.full", Self.news(.refused(.full(keptMax: 9_000)))),
        ("channel-news.too-many-waiting", Self.news(.refused(.tooManyWaiting(waitingMax: 1_000)))),
        ("channel-news.life-is-over", Self.news(.refused(.lifeIsOver))),
    ]

    private static func question(_ environment: PushEnvironment) -> [UInt8] {
        let question = BusRecord.KeptQuestion(bundleID: Self.bundleID, environment: environment, partition: 7)
        return GoldenReading.written { question.write(to: &$0) }
    }
    private static func answer(
        isKept: Bool, audience: String = "", _ environment: PushEnvironment = .production
    ) -> [UInt8] {
        let answer = BusRecord.KeptAnswer(
            bundleID: Self.bundleID, environment: environment, isKept: isKept, audience: Array(audience.utf8))
        return GoldenReading.written { answer.write(to: &$0) }
    }
    private static let kept: [Case] = [
        ("kept-question.production", Self.question(PushEnvironment.production)),
        ("kept-question.development", Self.question(PushEnvironment.development)),
        ("kept-answer.not", Self.answer(isKept: false)), ("kept-answer.warm", Self.answer(isKept: true, .development)),
        ("kept-answer.audience", Self.answer(isKept: true, audience: "match-7")),
    ]
}
