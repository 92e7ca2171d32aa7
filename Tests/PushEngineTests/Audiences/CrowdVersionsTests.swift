import PushModel
import Testing

@testable import PushEngine

/// Tests the versions of a crowd, without an engine around them.
@Suite struct CrowdVersionsTests {
    private static func version(
        life: Int64 = 1, _ stampSeconds: Int64, expires: Int64 = .max, alert: Bool = false, withdraws: Bool = false
    ) -> Version {
        var version = Version()
        version.life = life
        version.stampSeconds = stampSeconds
        version.withdrawsAlert = withdraws
        version.layer.expiresSeconds = expires
        version.layer.content.contentState = version.layer.append(Array(#"{"n":\#(stampSeconds)}"#.utf8).span)
        if alert {
            version.layer.alertSeconds = stampSeconds
            version.layer.alert = version.layer.append(Array(#"{"title":"Goal \#(stampSeconds)"}"#.utf8).span)
        }
        return version
    }
    private static func channel(_ id: String, isOpen: Bool = true) -> VersionChannel {
        VersionChannel(
            environment: .production, id: Array(id.utf8), serves: true, isOpen: isOpen, takenStampSeconds: 0,
            takenAlertStampSeconds: 0)
    }
    private static func void(isEnded: Bool) -> BusRecord.Void { BusRecord.Void(life: 1, isEnded: isEnded) }

    // MARK: Which versions stay

    private struct Survival: CustomTestStringConvertible {
        /// Expiry times of the kept versions before the new version arrives, the oldest version first.
        var there: [Int64]
        /// Expiry time of the new version.
        var new: Int64
        /// Expiry times of the versions that are kept afterwards.
        var stays: [Int64]
        var testDescription: String { "\(there) and \(new)" }
    }
    @Test(arguments: [
        Survival(there: [], new: 50, stays: [50]),
        Survival(there: [60], new: 50, stays: [60, 50]),
        Survival(there: [50], new: 50, stays: [50]),
        Survival(there: [.max], new: .max, stays: [.max]),
        Survival(there: [.max, 60], new: 70, stays: [.max, 70]),
        Survival(there: [90, 80, 70], new: 75, stays: [90, 80, 75]),
        // The oldest version expires last and stays. Of the others the oldest is dropped.
        Survival(there: [90, 80, 70], new: 60, stays: [90, 70, 60]),
        Survival(there: [90, 80, 70], new: 95, stays: [95]),
    ])
    private func anOlderOneOutlivesThoseBehindIt(_ survival: Survival) {
        var versions = CrowdVersions()
        for (index, expires) in survival.there.enumerated() {
            _ = versions.take(Self.version(Int64(index + 1), expires: expires))
        }
        let before = versions.kept.map(\.stampSeconds)
        let dropped = versions.take(Self.version(10, expires: survival.new))
        #expect(versions.kept.map(\.layer.expiresSeconds) == survival.stays)
        let left = zip(before, dropped).filter { !$0.1 }.map(\.0)
        #expect(versions.kept.map(\.stampSeconds) == left + [10], "it says which of them it drops")
    }

    // MARK: Lives

    private enum Event {
        case version(life: Int64, stamp: Int64)
        case forgotten(Int64)
        case ended(Int64)
        case settled

        func happens(to versions: inout CrowdVersions) {
            switch self {
            case .version(let life, let stamp):
                let version = CrowdVersionsTests.version(life: life, stamp)
                if versions.takes(version) { _ = versions.take(version) }
            case .forgotten(let life): versions.endLife(life, isEnded: false)
            case .ended(let life): versions.endLife(life, isEnded: true)
            case .settled: versions.endLife()
            }
        }
    }
    private struct Life: CustomTestStringConvertible {
        var events: [Event]
        var stage: CrowdVersions.Stage
        var life: Int64
        /// Stamp of the newest version afterwards; 0 if there is none.
        var shows: Int64
        var testDescription: String { "\(events)" }
    }
    @Test(arguments: [
        Life(events: [], stage: .awaited, life: 0, shows: 0),
        Life(events: [.version(life: 1, stamp: 5)], stage: .going, life: 1, shows: 5),
        Life(events: [.version(life: 1, stamp: 5), .version(life: 1, stamp: 5)], stage: .going, life: 1, shows: 5),
        Life(events: [.version(life: 1, stamp: 5), .version(life: 1, stamp: 4)], stage: .going, life: 1, shows: 5),
        Life(events: [.version(life: 2, stamp: 5), .version(life: 1, stamp: 9)], stage: .going, life: 2, shows: 5),
        Life(events: [.version(life: 1, stamp: 5), .version(life: 2, stamp: 1)], stage: .going, life: 2, shows: 1),
        Life(events: [.version(life: 1, stamp: 5), .settled], stage: .awaited, life: 1, shows: 0),
        Life(events: [.version(life: 1, stamp: 5), .forgotten(1)], stage: .awaited, life: 1, shows: 0),
        // The next owner's clock may be behind, so it may use the same life again.
        Life(events: [.forgotten(3), .version(life: 3, stamp: 1)], stage: .going, life: 3, shows: 1),
        Life(events: [.version(life: 1, stamp: 5), .ended(1)], stage: .over, life: 1, shows: 0),
        Life(events: [.ended(3), .version(life: 3, stamp: 9)], stage: .over, life: 3, shows: 0),
        Life(events: [.ended(3), .settled], stage: .over, life: 3, shows: 0),
        Life(events: [.ended(3), .version(life: 4, stamp: 1)], stage: .going, life: 4, shows: 1),
        Life(events: [.ended(3), .forgotten(4)], stage: .awaited, life: 4, shows: 0),
        Life(events: [.forgotten(3), .ended(4)], stage: .over, life: 4, shows: 0),
    ])
    private func aLifeStandsWhereEventsLeaveIt(_ play: Life) {
        var versions = CrowdVersions()
        for event in play.events { event.happens(to: &versions) }
        #expect(versions.stage == play.stage && versions.life == play.life)
        #expect(versions.newest?.stampSeconds ?? 0 == play.shows && versions.stampSeconds == play.shows)
    }
    /// A void ends a crowd's life if the void says that the life has ended, or if the newest version is an end. It
    /// changes nothing for a crowd without a version, because that crowd's members joined after the life that has
    /// ended.
    @Test func aVoidEndsWhatItIsAbout() {
        var versions = CrowdVersions()
        #expect(!versions.hasEnded(by: Self.void(isEnded: true)))
        _ = versions.take(Self.version(5, expires: 60))
        #expect(versions.hasEnded(by: Self.void(isEnded: true)) && !versions.hasEnded(by: Self.void(isEnded: false)))
        versions.expireNewest()
        #expect(versions.hasEnded(by: Self.void(isEnded: true)), "the end itself may have expired")
        versions.endLife(1, isEnded: true)
        #expect(!versions.hasEnded(by: Self.void(isEnded: true)), "it was told twice")
        var end = Self.version(life: 2, 6)
        end.layer.isEnd = true
        _ = versions.take(end)
        #expect(versions.hasEnded(by: Self.void(isEnded: false)), "its end has come")
    }

    // MARK: Alerts

    @Test func anAlertIsOwedUntilOneIsNewerOrWithdrawsIt() {
        var versions = CrowdVersions()
        _ = versions.take(Self.version(1, alert: true))
        _ = versions.take(Self.version(2))
        #expect(versions.alert?.stampSeconds == 1, "a version without one leaves it owed")
        _ = versions.take(Self.version(3, alert: true))
        #expect(versions.alert?.stampSeconds == 3)
        _ = versions.take(Self.version(4, withdraws: true))
        #expect(versions.alert == nil)
    }
    @Test func aWithdrawnAlertDoesNotComeBackWithAnOlderVersion() {
        var versions = CrowdVersions()
        _ = versions.take(Self.version(1, expires: 90, alert: true))
        _ = versions.take(Self.version(2, expires: 80, alert: true))
        _ = versions.take(Self.version(3, expires: 70, withdraws: true))
        #expect(versions.kept.map(\.hasAlert) == [false, false, false])
        #expect(versions.expireAlert(mayReturn: true, nowSeconds: 75) == nil)
    }
    /// A newer alert expires with its version. The older alert then counts again, if it may return.
    @Test(arguments: [true, false]) func anAlertReturnsToAnOlderVersion(mayReturn: Bool) {
        var versions = CrowdVersions()
        _ = versions.take(Self.version(1, expires: 90, alert: true))
        _ = versions.take(Self.version(2, expires: 70, alert: true))
        #expect(!versions.isAlertExpired(nowSeconds: 69) && versions.isAlertExpired(nowSeconds: 70))
        let former = versions.expireAlert(mayReturn: mayReturn, nowSeconds: 70)
        #expect(former == (mayReturn ? 0 : nil) && versions.alert?.stampSeconds == (mayReturn ? 1 : nil))
    }

    // MARK: Channels and bodies

    @Test func aTurnChangesTheChannelsOfTheNewestAlone() {
        var versions = CrowdVersions()
        _ = versions.take(Self.version(1, expires: 90))
        var newest = Self.version(2, expires: 80)
        newest.channels = [Self.channel("a", isOpen: false)]
        newest.channelRevision = 1
        _ = versions.take(newest)
        #expect(versions.openChannel(.production).isEmpty)
        newest.channels = [Self.channel("b")]
        let isSame = versions.takeChannels(of: newest)
        #expect(!isSame, "the revision is the same")
        newest.channelRevision = 2
        let isNew = versions.takeChannels(of: newest)
        #expect(isNew && versions.channelRevision == 2 && versions.openChannel(.production) == Array("b".utf8))
        #expect(versions.kept.map(\.channelRevision) == [0, 2] && versions.kept[1].channels == newest.channels)
    }
    /// The body of a push has the content of the newest version, and an alert only on request. It changes when a
    /// version comes or expires.
    @Test func bodiesSayWhatIsThere() {
        var versions = CrowdVersions()
        func body(hasAlert: Bool = false, isAlone: Bool = false) -> String {
            var bytes: [UInt8] = []
            versions.appendBody(hasAlert: hasAlert, isAlone: isAlone, to: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        }
        _ = versions.take(Self.version(1, expires: 90, alert: true))
        #expect(body().contains(#"{"n":1}"#) && !body().contains("Goal") && body(hasAlert: true).contains("Goal 1"))
        _ = versions.take(Self.version(2, expires: 80))
        #expect(body().contains(#"{"n":2}"#) && body(hasAlert: true).contains("Goal 1"))
        #expect(body(hasAlert: true, isAlone: true).contains(#"{"n":1}"#), "the alert's own version")
        #expect(versions.facts(isAlone: true).stampSeconds == 1 && versions.facts(isAlone: false).stampSeconds == 2)
        versions.expireNewest()
        #expect(body().contains(#"{"n":1}"#))
    }

    // MARK: What `state` says

    private struct Restore: CustomTestStringConvertible {
        /// Life of the newest version that the progress knows.
        var life: Int64
        /// Stamp of the newest version that the progress knows.
        var stamp: Int64
        /// Stamp of the alert that the progress knows; 0 if there is none.
        var alert: Int64
        var stays: [Int64]
        var comes: [Int64]
        var owes: Int64?
        var testDescription: String { "progress of \(life), \(stamp)" }
    }
    /// A restore keeps the versions that the progress record knows, and the others count as newly arrived. The record
    /// of the versions has versions 2 and 3, and the alert of version 1, which is no longer kept.
    @Test(arguments: [
        Restore(life: 1, stamp: 3, alert: 1, stays: [2, 3], comes: [], owes: 1),
        Restore(life: 1, stamp: 2, alert: 1, stays: [2], comes: [3], owes: 1),
        Restore(life: 1, stamp: 2, alert: 0, stays: [2], comes: [3], owes: nil),
        Restore(life: 1, stamp: 0, alert: 0, stays: [], comes: [1, 2, 3], owes: nil),
        Restore(life: 0, stamp: 9, alert: 1, stays: [], comes: [1, 2, 3], owes: nil),
        Restore(life: 2, stamp: 9, alert: 1, stays: [], comes: [1, 2, 3], owes: nil),
    ])
    private func versionsThatProgressDoesNotKnowComeOnceMore(_ restore: Restore) {
        var record = VersionsRecord()
        (record.life, record.stampSeconds) = (1, 4)
        record.versions = [Self.version(2), Self.version(3)]
        record.alert = Self.version(1, alert: true)
        var versions = CrowdVersions(record)
        #expect(versions.stage == .going && versions.alertStamps == [1])
        var progress = PassesRecord()
        (progress.life, progress.stampSeconds, progress.alertStampSeconds) = (
            restore.life, restore.stamp, restore.alert
        )
        let newer = versions.resume(from: progress, hasRecord: true)
        #expect(versions.kept.map(\.stampSeconds) == restore.stays && newer.map(\.stampSeconds) == restore.comes)
        #expect(versions.alert?.stampSeconds == restore.owes && versions.life == 1)
        #expect(versions.stage == (restore.stays.isEmpty ? .awaited : .going))
        for version in newer where versions.takes(version) { _ = versions.take(version) }
        versions.hasMet(stampSeconds: 4)
        #expect(versions.stage == .going && versions.stampSeconds == 4, "the one of 4 has expired")
        #expect(versions.newest?.stampSeconds == 3)
    }
    /// Versions come, expire and end in random order. Every stage is reached, the kept versions are in order, and a
    /// record restores them.
    @Test func whatIsKeptOutlivesWhatComesAfterIt() {
        var reached: Set<CrowdVersions.Stage> = []
        var counts: Set<Int> = []
        for seed in UInt64(1)...60 {
            var random = SplitMix64(seed: seed)
            var versions = CrowdVersions()
            // All versions of this life that have come and have not expired.
            var alive: [Version] = []
            var (now, life, stamp) = (Int64(0), Int64(1), Int64(0))
            for _ in 0..<200 {
                switch Int.random(in: 0..<12, using: &random) {
                case 0..<6:
                    stamp += 1
                    let expires = now + Int64.random(in: 1...12, using: &random)
                    let version = Self.version(
                        life: life, stamp, expires: Bool.random(using: &random) ? expires : .max,
                        alert: Int.random(in: 0..<3, using: &random) == 0,
                        withdraws: Int.random(in: 0..<4, using: &random) == 0)
                    guard versions.takes(version) else {
                        #expect(versions.stage == .over)
                        break
                    }
                    if life != versions.life { alive = [] }
                    _ = versions.take(version)
                    alive.append(version)
                case 6..<10: now += Int64.random(in: 1...3, using: &random)
                case 10:
                    life += Int64.random(in: 0...1, using: &random)
                    versions.endLife(life, isEnded: Bool.random(using: &random))
                    alive = []
                default: life += 1
                }
                alive.removeAll { $0.isExpired(nowSeconds: now) }
                if versions.isAlertExpired(nowSeconds: now) {
                    let former = versions.expireAlert(mayReturn: true, nowSeconds: now)
                    #expect(versions.alert?.stampSeconds == former.map { versions.kept[$0].stampSeconds })
                }
                while versions.isNewestExpired(nowSeconds: now) { versions.expireNewest() }

                let expiries = versions.kept.map(\.layer.expiresSeconds)
                #expect(expiries == expiries.sorted(by: >) && Set(expiries).count == expiries.count)
                #expect(versions.kept.map(\.stampSeconds) == versions.kept.map(\.stampSeconds).sorted())
                #expect(versions.count <= CrowdVersions.countMax)
                // The newest of the versions that expire last is kept until it expires.
                let longest = alive.map(\.layer.expiresSeconds).max()
                #expect(versions.kept.first?.layer.expiresSeconds == longest)
                #expect(
                    versions.kept.first?.stampSeconds == alive.last { $0.layer.expiresSeconds == longest }?.stampSeconds
                )
                #expect(versions.nextExpirySeconds > now && !(versions.alert?.isExpired(nowSeconds: now) ?? false))
                #expect((versions.stage == .going) == (versions.stampSeconds > 0))
                let again = CrowdVersions(versions.record(epoch: 1))
                #expect(again.stage == versions.stage && again.life == versions.life)
                #expect(again.kept.map(\.stampSeconds) == versions.kept.map(\.stampSeconds))
                reached.insert(versions.stage)
                counts.insert(versions.count)
            }
        }
        #expect(reached == [.awaited, .going, .over] && counts == [0, 1, 2, 3])
    }
}
