import ArgumentParser
import CommandSupport
import KafkaLog
import PushEngine
import PushModel
import Testing

@testable import mailboat

/// Tests of `mailboat state dump --audience`, which lists an audience's records, from the owner's record to the
/// members'.
@Suite struct StateListingAudienceTests {
    private static let app = "com.example.pizza"
    private static let token = [UInt8](repeating: 0xab, count: 32)

    private static func listing(audience: String?, isJSON: Bool = false) -> StateListing {
        StateListing(
            reader: StateRecordReader(inputTopics: ["liveactivity.events"]), key: nil, audience: audience,
            showsAll: false, showsContent: false, isJSON: isJSON, nowMillis: 1_700_000_000_000)
    }
    private static func record(_ key: [UInt8], _ value: [UInt8], offset: Int64, partition: Int32 = 3) -> OwnedRecord {
        OwnedRecord(partition: partition, offset: offset, timestampMillis: 0, key: key, value: value, headers: [])
    }
    /// The record of a production member, in format version 1. The member joined at 60 s, and the record was written in
    /// epoch 5.
    /// - Parameter listens: whether the member listens on the partition's second channel.
    private static func member(of audience: String, listens: Bool = false) -> [UInt8] {
        let digits = StateRecordReader.audienceReference(app: Self.app, audience: audience)
        let reference = UInt64(digits, radix: 16) ?? 0
        return [1, 7, 10, listens ? 16 | 1 << 5 : 0, 60]
            + (0..<8).map { UInt8(truncatingIfNeeded: reference >> (8 * UInt64($0))) }
    }
    /// A record of format version 1 with the progress of a crowd, without a pass: epoch 5, life 7, version 9. The
    /// version was accepted for 11 of 12 members, and 1 member is gone.
    private static let progress: [UInt8] =
        [1, 6, 10, 14, 18, 0, 0, 0, 0] + [0] + [18, 12, 11, 0, 0, 1, 0, 0, 2, 0, 0, 0]
    /// A start member's key: a mark, the audience's reference, and the token.
    private static func startKey(of audience: String) -> [UInt8] {
        let reference = UInt64(StateRecordReader.audienceReference(app: Self.app, audience: audience), radix: 16) ?? 0
        return [UInt8(ascii: "s")] + (0..<8).map { UInt8(truncatingIfNeeded: reference >> (8 * UInt64($0))) }
            + Self.token
    }

    /// A gone member's line names the time of its removal. The record no longer has the time of its join.
    @Test func aMemberThatIsGoneHasNotJoinedThen() {
        var listing = Self.listing(audience: nil)
        // The record ends with a byte of marks. Here the mark says that the member is gone.
        listing.add(Self.record([UInt8(ascii: "t")] + Self.token, Self.member(of: "match") + [2], offset: 3))
        let line = listing.takeLines().first ?? ""
        #expect(line.contains(", gone since 1970-01-01T00:01:00Z (left, or its token died), epoch 5"), "\(line)")
        #expect(!line.contains("joined"))
    }

    private static func key(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test func anAudienceIsShownWithItsMembersAndNoOther() {
        var listing = Self.listing(audience: "match")
        listing.add(Self.record(Self.key("p/com.example.pizza/match"), Self.progress, offset: 1))
        listing.add(Self.record(Self.key("p/com.example.pizza/other"), Self.progress, offset: 2))
        listing.add(Self.record([UInt8(ascii: "t")] + Self.token, Self.member(of: "match"), offset: 3))
        listing.add(
            Self.record([UInt8(ascii: "t")] + Self.token.dropLast(), Self.member(of: "other"), offset: 4))
        listing.add(Self.record(Self.startKey(of: "match"), [1, 9, 10, 8, 60, 0], offset: 7))
        listing.add(Self.record(Self.startKey(of: "other"), [1, 9, 10, 0, 60, 0], offset: 8))
        listing.add(Self.record(Self.key("h/com.example.pizza/match"), [1, 12, 10, 0], offset: 5))
        listing.add(Self.record(Self.key("h/com.example.pizza/"), [1, 12, 10, 0], offset: 6))
        let lines = listing.takeLines()
        #expect(
            lines.filter { $0.hasPrefix("[") }.map { $0.prefix(6) } == [
                "[3]@1 ", "[3]@3 ", "[3]@5 ", "[3]@6 ", "[3]@7 ",
            ])
        #expect(lines.contains { $0.contains("members 12, accepted 11, superseded 0, expired 0, gone 1") })
        #expect(lines.contains { $0.contains("member abababab…(64 digits) #") && $0.contains("of audience match") })
        #expect(lines.contains { $0.contains("start member abababab…(64 digits) #") && $0.contains(", has left") })
        #expect(lines.contains { $0.contains("audience match, production, joined 1970-01-01T00:01:00Z, epoch 5") })
        #expect(lines.contains { $0.contains("match paused here since 1970-01-01T00:00:00Z") })
        #expect(lines.contains { $0.contains("all audiences of com.example.pizza paused here") })
        #expect(!lines.joined().contains(String(repeating: "ab", count: 9)), "no token is shown")
        #expect(listing.summary.contains("match: 2 members in 1 partition"))
        #expect(listing.summary.contains("12 members, 11 accepted"))
        #expect(listing.unreadableCount == 0)
    }

    /// The sums cover all partitions, which are read one after the other. A member's record is read with its own
    /// partition's list of channels.
    @Test func sumsGoOverPartitions() {
        var listing = Self.listing(audience: "match")
        for partition in Int32(0)..<4 {
            listing.add(
                Self.record(Self.key("p/com.example.pizza/match"), Self.progress, offset: 1, partition: partition))
            listing.add(
                Self.record(
                    [UInt8(ascii: "t")] + Self.token, Self.member(of: "match"), offset: 2, partition: partition))
            _ = listing.takeLines()
        }
        #expect(listing.summary.contains("match: 4 members in 4 partitions"))
        #expect(listing.summary.contains("48 members, 44 accepted"))
    }

    @Test func thoseThatListenAreCounted() {
        var listing = Self.listing(audience: "match")
        listing.add(Self.record(Self.key("p/com.example.pizza/match"), Self.progress, offset: 1))
        for number in UInt8(0)..<5 {
            listing.add(
                Self.record(
                    [UInt8(ascii: "t"), number] + Self.token, Self.member(of: "match", listens: number < 3),
                    offset: 2 + Int64(number)))
        }
        listing.add(
            Self.record([UInt8(ascii: "t")] + Self.token, Self.member(of: "other", listens: true), offset: 9))
        let lines = listing.takeLines()
        #expect(lines.count { $0.contains("production, listens on a channel, joined") } == 3)
        #expect(listing.summary.contains("0 audiences, 6 members, 4 of them listen on a channel"))
        #expect(listing.summary.contains("match: 5 members in 1 partition, 3 of them listen on a channel"))
    }

    @Test func jsonShowsNoTokenEither() {
        var listing = Self.listing(audience: nil, isJSON: true)
        listing.add(Self.record([UInt8(ascii: "t")] + Self.token, Self.member(of: "match"), offset: 3))
        let lines = listing.takeLines()
        #expect(lines.count == 1)
        #expect(
            lines.first?.contains(#""key":"t\/abababab…(64 digits)""#) == true
                || lines.first?.contains(#""key":"t/abababab…(64 digits)""#) == true)
        #expect(listing.summary.hasSuffix("; 0 audiences, 1 member"))
    }

    @Test func keyAndAudienceAreNotGivenTogether() {
        #expect(throws: (any Error).self) {
            _ = try StateCommand.Dump.parse(["--bootstrap", "localhost:1", "--key", "a", "--audience", "b"])
        }
    }
}
