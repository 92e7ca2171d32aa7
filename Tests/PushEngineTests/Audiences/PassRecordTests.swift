import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests outcomes about many members: what a partition reports of each version, and how the audience's owner sums it
/// up.
@Suite struct PassRecordTests {
    /// The newest `pass` or `audience` record for which `isMeant` is true.
    private static func last(_ name: String, _ h: EngineHarness, where isMeant: (OutcomeRecord) -> Bool = { _ in true })
        -> OutcomeRecord?
    {
        h.outcomes.last { $0.outcome == name && isMeant($0) }
    }
    /// Whether every member of a record is accounted for.
    static func isConserved(_ record: OutcomeRecord) -> Bool {
        let ends = ["accepted", "superseded", "expired", "gone", "failed", "left", "waiting"]
        return record.number("members") == ends.map { record.number($0) ?? -1_000 }.reduce(0, +)
    }

    @Test func aPassThatEndsIsTold() throws {
        let h = AudienceTests.harness()
        for member in 1...5 { h.join(member) }
        h.audienceUpdate(1, alert: "goal")
        h.deliverAll()
        h.advance(10)
        h.carryBus()
        let pass = try #require(Self.last("pass", h))
        #expect(pass.number("members") == 5 && pass.number("accepted") == 5 && pass.number("waiting") == 0)
        #expect(Self.isConserved(pass))
        #expect(pass.number("partition") == 0 && pass.fields["audience"] as? String == "match")
        #expect(try #require(pass.number("first-accepted")) <= h.now.wallMillis)
        #expect(pass.key.hasPrefix("pass/com.example.pizza/match/") && pass.key.hasSuffix("/0"))
        #expect(pass.fields["topic"] == nil, "it is of no source position")
    }

    @Test func theOwnerSumsWhatPartitionsTell() throws {
        let h = AudienceTests.harness()
        for member in 1...5 { h.join(member) }
        let event = h.audienceUpdate(1, alert: "goal")
        h.deliverAll()
        h.advance(10)
        h.carryBus()
        h.advance(10)
        let audience = try #require(Self.last("audience", h))
        #expect(audience.number("members") == 5 && audience.number("accepted") == 5)
        #expect(audience.number("partitions") == 1 && audience.number("finished") == 1)
        #expect(audience.fields["missing"] as? [Int] == [] && audience.fields["unfinished"] as? [Int] == [])
        let sources = try #require(audience.fields["sources"] as? [[String: Any]])
        #expect(sources.first?["offset"] as? Int64 == event && sources.count == 1)
        #expect(h.outcomes.count { $0.outcome == "audience" } == 1)
    }

    /// Members may still be joining, so a version without members is only summed after a minute. A later record
    /// corrects the sum within seconds.
    @Test func aVersionWithoutMembersIsSummedAfterAMinute() throws {
        let h = AudienceTests.harness()
        h.audienceUpdate(1)
        h.advance(59_000)
        #expect(Self.last("audience", h) == nil)
        h.advance(1_000)
        let audience = try #require(Self.last("audience", h))
        #expect(audience.number("members") == 0 && audience.number("partitions") == 0)
        for member in 1...5 { h.join(member) }
        h.deliverAll()
        h.advance(1_100)
        h.carryBus()
        h.advance(1_100)
        let corrected = try #require(Self.last("audience", h))
        #expect(corrected.number("accepted") == 5 && corrected.number("partitions") == 1)
        #expect(corrected.key == audience.key)
    }

    /// An event and joins are published together, so the version may be made before any partition has asked for it. The
    /// version's first record still counts the members that join.
    @Test func membersThatComeWithTheVersionAreInItsFirstRecord() throws {
        let h = AudienceTests.harness()
        h.audienceUpdate(1)
        for member in 1...5 { h.join(member) }
        h.deliverAll()
        h.advance(1_100)
        h.carryBus()
        h.advance(1_100)
        let records = h.outcomes.filter { $0.outcome == "audience" }
        #expect(records.count == 1)
        let first = try #require(records.first)
        #expect(first.number("members") == 5 && first.number("accepted") == 5 && first.number("finished") == 1)
    }

    /// The last answer is reported before the round has ended. The end of the round must be reported, too.
    @Test func thatAPassIsOverIsToldAfterItsLastAnswer() throws {
        let h = AudienceTests.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1)
        let pushes = (1...3).compactMap { _ in h.take() }
        for push in pushes { h.answer(push, .accepted) }
        h.advance(1_100)
        h.carryBus()
        #expect(h.take() == nil)
        h.advance(2_000)
        h.carryBus()
        h.advance(60_000)
        let audience = try #require(Self.last("audience", h))
        #expect(audience.number("accepted") == 3)
        #expect(audience.number("finished") == 1 && audience.fields["unfinished"] as? [Int] == [])
    }

    /// A partition that has only start members writes no `pass` record. Such a record could replace a `pass` record of
    /// another life or owner.
    @Test func aVersionThatIsDueToNobodyHasNoRecord() throws {
        let h = AudienceTests.harness()
        h.joinStart(1)
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(2_000)
        h.carryBus()
        h.advance(2_000)
        #expect(Self.last("pass", h) == nil)
        #expect(try #require(Self.last("audience", h)).number("finished") == 1)
    }

    /// A superseded pass is reported when the newer version takes over, and again when the last push of the older
    /// version is answered.
    @Test func aSupersededPassIsReplacedByALaterRecord() throws {
        let h = AudienceTests.harness()
        for member in 1...10 { h.join(member) }
        h.audienceUpdate(1)
        let flying = (1...3).compactMap { _ in h.take() }
        h.answer(flying[0], .accepted)
        h.advance(1_000)
        h.audienceUpdate(2)
        let first = try #require(Self.last("pass", h))
        #expect(first.number("accepted") == 1 && first.number("superseded") == 7 && first.number("waiting") == 2)
        #expect(Self.isConserved(first))
        for push in flying.dropFirst() { h.answer(push, .accepted) }
        let second = try #require(Self.last("pass", h))
        #expect(second.key == first.key)
        #expect(second.number("accepted") == 3 && second.number("waiting") == 0 && Self.isConserved(second))
        h.advance(1_000)
        h.deliverAll()
        h.advance(2_000)
        h.carryBus()
        let newest = try #require(Self.last("pass", h))
        #expect(newest.key != first.key && newest.number("members") == 10 && newest.number("accepted") == 10)
        let sums = h.outcomes.filter { $0.outcome == "audience" }
        #expect(Set(sums.map(\.key)).count == 2 && sums.allSatisfy { Self.isConserved($0) })
    }

    @Test func reasonsAreCountedAndALetterIsWrittenOnceForEach() throws {
        let h = AudienceTests.harness()
        for member in 1...6 { h.join(member) }
        h.audienceUpdate(1, more: #""id":"goal-1""#)
        for _ in 1...4 {
            h.answer(try #require(h.take()), .response(PushResponse(status: 413, reason: "PayloadTooLarge")))
        }
        h.answer(
            try #require(h.take()),
            .response(PushResponse(status: 410, reason: "Unregistered", timestampMillis: h.now.wallMillis)))
        h.deliverAll()
        h.advance(10)
        h.carryBus()
        h.advance(10)
        let pass = try #require(Self.last("pass", h))
        #expect(pass.fields["refused"] as? [String: Int] == ["PayloadTooLarge": 4, "Unregistered": 1])
        #expect(pass.number("failed") == 4 && pass.number("gone") == 1 && pass.number("accepted") == 1)
        #expect(h.outcomes.count { $0.fields["token-hash"] != nil && $0.status != nil } == 5)
        let letters = h.written.filter { $0.topic == .deadLetters }
        #expect(letters.count == 1)
        #expect(letters.first?.keyText == "match")
        #expect(letters.first?.valueText.contains(#""to":{"audience":"match"}"#) == true)
        #expect(letters.first?.headers[RecordHeader.reason.text]?.contains("413 PayloadTooLarge") == true)
    }

    @Test func whatExpiredIsCounted() throws {
        let h = AudienceTests.harness()
        for member in 1...4 { h.join(member) }
        h.audienceUpdate(1, more: #""expires":\#(h.wallSeconds + 30)"#)
        h.deliver()
        h.advance(31_000)
        h.carryBus()
        h.advance(2_000)
        h.carryBus()
        let pass = try #require(Self.last("pass", h))
        #expect(pass.number("accepted") == 1 && pass.number("expired") == 3 && Self.isConserved(pass))
    }

    /// A version expires, and members that have not got it are owed the version before. Members that already have the
    /// version before stay counted.
    @Test func aVersionThatReturnsGoesOnCounting() throws {
        let h = AudienceTests.harness()
        for member in 1...4 { h.join(member) }
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(2_000)
        h.carryBus()
        let first = try #require(Self.last("pass", h))
        #expect(first.number("accepted") == 4)
        h.audienceUpdate(2, more: #""expires":\#(h.wallSeconds + 30)"#)
        h.advance(31_000)
        h.carryBus()
        h.advance(2_000)
        h.deliverAll()
        h.advance(2_000)
        h.carryBus()
        let returned = try #require(Self.last("pass", h) { $0.key == first.key })
        #expect(Self.isConserved(returned) && returned.number("accepted")! >= 4)
        let sum = try #require(Self.last("audience", h) { $0.number("version") == first.number("version") })
        #expect(sum.number("accepted") == returned.number("accepted"))
    }

    /// An update is merged into a newer one, whose version expires before anybody gets it. All members then get the
    /// older update, which is summed like a version, although it was never published as one.
    @Test func whatOutlivesAVersionIsSummedToo() throws {
        let h = AudienceTests.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1)
        h.deliverAll()
        h.audienceUpdate(2)
        h.audienceUpdate(3, more: #""expires":\#(h.wallSeconds + 30)"#)
        h.advance(1_000)
        h.carryBus()
        h.advance(31_000)
        h.carryBus()
        h.deliverAll()
        h.advance(2_000)
        h.carryBus()
        h.advance(61_000)
        // The second event's content has a stamp one second below the third event's.
        let expiring = try #require(h.outcomes.last { $0.outcome == "fanned-out" }?.number("version"))
        let pass = try #require(
            Self.last("pass", h) { $0.number("accepted") == 3 && $0.number("version") == expiring - 1 })
        let sum = try #require(Self.last("audience", h) { $0.number("version") == expiring - 1 })
        #expect(sum.number("accepted") == 3 && sum.number("members") == pass.number("members"))
        #expect(sum.fields["missing"] as? [Int] == [] && sum.fields["unfinished"] as? [Int] == [])
    }

    /// A version expires after a takeover, and members are owed the version before. The new owner does not know how far
    /// the version before had come, so it must not replace that version's record.
    @Test func aVersionThatReturnsAfterATakeoverLeavesItsRecord() throws {
        let h = AudienceTests.harness()
        for member in 1...4 { h.join(member) }
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(2_000)
        h.carryBus()
        let first = try #require(Self.last("pass", h))
        h.audienceUpdate(2, more: #""expires":\#(h.wallSeconds + 60)"#)
        h.deliverAll()
        h.advance(2_000)
        h.carryBus()
        h.crash()
        h.advance(120_000)
        h.carryBus()
        h.advance(2_000)
        h.deliverAll()
        h.carryBus()
        let last = try #require(Self.last("pass", h) { $0.key == first.key })
        #expect(last.number("accepted") == 4)
    }

    /// An alert that does not fit beside newer content is sent with its own version, and is counted with that version.
    @Test func anAlertThatGoesAloneIsCountedWithItsVersion() throws {
        let h = AudienceTests.harness()
        for member in 1...3 { h.join(member) }
        h.pause("match")
        h.audienceUpdate(1, alert: String(repeating: "g", count: 2_000))
        h.advance(2_000)
        h.carryBus()
        h.audienceUpdate(2, padding: 3_000)
        h.advance(2_000)
        h.carryBus()
        h.audienceUpdate(3)
        h.pause("match", isPaused: false)
        h.advance(2_000)
        h.deliverAll()
        h.advance(2_000)
        h.carryBus()
        let records = h.outcomes.filter { $0.outcome == "pass" }
        #expect(Set(records.map(\.key)).count == 3)
        #expect(records.allSatisfy { Self.isConserved($0) })
    }

    /// Thousands of members may join during a match. The partition does not write a record for each.
    @Test func lateMembersDoNotMakeARecordEach() throws {
        let h = AudienceTests.harness()
        h.join(1)
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(1_000)
        for member in 2...60 {
            h.join(member)
            h.deliverAll()
            h.advance(1_000)
            h.carryBus()
        }
        let reports = h.written.count { $0.headers[RecordHeader.kind.text] == "report" }
        #expect(reports <= 62)
        #expect(h.outcomes.count { $0.outcome == "pass" } <= 3)
        #expect(h.outcomes.count { $0.outcome == "audience" } <= 3)
        h.advance(61_000)
        h.carryBus()
        h.advance(61_000)
        let pass = try #require(Self.last("pass", h))
        #expect(pass.number("members") == 60 && pass.number("accepted") == 60)
        #expect(try #require(Self.last("audience", h)).number("accepted") == 60)
    }

    @Test func aMinuteLaterTheMissingAreNamed() throws {
        let h = AudienceTests.harness { $0.partitionCount = 1 }
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1)
        h.deliver()
        h.advance(1_000)
        #expect(Self.last("audience", h) == nil)
        h.advance(60_000)
        let audience = try #require(Self.last("audience", h))
        #expect(audience.number("waiting") == 2 || audience.fields["missing"] as? [Int] == [0])
        h.deliverAll()
        h.advance(2_000)
        h.carryBus()
        h.advance(10)
        let later = try #require(Self.last("audience", h))
        #expect(later.key == audience.key && later.number("accepted") == 3)
        #expect(later.fields["unfinished"] as? [Int] == [])
    }

    // MARK: Takeover

    @Test(arguments: [0, 3, 9, 12])
    func aNewOwnerGoesOnCounting(served: Int) throws {
        let h = AudienceTests.harness()
        for member in 1...12 { h.join(member) }
        h.audienceUpdate(1)
        for _ in 0..<served { h.deliver() }
        h.advance(1_500)
        h.crash()
        h.carryBus()
        h.advance(3_000)
        h.deliverAll()
        h.advance(2_000)
        h.carryBus()
        h.advance(2_000)
        let pass = try #require(Self.last("pass", h))
        #expect(pass.number("members") == 12 && pass.number("accepted") == 12 && Self.isConserved(pass))
        let audience = try #require(Self.last("audience", h))
        #expect(audience.number("members") == 12 && audience.number("accepted") == 12)
        #expect(audience.number("finished") == 1)
    }

    @Test(arguments: [OutcomePublication.pushes, .failures])
    func theSettingSaysWhetherTheyAreWritten(publication: OutcomePublication) {
        let h = AudienceTests.harness { $0.settings.outcomePublication = publication }
        h.join(1)
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(10)
        h.carryBus()
        h.advance(10)
        let names = Set(h.outcomes.map(\.outcome)).intersection(["pass", "audience"])
        #expect(names == (publication == .failures ? [] : ["pass", "audience"]))
    }

    // MARK: On the bus

    /// A version takes two bus records for each partition: the version itself and the partition's report. Apps with
    /// very many small audiences depend on that.
    @Test func aVersionThatAllHaveIsNotToldOfAgain() {
        let h = AudienceTests.harness()
        for member in 1...5 { h.join(member) }
        for version in 1...4 {
            let before = h.written.count { $0.topic == .routed }
            let passes = h.outcomes.count { $0.outcome == "pass" }
            h.audienceUpdate(version)
            h.deliverAll()
            h.advance(10)
            h.carryBus()
            h.deliverAll()
            h.advance(5_000)
            h.carryBus()
            let records = h.written.count { $0.topic == .routed } - before
            #expect(records == 2, "version \(version)")
            #expect(h.outcomes.count { $0.outcome == "pass" } - passes == 1, "version \(version)")
        }
    }

    @Test func damagedReportsTrapNothing() {
        let h = AudienceTests.harness()
        h.join(1)
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(10)
        h.carryBus()
        let report = h.written.last { $0.headers[RecordHeader.kind.text] == "report" }
        var random = SplitMix64(seed: 5)
        for _ in 0..<2_000 {
            var bytes = report?.value ?? []
            guard !bytes.isEmpty else { break }
            let place = Int(random.next() % UInt64(bytes.count))
            bytes[place] = UInt8(truncatingIfNeeded: random.next())
            let other = AudienceTests.harness()
            other.consume(keyBytes: Array("match".utf8), valueBytes: bytes, topic: 1, kind: .report)
            #expect(other.counters.isConserved)
        }
        #expect(report != nil)
    }
}
