import Testing

@testable import ShardLoop

/// Tests of the metadata that commits carry about their logs, and of what the next owner concludes from it.
@Suite struct CommitMetadataTests {
    private static func metadata(
        at sample: (Int64, Int64)? = nil, state: Int64? = nil, from: Int64? = nil, released: Int64? = nil,
        isOfNewLog: Bool = false
    ) -> CommitMetadata {
        var metadata = CommitMetadata()
        metadata.sample = sample.map { CommitMetadata.Sample(offset: $0.0, millis: $0.1) }
        metadata.stateEnd = state
        metadata.stateStart = from
        metadata.releasedWallMillis = released
        metadata.isOfNewLog = isOfNewLog
        return metadata
    }

    @Test(
        arguments: [
            Self.metadata(), Self.metadata(at: (20, 1_764_196_000_000)), Self.metadata(state: 57),
            Self.metadata(released: 1),
            Self.metadata(at: (0, 0), state: 2, from: 0, released: 1_764_196_001_234, isOfNewLog: true),
            Self.metadata(at: (.max, .max), state: .max, from: .max, released: .max, isOfNewLog: true),
        ])
    func whatIsWrittenIsRead(metadata: CommitMetadata) {
        #expect(CommitMetadata(metadata: metadata.text) == metadata)
        #expect(metadata.text.utf8.count < 200, "brokers take 4,096 bytes")
    }

    /// Cases: metadata of the previous release, of a future one and of other programs, and impossible values.
    @Test(
        arguments: [
            ("mailboat-released=1700000000123", Self.metadata(released: 1_700_000_000_123)),
            ("mailboat-released=-5", nil),
            ("mailboat-released=", nil), ("mailboat-released=99999999999999999999", nil), (nil, nil), ("", nil),
            ("somebody else's", nil), ("mailboatish at=1:2", nil), ("mailboat", Self.metadata()),
            ("mailboat later=7 at=3:4 word", Self.metadata(at: (3, 4))), ("mailboat at=3", Self.metadata()),
            ("mailboat at=3:-4", Self.metadata()),
            ("mailboat at=x:4 state=y released= ", Self.metadata()), ("mailboat =", Self.metadata()),
            ("mailboat of=events:1", Self.metadata()), ("mailboat of=:1:2 of=a:x:2", Self.metadata()),
        ] as [(String?, CommitMetadata?)])
    func whatIsReadIsWhatItMeans(text: String?, metadata: CommitMetadata?) {
        #expect(CommitMetadata(metadata: text) == metadata)
    }

    @Test(
        arguments: [
            (.record(millis: 5), false), (.record(millis: 6), true), (.record(millis: -1), true), (.nothing, false),
        ] as [(LogIdentity.Found, Bool)])
    func anotherRecordShowsAnotherLog(found: LogIdentity.Found, isOther: Bool) {
        #expect(LogIdentity.isOther(CommitMetadata.Sample(offset: 1, millis: 5), found) == isOther)
    }

    @Test(
        arguments: [
            (9, nil, nil, false), (9, 9, nil, false), (8, 9, nil, true), (0, 9, nil, true), (1, 9, 9, false),
            (1, 9, 8, true),
        ] as [(Int64, Int64?, Int64?, Bool)])
    func aStateThatEndsTooSoonIsCut(logEnd: Int64, stateEnd: Int64?, acceptedEnd: Int64?, isCut: Bool) {
        #expect(LogIdentity.isStateCut(logEnd: logEnd, stateEnd: stateEnd, acceptedEnd: acceptedEnd) == isCut)
    }

    /// `state` has lost its head if it begins later than recorded. It has lost nothing if no owner was at work, or if
    /// the beginning was never recorded.
    @Test(
        arguments: [
            (0, 0, 9, nil, false), (1, 0, 9, nil, true), (7, 7, 9, nil, false), (0, 7, 9, nil, false),
            (1, nil, 9, nil, false), (1, 0, nil, nil, false), (1, 0, 9, 9, false), (1, 0, 9, 8, true),
        ] as [(Int64, Int64?, Int64?, Int64?, Bool)])
    func aStateThatBeginsLaterHasLostItsHead(
        logStart: Int64, stateStart: Int64?, stateEnd: Int64?, acceptedEnd: Int64?, isCut: Bool
    ) {
        let isHeadCut = LogIdentity.isStateHeadCut(
            logStart: logStart, stateStart: stateStart, stateEnd: stateEnd, acceptedEnd: acceptedEnd)
        #expect(isHeadCut == isCut)
    }

    /// The metadata names as many of the other topics as fit.
    @Test func otherTopicsAreNamed() throws {
        var metadata = CommitMetadata()
        for number in 0..<40 {
            metadata.others[String(repeating: "t", count: 200) + "\(number)"] = CommitMetadata.Sample(
                offset: 7, millis: 70)
        }
        #expect(metadata.text.utf8.count <= 3_000)
        let read = try #require(CommitMetadata(metadata: metadata.text)).others
        #expect(read.count > 10 && read.values.allSatisfy { $0.offset == 7 && $0.millis == 70 })
    }

    @Test(
        arguments: [
            (.record(millis: 5), 9, false), (.record(millis: 6), 9, true), (.nothing, 9, false), (.nothing, 1, true),
        ] as [(LogIdentity.Found, Int64, Bool)])
    func aLogThatEndsTooSoonIsAnotherOne(found: LogIdentity.Found, logEnd: Int64, isOther: Bool) {
        let reason = LogIdentity.reasonIfOther(
            topic: "events", partition: 3, CommitMetadata.Sample(offset: 1, millis: 5), found, logEnd: logEnd)
        #expect((reason != nil) == isOther)
        #expect(reason.map { $0.contains("events") && $0.contains("offsets reset") } ?? true)
    }

    @Test func aCommitNamesTheNewestRecordBelowIt() {
        var samples = RecordSamples(CommitMetadata.Sample(offset: 4, millis: 40))
        #expect(samples.newest(below: 4) == nil, "a record at the offset itself is not read yet")
        for offset in [9, 7, 15, 15] as [Int64] {
            samples.add(CommitMetadata.Sample(offset: offset, millis: offset * 10))
        }
        samples.add(CommitMetadata.Sample(offset: 99, millis: -1))
        #expect(samples.newest(below: 5)?.offset == 4)
        #expect(samples.newest(below: 15)?.offset == 9)
        #expect(samples.newest(below: 5) == nil, "commits do not go back")
        #expect(samples.newest(below: 200) == CommitMetadata.Sample(offset: 15, millis: 150))
    }

    /// Only some samples of the records that were read are kept. A commit far behind the newest record still finds a
    /// sample below it.
    @Test func ofManyReadsSomeAreKept() throws {
        var samples = RecordSamples()
        for offset in 0..<Int64(10_000) { samples.add(CommitMetadata.Sample(offset: offset, millis: offset)) }
        #expect(samples.last?.offset == 9_999)
        let early = try #require(samples.newest(below: 5_000)?.offset)
        #expect(early < 5_000)
        #expect(samples.newest(below: 10_000)?.offset == 9_999)
    }
}
