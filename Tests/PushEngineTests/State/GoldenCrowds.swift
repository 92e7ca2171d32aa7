import PushModel

@testable import PushEngine

/// Records about audiences for the golden files: those of owners, and those of partitions with members.
enum GoldenCrowds {
    typealias Case = (name: String, bytes: [UInt8])

    static let cases: [Case] = [
        Self.books, Self.flaggedVersions, Self.versions, Self.progress, Self.members, Self.starts,
    ].flatMap { $0 }

    // MARK: The owner

    private static func book(_ owner: AudienceOwner = AudienceOwner()) -> [UInt8] {
        GoldenReading.slot(
            GoldenState.slot {
                $0.slot.kind = .audience; $0.token = []
            }, book: owner)
    }
    private static func book(_ channels: AudienceChannels) -> [UInt8] { Self.book(AudienceOwner(channels: channels)) }
    private static func publication(
        _ version: Version, isOpen: Bool = false, fallbacks: [Version] = []
    ) -> AudienceOwner.Publication {
        AudienceOwner.Publication(
            version: version, fallbacks: fallbacks, status: isOpen ? .sent : .done, mergedCount: isOpen ? 3 : 1)
    }
    private static func ledger(open: [Int64], ages: [Int64]) -> VersionLedger {
        var ledger = VersionLedger()
        ledger.restore(open: open, ages: ages, nowMillis: GoldenReading.now.steadyMillis)
        return ledger
    }
    private static let books: [Case] = [
        ("audience.empty", Self.book()), ("audience.life", Self.book(AudienceOwner(life: 1_699_990_000))),
        ("audience.starts-until", Self.book(AudienceOwner(startsUntilSeconds: 1_700_600_000))),
        ("audience.waiting-start", Self.book(AudienceOwner(waitingStart: GoldenParts.order()))),
        ("audience.asked", Self.book(AudienceOwner(asked: [(0, 0), (6, 1_699_999_715), (11, 0)]))),
        (
            "audience.ledgers",
            Self.book(
                AudienceOwner(
                    budget: AudienceBudget(
                        ledger: Self.ledger(open: [1_699_999_711, 1_699_999_712], ages: [5_000]),
                        frequentLedger: Self.ledger(open: [1_699_999_713], ages: [7_000, 6_000]))))
        ),
        ("audience.version", Self.book(AudienceOwner(publications: [Self.publication(GoldenParts.version())]))),
        (
            "audience.version-open",
            Self.book(AudienceOwner(publications: [Self.publication(GoldenParts.version(), isOpen: true)]))
        ),
        (
            "audience.version-with-fallback",
            Self.book(
                AudienceOwner(publications: [
                    Self.publication(GoldenParts.version(1)),
                    Self.publication(GoldenParts.version(3), isOpen: true, fallbacks: [GoldenParts.version(2)]),
                ]))
        ),
        ("audience.channels-none-yet", Self.book(AudienceChannels(environments: 2))),
        (
            "audience.channel-wanted",
            Self.book(
                AudienceChannels(
                    life: 1_699_990_000, environments: 1,
                    all: [AudienceChannels.Channel(environment: .production)]))
        ),
        (
            "audience.channel-serves",
            Self.book(
                AudienceChannels(
                    life: 1_699_990_000, revision: 5, environments: 1,
                    all: [
                        AudienceChannels.Channel(
                            environment: .production, standing: .open, id: Array("cHJvZA==".utf8), serves: true,
                            takenStampSeconds: 1_699_999_710, takenAlertStampSeconds: 1_699_999_700)
                    ]))
        ),
        (
            "audience.channels",
            Self.book(
                AudienceChannels(
                    life: 1_699_990_000, revision: 300, environments: 3,
                    all: [
                        AudienceChannels.Channel(
                            environment: .production, standing: .dead, id: Array("cHJvZA==".utf8), isEndReported: true),
                        AudienceChannels.Channel(
                            environment: .development, standing: .open, id: Array("ZGV2".utf8),
                            takenStampSeconds: 1_699_999_709, byTokenUntilMillis: 1_700_000_300_001),
                    ], alert: GoldenParts.version(9) { $0.layer = GoldenParts.layer(59, full: true) }))
        ),
    ]

    // MARK: Crowds

    private static func versionsRecord(_ change: (inout VersionsRecord) -> Void) -> [UInt8] {
        var record = VersionsRecord()
        record.epoch = 46
        record.life = 1_699_990_000
        record.stampSeconds = 1_699_999_720
        change(&record)
        let stated = record
        return GoldenReading.written {
            stated.write(topicHashes: GoldenReading.topicHashes, to: &$0)
        }
    }
    private static let flaggedVersions: [Case] = GoldenParts.versions.map { name, version -> Case in
        ("versions.\(name)", Self.versionsRecord { $0.versions = [version] })
    }
    private static let versions: [Case] = [
        ("versions.none", Self.versionsRecord { _ in }),
        ("versions.life-over", Self.versionsRecord { $0.isLifeOver = true }),
        ("versions.two", Self.versionsRecord { $0.versions = [GoldenParts.version(1), GoldenParts.version(2)] }),
        (
            "versions.alert-apart",
            Self.versionsRecord {
                $0.versions = [GoldenParts.version(2)]
                $0.alert = GoldenParts.version(1) { $0.layer = GoldenParts.layer(51, full: true) }
            }
        ),
        ("versions.start-apart", Self.versionsRecord { $0.orders = [GoldenParts.order(4)] }),
    ]

    private static func progressRecord(
        _ change: (inout PassesRecord) -> Void
    ) -> [UInt8] {
        var progress = PassesRecord()
        progress.epoch = 47
        progress.life = 1_699_990_000
        progress.stampSeconds = 1_699_999_720
        change(&progress)
        let stated = progress
        return GoldenReading.written { stated.write(to: &$0) }
    }
    private static func pass(_ change: (inout PassesRecord.PassPart) -> Void = { _ in }) -> PassesRecord.PassPart {
        var pass = PassesRecord.PassPart()
        pass.position = 1_000_001
        pass.alertUntil = 1_000_002
        pass.highUntil = 1_000_003
        pass.frequentHighUntil = 1_000_004
        pass.horizon = 1_000_005
        change(&pass)
        return pass
    }
    private static let progress: [Case] = [
        ("progress.no-pass", Self.progressRecord { _ in }),
        (
            "progress.facts",
            Self.progressRecord {
                $0.alertStampSeconds = 1_699_999_719
                $0.servedJoins = 801
                $0.lastJoinSeconds = 1_699_999_650
                $0.delayedMovesUntilSeconds = 1_700_003_600
            }
        ),
        ("progress.pass", Self.progressRecord { $0.passes = [Self.pass()] }),
        ("progress.development", Self.progressRecord { $0.passes = [Self.pass { $0.environment = .development }] }),
        (
            "progress.listening",
            Self.progressRecord {
                $0.passes = [
                    Self.pass {
                        $0.listening = PassesRecord.Listening(number: 5, id: Array("cHJvZA==".utf8), isServed: false)
                    }
                ]
            }
        ),
        (
            "progress.served-by-channel",
            Self.progressRecord {
                $0.passes = [
                    Self.pass {
                        $0.environment = .development
                        $0.listening = PassesRecord.Listening(number: 2, id: Array("ZGV2".utf8), isServed: true)
                    }
                ]
            }
        ),
        (
            "progress.targets",
            Self.progressRecord {
                $0.passes = [Self.pass { $0.untils = [(1_699_999_719, 1_000_011), (1_699_999_720, 1_000_012)] }]
            }
        ),
        ("progress.alone", Self.progressRecord { $0.passes = [Self.pass { $0.aloneUntil = 1_000_013 }] }),
        (
            "progress.waiting",
            Self.progressRecord { $0.passes = [Self.pass { $0.waiting = [(1_000_021, false), (1_000_022, true)] }] }
        ),
        ("progress.skipped", Self.progressRecord { $0.passes = [Self.pass { $0.skipped = [1_000_031, 1_000_032] }] }),
        ("progress.quiet", Self.progressRecord { $0.passes = [Self.pass { $0.quiet = [1_000_041] }] }),
        ("progress.report", Self.progressRecord { $0.report = GoldenParts.report() }),
        (
            "progress.all",
            Self.progressRecord {
                $0.passes = [
                    Self.pass {
                        $0.untils = [(1_699_999_720, 1_000_012)]
                        $0.waiting = [(1_000_021, true)]
                        $0.skipped = [1_000_031]
                        $0.quiet = [1_000_041]
                    }, Self.pass { $0.environment = .development },
                ]
                $0.report = GoldenParts.report()
                $0.alertReport = GoldenParts.report(7)
            }
        ),
    ]

    // MARK: Members

    private static func member(_ change: (inout MemberRecord) -> Void = { _ in }) -> [UInt8] {
        var member = MemberRecord()
        member.epoch = 48
        member.joinedSeconds = 1_699_999_600
        member.reference = 0x0102_0304_0506_0708
        change(&member)
        let stated = member
        return GoldenReading.written { stated.write(to: &$0) }
    }
    private static let origin = MemberRecord.Origin(
        topicHash: GoldenReading.topicHashes[0], partition: 9, offset: 1_234)
    private static let members: [Case] = [
        ("member.plain", Self.member()), ("member.development", Self.member { $0.environment = .development }),
        ("member.frequent", Self.member { $0.isFrequent = true }), ("member.moved", Self.member { $0.isMoved = true }),
        ("member.known", Self.member { $0.isKnown = true }), ("member.channel-0", Self.member { $0.channelNumber = 0 }),
        ("member.channel-7", Self.member { $0.channelNumber = 7 }),
        ("member.forwarded", Self.member { $0.origin = Self.origin }),
        (
            "member.forwarded-from-two",
            Self.member {
                $0.origin = Self.origin
                $0.formerOrigin = MemberRecord.Origin(
                    topicHash: GoldenReading.topicHashes[0], partition: 10, offset: 77)
            }
        ),
        ("member.left", Self.member { $0.hasLeft = true }),
        (
            "member.left-with-tens",
            Self.member {
                $0.hasLeft = true
                $0.hadTens = true
                $0.reference = 0
            }
        ),
        ("member.owed-alert", Self.member { $0.owedAlertStampSeconds = 1_699_999_590 }),
        (
            "member.all",
            Self.member {
                $0.environment = .development
                $0.isFrequent = true
                $0.isMoved = true
                $0.isKnown = true
                $0.channelNumber = 3
                $0.origin = Self.origin
                $0.hasLeft = true
                $0.hadTens = true
                $0.owedAlertStampSeconds = 1_699_999_590
            }
        ),
    ]

    private static func startMember(_ change: (inout StartMemberRecord) -> Void = { _ in }) -> [UInt8] {
        var member = StartMemberRecord()
        member.epoch = 49
        member.joinedSeconds = 1_699_999_601
        change(&member)
        let stated = member
        return GoldenReading.written { stated.write(to: &$0) }
    }
    private static func startProgress(
        _ change: (inout StartProgressRecord) -> Void
    ) -> [UInt8] {
        var progress = StartProgressRecord()
        progress.epoch = 50
        progress.start = GoldenParts.order().stamp
        progress.beganMillis = 1_699_999_822_000
        change(&progress)
        let stated = progress
        return GoldenReading.written { stated.write(to: &$0) }
    }
    private static let rounds = [
        StartProgressRecord.Round(
            environment: .production, horizon: 2_000_001, lateOffset: 901, unansweredCount: 3,
            named: [1_900_001, 1_900_002], unmet: 1_950_000, unanswered: [1_940_001, 1_940_002]),
        StartProgressRecord.Round(environment: .development, horizon: 2_000_002, lateOffset: 902),
    ]
    private static let starts: [Case] = [
        ("start-member.plain", Self.startMember()),
        ("start-member.development", Self.startMember { $0.environment = .development }),
        ("start-member.frequent", Self.startMember { $0.isFrequent = true }),
        ("start-member.channel-capable", Self.startMember { $0.isChannelCapable = true }),
        ("start-member.left", Self.startMember { $0.hasLeft = true }),
        (
            "start-member.waits",
            Self.startMember {
                $0.mark = .waits
                $0.start = GoldenParts.order().stamp
            }
        ),
        (
            "start-member.sent",
            Self.startMember {
                $0.mark = .sent
                $0.start = GoldenParts.order(1).stamp
                $0.isFrequent = true
            }
        ),
        ("start-progress.none", Self.startProgress { _ in }),
        ("start-progress.over", Self.startProgress { $0.isOver = true }),
        ("start-progress.rounds", Self.startProgress { $0.rounds = Self.rounds }),
        ("start-progress.report", Self.startProgress { $0.report = GoldenParts.startReport() }),
        (
            "start-progress.past",
            Self.startProgress {
                $0.past = [
                    CrowdStarts.Past(
                        start: GoldenParts.order(2).stamp, lastSentMillis: 9_000_001,
                        lastSentWallMillis: 1_699_999_000_007),
                    CrowdStarts.Past(
                        start: GoldenParts.order(3).stamp, lastSentMillis: 9_000_002,
                        lastSentWallMillis: 1_699_999_000_008),
                ]
            }
        ),
        (
            "start-progress.all",
            Self.startProgress {
                $0.rounds = Self.rounds
                $0.report = GoldenParts.startReport()
                $0.past = [
                    CrowdStarts.Past(
                        start: GoldenParts.order(2).stamp, lastSentMillis: 9_000_001,
                        lastSentWallMillis: 1_699_999_000_007)
                ]
            }
        ),
        // The former release did not write `unmet` and `unanswered` at the end of the record. For this round they
        // take 5 bytes.
        (
            "start-progress.of-release-before",
            Array(Self.startProgress { $0.rounds = [Self.rounds[1]] }.dropLast(5))
        ),
    ]
}
