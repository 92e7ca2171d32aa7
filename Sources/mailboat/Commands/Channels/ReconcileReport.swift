import ChannelKeeping
import CommandSupport
import Foundation
import PushModel
import PushTransport
import PushWorker

/// Where Apple's list and `state` disagree, for a person or a program. `ReconcilePlan` decides about our own channels.
struct ReconcileReport {
    /// What to do about one channel.
    enum Verdict: String, Encodable {
        /// Ours, in the list, and no longer wanted.
        case delete
        /// Ours, wanted, and missing from the list. Its keeper opens another one.
        case openAgain = "open-again"
        /// Ours, missing from the list, and no longer wanted. Its keeper forgets it.
        case forget
        /// Ours, missing from the list, and created a moment ago. The list may lag, so nothing is done.
        case tooYoung = "too-young"
        /// In the list, and perhaps made by a creation whose answer was lost.
        case possiblyOurs = "possibly-ours"
        /// In the list, and belongs to somebody else.
        case unknown
    }

    /// One channel.
    struct Finding: Equatable {
        var verdict: Verdict
        var id: String
        /// Number of the channel's record in `state`; `nil`: it has none.
        var number: Int64?
        var channel: KeptChannel?
        /// Whether the channel may be given to an audience at any moment. If so, its record is read again before it is
        /// deleted.
        var isWarm: Bool { self.channel?.isWarm ?? false }
    }

    let home: ChannelHome
    let listedCount: Int
    let recordCount: Int
    /// Findings about our channels, in the order of their numbers, then those about other channels.
    let findings: [Finding]

    /// Compares Apple's list with `state`.
    /// - Parameters:
    ///   - listed: Apple's list, fetched before `state` was read. A channel created in between counts as too young.
    ///     For a channel given to an audience in between, `state` already names the audience.
    ///   - settings: settings of the app's keeper.
    init(
        home: ChannelHome, kept: [Int64: KeptChannel], listed: [String], settings: KeeperSettings, wallMillis: Int64
    ) {
        self.home = home
        self.listedCount = listed.count
        self.recordCount = kept.count
        let records = kept.sorted { $0.key < $1.key }
        let warm = Set(
            records.filter { $0.value.isWarm && $0.value.policy == settings.poolPolicy }.map(\.key).prefix(
                settings.poolSize))
        let plan = ReconcilePlan(
            kept: records.map {
                .init(
                    number: $0.key, channel: $0.value, hasOwner: $0.value.owner != nil || warm.contains($0.key))
            },
            listed: listed.map { Array($0.utf8) }, wallMillis: wallMillis, settleMillis: settings.settleMillis)
        var findings = plan.steps.map { step in
            switch step {
            case .delete(let number, let id): Self.finding(.delete, id, number, kept)
            case .openAgain(let number, let id): Self.finding(.openAgain, id, number, kept)
            case .forget(let number, let id): Self.finding(.forget, id, number, kept)
            }
        }
        findings += plan.tooYoung.map { Self.finding(.tooYoung, $0.id, $0.number, kept) }
        findings += Self.begunDeletions(
            records, listed: Set(listed), wallMillis: wallMillis, settleMillis: settings.settleMillis)
        findings.sort { ($0.number ?? .max) < ($1.number ?? .max) }
        findings += plan.possiblyOurs.map { id in
            let record = records.first { $0.value.id == id }
            return Finding(
                verdict: .possiblyOurs, id: String(decoding: id, as: UTF8.self), number: record?.key,
                channel: record?.value)
        }
        // `state` has at most one intent to create a channel. A channel that the list had before the intent was not
        // created by the intent.
        let intent = records.first { $0.value.phase == .asked }?.value
        findings += plan.unknown.map { id in
            let isNew = intent.map { !$0.strangers.contains(KeptChannel.hash(ofID: id)) } ?? false
            return Finding(
                verdict: isNew ? .possiblyOurs : .unknown, id: String(decoding: id, as: UTF8.self), number: nil,
                channel: nil)
        }
        self.findings = findings
    }

    private static func finding(
        _ verdict: Verdict, _ id: [UInt8], _ number: Int64, _ kept: [Int64: KeptChannel]
    ) -> Finding {
        Finding(verdict: verdict, id: String(decoding: id, as: UTF8.self), number: number, channel: kept[number])
    }

    /// Recorded deletions of channels that are still in the list. The worker that began a deletion may be gone.
    private static func begunDeletions(
        _ records: [(key: Int64, value: KeptChannel)], listed: Set<String>, wallMillis: Int64, settleMillis: Int64
    ) -> [Finding] {
        records.compactMap { number, channel in
            let id = String(decoding: channel.id, as: UTF8.self)
            guard listed.contains(id) else { return nil }
            switch channel.phase {
            case .deleting: break
            case .deleted where wallMillis - channel.sinceMillis >= settleMillis: break
            case .wanted, .asked, .open, .ended, .deleted, .possiblyOurs: return nil
            }
            return Finding(verdict: .delete, id: id, number: number, channel: channel)
        }
    }

    func count(_ verdict: Verdict) -> Int { self.findings.count { $0.verdict == verdict } }

    /// Whether a record that was read again still says that its channel may be deleted.
    static func mayStillBeDeleted(_ finding: Finding, now: KeptChannel?) -> Bool {
        guard let now, String(decoding: now.id, as: UTF8.self) == finding.id else { return false }
        switch now.phase {
        case .open: return now.isWarm
        case .deleting, .deleted: return true
        case .wanted, .asked, .ended, .possiblyOurs: return false
        }
    }

    // MARK: Text for a person

    static func text(_ finding: Finding) -> String {
        let word =
            switch finding.verdict {
            case .delete: "delete       "
            case .openAgain: "open again   "
            case .forget: "forget       "
            case .tooYoung: "too young    "
            case .possiblyOurs: "possibly ours"
            case .unknown: "unknown      "
            }
        return "\(word)  \(finding.id)  \(Self.why(finding))"
    }

    /// The reason for the verdict.
    static func why(_ finding: Finding) -> String {
        let since = finding.channel.map { Self.time(millis: $0.sinceMillis) } ?? ""
        let owner = finding.channel?.owner.map {
            "\(TokenText.shortened(String(decoding: $0.audience, as: UTF8.self))), life \($0.life)"
        }
        switch finding.verdict {
        case .delete:
            return finding.channel?.phase == .open
                ? "ours, of no audience, open since \(since)" : "ours, its deletion was begun at \(since)"
        case .openAgain: return "of \(owner ?? "nobody"): missing from APNs' list"
        case .forget: return "ours, no longer needed, and missing from APNs' list"
        case .tooYoung:
            let opened = finding.channel.map { Self.time(millis: $0.openedMillis) } ?? ""
            return "ours, made at \(opened), and not in APNs' list yet, which may lag: ask again in a minute"
        case .possiblyOurs:
            return finding.channel == nil
                ? "new in APNs' list since a creation was begun that has no answer yet"
                : "shown since \(since): an answer was lost, or a creation was carried out twice"
        case .unknown: return "in APNs' list, and not in state"
        }
    }

    private static func time(millis: Int64) -> String {
        Date(timeIntervalSince1970: Double(millis) / 1_000).ISO8601Format()
    }

    /// The report in one line.
    var summary: String {
        "\(self.home): \(NumberText.count(self.listedCount, "channel")) in APNs' list, \(NumberText.count(self.recordCount, "record")) in state;"
            + " \(self.count(.delete)) to delete, \(self.count(.openAgain)) to be opened again,"
            + " \(self.count(.forget)) to be forgotten, \(self.count(.possiblyOurs)) possibly ours,"
            + " \(self.count(.unknown)) unknown"
            + (self.count(.tooYoung) == 0
                ? "" : ", \(self.count(.tooYoung)) left out because the list may not show them yet")
    }

    // MARK: JSON for a program

    private struct Line: Encodable {
        var app: String
        var environment: String
        var channel: String
        var verdict: Verdict
        var phase: String?
        var sinceMillis: Int64?
        var audience: String?
        var audienceLife: Int64?
        var deleted: Bool?
        var error: ChannelRecord.Failure?
    }

    /// The finding as a JSON object.
    /// - Parameter deleted: whether the channel was deleted; `nil`: nobody has tried.
    func json(_ finding: Finding, deleted: Bool? = nil, failure: ChannelFailure? = nil) -> String {
        JSONLine.text(
            Line(
                app: self.home.bundleID, environment: self.home.environment.name, channel: finding.id,
                verdict: finding.verdict, phase: finding.channel.map { "\($0.phase)" },
                sinceMillis: finding.channel?.sinceMillis,
                audience: finding.channel?.owner.map { String(decoding: $0.audience, as: UTF8.self) },
                audienceLife: finding.channel?.owner?.life, deleted: deleted,
                error: failure.map(ChannelRecord.Failure.init)))
    }
}
