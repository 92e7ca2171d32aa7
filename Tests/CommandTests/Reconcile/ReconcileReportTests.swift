import ChannelKeeping
import Foundation
import KafkaLog
import PushModel
import PushTransport
import Testing

@testable import mailboat

/// Tests of the report of channels on which `state` and APNs' list disagree.
struct ReconcileReportTests {
    private static let home = ChannelHome(bundleID: KeptRecordBytes.bundleID, environment: .production)
    private static let now: Int64 = 1_700_000_000_000

    private static func report(
        _ kept: [KeptChannel], listed: [String], poolSize: Int = 0
    ) -> ReconcileReport {
        var settings = KeeperSettings()
        settings.poolSize = poolSize
        return ReconcileReport(
            home: Self.home, kept: Dictionary(uniqueKeysWithValues: kept.enumerated().map { (Int64($0), $1) }),
            listed: listed, settings: settings, wallMillis: Self.now)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var kept: KeptChannel
        var isListed = true
        /// Verdict on the channel, or `nil` if the report leaves the channel out.
        var verdict: String?
        var testDescription: String { self.name }
    }

    private static let young = Self.now - 59_999
    private static let youngText = Date(timeIntervalSince1970: Double(Self.young) / 1_000).ISO8601Format()
    static let rows: [Row] = [
        Row(name: "open, listed", kept: KeptRecordBytes.channel(.open, id: "A", audience: "m")),
        Row(
            name: "open, missing", kept: KeptRecordBytes.channel(.open, id: "A", audience: "m"), isListed: false,
            verdict: "open-again"),
        Row(
            name: "open, missing as the list lags",
            kept: KeptRecordBytes.channel(.open, id: "A", audience: "m", sinceMillis: Self.young), isListed: false,
            verdict: "too-young"),
        Row(name: "warm, too many", kept: KeptRecordBytes.channel(.open, id: "A"), verdict: "delete"),
        Row(name: "warm, missing", kept: KeptRecordBytes.channel(.open, id: "A"), isListed: false, verdict: "forget"),
        Row(name: "lingers", kept: KeptRecordBytes.channel(.ended, id: "A", audience: "m")),
        Row(
            name: "lingers, missing", kept: KeptRecordBytes.channel(.ended, id: "A", audience: "m"), isListed: false,
            verdict: "forget"),
        Row(
            name: "deletion begun", kept: KeptRecordBytes.channel(.deleting, id: "A", audience: "m"), verdict: "delete"),
        Row(name: "deletion done", kept: KeptRecordBytes.channel(.deleting, id: "A"), isListed: false),
        Row(name: "deleted, and listed again", kept: KeptRecordBytes.channel(.deleted, id: "A"), verdict: "delete"),
        Row(
            name: "deleted, and the list lags",
            kept: KeptRecordBytes.channel(.deleted, id: "A", sinceMillis: Self.young)),
        Row(name: "shown", kept: KeptRecordBytes.channel(.possiblyOurs, id: "A"), verdict: "possibly-ours"),
        Row(name: "shown, and gone", kept: KeptRecordBytes.channel(.possiblyOurs, id: "A"), isListed: false),
        Row(name: "a wish", kept: KeptRecordBytes.channel(.wanted, audience: "m"), verdict: "unknown"),
    ]

    @Test(arguments: Self.rows) func eachChannelHasItsVerdict(_ row: Row) {
        let report = Self.report([row.kept], listed: row.isListed ? ["A"] : [])
        #expect(report.findings.map(\.verdict.rawValue) == (row.verdict.map { [$0] } ?? []))
    }

    /// The report leaves out as many warm channels as are wanted, and names only the others.
    @Test func thePoolIsLeftAlone() {
        let warm = ["A", "B", "C"].map { KeptRecordBytes.channel(.open, id: $0) }
        let report = Self.report(warm, listed: ["A", "B", "C"], poolSize: 2)
        #expect(report.findings.map(\.id) == ["C"])
    }

    /// After a creation without an answer, a channel that is new in APNs' list may be ours. A channel that was in the
    /// list before the creation is a stranger's.
    @Test func whatALostAnswerMayHaveMadeIsToldFromOthers() {
        var asked = KeptRecordBytes.channel(.asked, audience: "m")
        asked.strangers = [KeptChannel.hash(ofID: Array("theirs".utf8))]
        let report = Self.report([asked], listed: ["theirs", "new"])
        #expect(report.findings.map(\.id) == ["theirs", "new"])
        #expect(report.findings.map(\.verdict.rawValue) == ["unknown", "possibly-ours"])
    }

    @Test func oursComeFirstAndALineSaysWhy() {
        let report = Self.report(
            [
                KeptRecordBytes.channel(.open, id: "A", audience: "match-7"),
                KeptRecordBytes.channel(.deleting, id: "B"),
                KeptRecordBytes.channel(.open, id: "C"), KeptRecordBytes.channel(.possiblyOurs, id: "D"),
                KeptRecordBytes.channel(.open, id: "E"),
                KeptRecordBytes.channel(.open, id: "F", audience: "match-8", sinceMillis: Self.young),
            ], listed: ["Z", "D", "C", "B"])
        #expect(
            report.findings.map(ReconcileReport.text) == [
                "open again     A  of match-7, life 1: missing from APNs' list",
                "delete         B  ours, its deletion was begun at 1970-01-01T00:00:01Z",
                "delete         C  ours, of no audience, open since 1970-01-01T00:00:01Z",
                "forget         E  ours, no longer needed, and missing from APNs' list",
                "too young      F  ours, made at \(Self.youngText), and not in APNs' list yet, which may lag: ask again in a minute",
                "possibly ours  D  shown since 1970-01-01T00:00:01Z: an answer was lost, or a creation was carried out twice",
                "unknown        Z  in APNs' list, and not in state",
            ])
        #expect(
            report.summary == "com.example.pizza (production): 4 channels in APNs' list, 6 records in state;"
                + " 2 to delete, 1 to be opened again, 1 to be forgotten, 1 possibly ours, 1 unknown,"
                + " 1 left out because the list may not show them yet")
        #expect(
            report.json(report.findings[0])
                == #"{"app":"com.example.pizza","audience":"match-7","audienceLife":1,"channel":"A","#
                + #""environment":"production","phase":"open","sinceMillis":1000,"verdict":"open-again"}"#)
        #expect(report.json(report.findings[2], deleted: true).contains(#""deleted":true,"#))
    }

    /// The record may change between report and deletion. The channel is deleted only if its record still allows it.
    @Test func aRecordThatHasChangedIsLeftAlone() throws {
        let report = Self.report([KeptRecordBytes.channel(.open, id: "A")], listed: ["A"])
        let finding = try #require(report.findings.first)
        let mayBe: [(KeptChannel?, Bool)] = [
            (KeptRecordBytes.channel(.open, id: "A"), true), (KeptRecordBytes.channel(.deleting, id: "A"), true),
            (KeptRecordBytes.channel(.open, id: "A", audience: "m"), false),
            (KeptRecordBytes.channel(.open, id: "B"), false), (nil, false),
            (KeptRecordBytes.channel(.ended, id: "A", audience: "m"), false),
        ]
        for (now, isExpected) in mayBe {
            #expect(ReconcileReport.mayStillBeDeleted(finding, now: now) == isExpected, "\(String(describing: now))")
        }
    }

    // MARK: Records

    private static func record(_ key: [UInt8], _ value: [UInt8]?, offset: Int64) -> OwnedRecord {
        OwnedRecord(partition: 3, offset: offset, timestampMillis: 0, key: key, value: value, headers: [])
    }

    @Test func onlyTheNewestRecordsOfTheAppAndEnvironmentCount() {
        var records = KeptChannelRecords(of: Self.home)
        let (one, two) = (KeptRecordBytes.channel(.open, id: "A"), KeptRecordBytes.channel(.deleting, id: "A"))
        records.add(Self.record(KeptRecordBytes.key(0), KeptRecordBytes.value(one), offset: 1))
        records.add(Self.record(KeptRecordBytes.key(0), KeptRecordBytes.value(two), offset: 2))
        records.add(Self.record(KeptRecordBytes.key(1), KeptRecordBytes.value(one), offset: 3))
        records.add(Self.record(KeptRecordBytes.key(1), nil, offset: 4))
        for key in [
            KeptRecordBytes.key(2, .development), KeptRecordBytes.key(2, app: "com.example.tea"), Array("m".utf8),
        ] {
            records.add(Self.record(key, KeptRecordBytes.value(one), offset: 5))
        }
        #expect(records.channels == [0: two])
        #expect(records.unreadable.isEmpty)
    }

    @Test func whatCannotBeReadIsNamed() {
        var records = KeptChannelRecords(of: Self.home)
        let good = KeptRecordBytes.value(KeptRecordBytes.channel(.open, id: "A"))
        let rows: [([UInt8], String)] = [
            ([2] + good.dropFirst(), "version 2, which this release does not know"),
            ([1, 2] + good.dropFirst(2), "a record of kind 2 in place of a channel"),
            (Array(good.dropLast()), "it is cut short"),
        ]
        for (number, row) in rows.enumerated() {
            records.add(Self.record(KeptRecordBytes.key(Int64(number)), good, offset: 1))
            records.add(Self.record(KeptRecordBytes.key(Int64(number)), row.0, offset: 7))
        }
        #expect(records.channels.isEmpty)
        #expect(records.unreadable == rows.map { .init(partition: 3, offset: 7, reason: $0.1) })
        // A newer record of that key replaces the unreadable one.
        records.add(Self.record(KeptRecordBytes.key(0), good, offset: 8))
        #expect(records.unreadable.count == 2 && records.channels.count == 1)
    }
}
