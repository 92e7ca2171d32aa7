import APNSProtocol
import ChannelKeeping
import PushModel
import Testing

@testable import PushEngine

/// Tests the records that keepers get and send over the bus, and the optional last fields of other records.
@Suite struct ChannelBusRecordTests {
    private static let bundleID = Array("com.example.pizza".utf8)

    private static func bytes(_ write: (inout ByteCursor) -> Void) -> [UInt8] {
        var (bytes, scratch): ([UInt8], [UInt8]) = ([], [])
        bytes.append(using: &scratch) { write(&$0) }
        return bytes
    }
    private static let wishes: [BusRecord.ChannelWish] =
        ([.open(.none), .open(.mostRecent), .ended(content: []), .ended(content: [1, 2, 3]), .voided]
        as [BusRecord.ChannelWish.Demand]).map {
            .init(bundleID: Self.bundleID, environment: .development, life: 1_700_000_000, demand: $0)
        }
    private static let news: [BusRecord.ChannelNews] =
        ([
            .opened(id: [0x41]), .vanished(id: [0x42]), .closed(id: [0x43]),
            .refused(.quota(count: 9_500, quota: ChannelQuota(countMax: 10_000))),
            .refused(.byAPNs(status: 403, reason: "InvalidProviderToken")), .refused(.full(keptMax: 10_000)),
            .refused(.tooManyWaiting(waitingMax: 1_000)), .refused(.lifeIsOver),
        ] as [KeeperNews]).map { .init(bundleID: Self.bundleID, environment: .production, life: -1, news: $0) }

    private static let question = BusRecord.KeptQuestion(
        bundleID: Self.bundleID, environment: .development, partition: 63)
    private static let answers: [BusRecord.KeptAnswer] = [
        .init(bundleID: Self.bundleID, environment: .production),
        .init(bundleID: Self.bundleID, environment: .production, isKept: true),
        .init(
            bundleID: Self.bundleID, environment: .development, isKept: true,
            audience: Array(repeating: 0x61, count: 256)),
    ]

    static let samples: [(kind: RoutedKind, value: [UInt8])] =
        Self.wishes.map { wish in
            (.channelWish, Self.bytes { wish.write(to: &$0) })
        }
        + Self.news.map { news in
            (.channelNews, Self.bytes { news.write(to: &$0) })
        }
        + Self.answers.map { answer in
            (.keptAnswer, Self.bytes { answer.write(to: &$0) })
        }
        + [
            (
                .keptQuestion,
                Self.bytes { Self.question.write(to: &$0) }
            )
        ]

    @Test func whatIsWrittenIsRead() throws {
        let samples = Self.samples.map(\.value)
        for (wish, value) in zip(Self.wishes, samples) { #expect(try BusRecord.ChannelWish(value.span) == wish) }
        for (news, value) in zip(Self.news, samples.dropFirst(Self.wishes.count)) {
            #expect(try BusRecord.ChannelNews(value.span) == news)
        }
        let rest = Array(samples.dropFirst(Self.wishes.count + Self.news.count))
        for (answer, value) in zip(Self.answers, rest) {
            #expect(try BusRecord.KeptAnswer(value.span) == answer)
        }
        let question = rest[rest.count - 1]
        #expect(try BusRecord.KeptQuestion(question.span) == Self.question)
    }

    /// A reason that is too long for a record is cut. The record can still be read.
    @Test func aLongReasonIsCut() throws {
        let news = BusRecord.ChannelNews(
            bundleID: Self.bundleID, life: 1,
            news: .refused(.byAPNs(status: 400, reason: String(repeating: "x", count: 9_000))))
        let value = Self.bytes { news.write(to: &$0) }
        guard case .refused(.byAPNs(400, let reason)) = try BusRecord.ChannelNews(value.span).news else {
            Issue.record("not a refusal")
            return
        }
        #expect(reason.utf8.count == KeeperRefusal.reasonByteCountMax)
    }

    /// An engine whose app keeps no channels consumes these records and does nothing.
    @Test(arguments: Self.samples.indices)
    func itIsTakenAndDoesNothing(index: Int) {
        let h = AudienceTests.harness()
        let sample = Self.samples[index]
        let counters = h.counters
        h.consume(keyBytes: Array("match".utf8), valueBytes: sample.value, topic: 1, kind: sample.kind)
        #expect(h.stopReason == nil && h.isCommitted(topic: 1))
        #expect(h.counters.consumed == counters.consumed && h.counters.stateRecords == counters.stateRecords)
        h.register()
        h.advance(1_000)
        #expect(h.isCommitted())
    }

    /// A record stops the partition if it is cut short, has further bytes behind its end, or has an unknown version. A
    /// newer release may be able to read it.
    @Test(arguments: Self.samples.indices)
    func whatIsDamagedStopsThePartition(index: Int) {
        let sample = Self.samples[index]
        for value in [Array(sample.value.dropLast()), sample.value + [0], [2] + sample.value.dropFirst()] {
            let h = AudienceTests.harness()
            h.consume(keyBytes: Array("match".utf8), valueBytes: value, topic: 1, kind: sample.kind)
            #expect(h.stopReason != nil && !h.isCommitted(topic: 1))
        }
    }

    @Test func mutatedBytesNeverTrap() {
        var random = SplitMix64(seed: 11)
        for _ in 0..<20_000 {
            var value = Self.samples.randomElement(using: &random)!.value
            for _ in 0..<3 {
                value[Int.random(in: value.indices, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
            }
            _ = try? BusRecord.ChannelWish(value.span)
            _ = try? BusRecord.ChannelNews(value.span)
            _ = try? BusRecord.KeptQuestion(value.span)
            _ = try? BusRecord.KeptAnswer(value.span)
        }
    }

    // MARK: Optional ends of records

    @Test func aQuestionMayNameEnvironments() throws {
        let question = BusRecord.Question(bundleID: Self.bundleID, partition: 3, life: 5)
        let value = Self.bytes { question.write(to: &$0) }
        for environments in 0..<4 as Range<UInt8> {
            let bytes = value + [environments]
            var expected = question
            expected.environments = environments
            #expect(try BusRecord.Question(bytes.span) == expected)
        }
        for rest in [[4], [0, 0]] as [[UInt8]] {
            let bytes = value + rest
            #expect(throws: StateError.self) { try BusRecord.Question(bytes.span) }
        }
    }

    @Test func aBookKeepsItsChannels() throws {
        let now = EngineTime(steadyMillis: 0, wallMillis: 1_700_000_000_000)
        func read(_ value: [UInt8]) throws(StateError) -> AudienceOwner {
            var reader = StateReader(value.span)
            let book = try AudienceOwner(&reader, topicHashes: [1], now: now)
            guard reader.isAtEnd else { throw .malformed("bytes behind it") }
            return book
        }
        func write(_ book: AudienceOwner) -> [UInt8] {
            Self.bytes {
                book.write(topicHashes: [1], now: now, to: &$0)
            }
        }
        let plain = write(AudienceOwner(life: 1_700_000_000))
        #expect(try read(plain).channels.isBlank, "records without channels end before them")
        let all = PushEnvironment.allCases.map { environment in
            AudienceChannels.Channel(
                environment: environment, standing: environment == .production ? .open : .dead,
                id: Array("Y2hhbm5lbA==".utf8), serves: environment == .production, takenStampSeconds: 5,
                takenAlertStampSeconds: 4, byTokenUntilMillis: 1_700_000_000_123,
                isEndReported: environment == .development)
        }
        var alert = Version(life: 5, stampSeconds: 6, layer: Layer())
        alert.layer.source.topic = 0
        let book = AudienceOwner(
            life: 1_700_000_000,
            channels: AudienceChannels(life: 1_700_000_001, revision: 3, environments: 3, all: all, alert: alert)
        )
        let value = write(book)
        #expect(value.starts(with: plain))
        let again = try read(value).channels
        #expect(again.declared == book.channels.declared && again.revision == 3 && again.environments == 3)
        #expect(again.life == book.channels.life && again.alert?.stampSeconds == 6)
        #expect(again.all.map(\.standing) == [.open, .dead] && again.all.map(\.isEndReported) == [false, true])
        #expect(again.all.allSatisfy { $0.takenStampSeconds == 5 && $0.byTokenUntilMillis == 1_700_000_000_123 })
        for count in plain.count + 1..<value.count {
            let cut = Array(value.prefix(count))
            #expect(throws: StateError.self) { try read(cut) }
        }
    }

    @Test func aVersionTellsOfChannelsAndAMemberOfTheOneItListensOn() throws {
        let now = EngineTime(steadyMillis: 0, wallMillis: 1_700_000_000_000)
        var version = Version()
        (version.life, version.stampSeconds, version.isHigh) = (5, 6, true)
        version.layer.source.topic = 0
        version.channelRevision = 9
        version.channels = [
            VersionChannel(
                environment: .development, id: Array("Y2g=".utf8), serves: true, isOpen: true, takenStampSeconds: 7,
                takenAlertStampSeconds: 8)
        ]
        let value = Self.bytes {
            version.write(topicHashes: [1], to: &$0)
        }
        var reader = StateReader(value.span)
        let taken = try Version(&reader, topicHashes: [1], now: now)
        let (isAtEnd, channels, turn) = (reader.isAtEnd, taken.channels, taken.channelRevision)
        #expect(isAtEnd && channels == version.channels && turn == 9)

        func read(_ bytes: [UInt8]) throws(StateError) -> MemberRecord {
            var reader = StateReader(bytes.span)
            _ = try StateCodec.readKind(&reader)
            return try MemberRecord(&reader)
        }
        for number in [nil] + (0..<MemberRecord.channelNumbersMax).map({ Optional($0) }) {
            var member = MemberRecord(epoch: 1, isFrequent: true, joinedSeconds: 7, reference: 8)
            member.channelNumber = number
            member.origin = number.map { MemberRecord.Origin(topicHash: 9, partition: 4, offset: Int64($0) << 40) }
            if number ?? 0 > 2 { member.formerOrigin = MemberRecord.Origin(topicHash: 9, partition: 1, offset: 70) }
            (member.hasLeft, member.hadTens) = (number ?? 1 > 0, number == 2)
            member.owedAlertStampSeconds = number.map { Int64($0) * 1_000_000 } ?? 0
            let bytes = Self.bytes { member.write(to: &$0) }
            #expect(try read(bytes) == member)
        }
        let plain = MemberRecord(epoch: 1, joinedSeconds: 7, reference: 8)
        var bytes = Self.bytes { plain.write(to: &$0) }
        bytes[3] |= 32
        #expect(throws: StateError.self, "the number of no channel") { try read(bytes) }
    }
}
