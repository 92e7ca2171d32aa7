import APNSProtocol
@testable import PushEngine
import PushModel
import Testing

/// A worker that died may have sent a start to some members. Its successor reports each of them (fan-out contract:
/// Starts of an audience).
@Suite struct StartsUnheardTests {
    /// What a worker does before it dies.
    struct Death: CustomTestStringConvertible {
        /// Number of pushes that leave.
        var sent: Int
        /// One push in this many gets no answer; 0: every push gets one.
        var unanswered: Int
        /// One push in this many is refused for a while; 0: no push is.
        var refused = 0
        /// Whether a record of the answers is written.
        var isWritten = false
        /// Whether the start is paused, so that no further member is announced.
        var isPaused = false
        var memberCount = 600

        var testDescription: String {
            "\(self.sent) sent, 1 of \(self.unanswered) open, 1 of \(self.refused) refused, written: \(self.isWritten), paused: \(self.isPaused)"
        }
    }
    private static let deaths = [
        Death(sent: 0, unanswered: 0), Death(sent: 1, unanswered: 1), Death(sent: 5, unanswered: 3),
        Death(sent: 100, unanswered: 7), Death(sent: 127, unanswered: 7), Death(sent: 128, unanswered: 7),
        Death(sent: 129, unanswered: 7), Death(sent: 256, unanswered: 3), Death(sent: 400, unanswered: 2),
        Death(sent: 600, unanswered: 5), Death(sent: 600, unanswered: 0),
        Death(sent: 100, unanswered: 7, isWritten: true), Death(sent: 300, unanswered: 0, isWritten: true),
        Death(sent: 600, unanswered: 4, isWritten: true), Death(sent: 600, unanswered: 0, isWritten: true),
        Death(sent: 60, unanswered: 7, refused: 5), Death(sent: 60, unanswered: 7, refused: 5, isWritten: true),
        Death(sent: 60, unanswered: 7, refused: 5, isWritten: true, isPaused: true),
        Death(sent: 60, unanswered: 0, isWritten: true, isPaused: true),
    ]

    private static func hash(_ member: Int) -> String {
        var digits: [UInt8] = []
        let token = Array(EngineHarness.memberToken(member).utf8)
        var raw: [UInt8] = []
        for index in stride(from: 0, to: token.count, by: 2) {
            raw.append(UInt8(String(decoding: token[index..<index + 2], as: UTF8.self), radix: 16) ?? 0)
        }
        Hex.append(PushComposer.hash(ofToken: raw.span), to: &digits)
        return String(decoding: digits, as: UTF8.self)
    }
    /// Tokens of the members that have an `unknown` outcome.
    private static func told(_ h: EngineHarness, among members: ClosedRange<Int>) -> [String] {
        let names = Dictionary(uniqueKeysWithValues: members.map { (Self.hash($0), EngineHarness.memberToken($0)) })
        return h.outcomes.filter { $0.outcome == "unknown" }.map {
            names[$0.fields["token-hash"] as? String ?? ""] ?? "a stranger"
        }
    }
    /// Plays what a worker does before it dies.
    /// - Returns: tokens by how their pushes ended.
    private static func play(
        _ death: Death, _ h: EngineHarness
    ) -> (accepted: Set<String>, refused: Set<String>, open: Set<String>) {
        var (accepted, refused, open): (Set<String>, Set<String>, Set<String>) = ([], [], [])
        for number in 0..<death.sent {
            guard let push = h.take() else { break }
            if death.unanswered > 0, number % death.unanswered == 0 {
                open.insert(push.token)
            } else if death.refused > 0, number % death.refused == 0 {
                refused.insert(push.token)
                h.answer(
                    push, .response(PushResponse(status: 429, reason: "TooManyRequests", retryAfterSeconds: 60)))
            } else {
                accepted.insert(push.token)
                h.answer(push, .accepted)
            }
        }
        if death.isPaused { h.pause("match") }
        if death.isWritten { h.advance(1_500) }
        return (accepted, refused, open)
    }

    /// The owner dies during a start. Each member whose push was not accepted gets an outcome, or the next owner sends
    /// it the start, but never both. No member gets two outcomes.
    @Test(arguments: Self.deaths) func eachHasARecordOrACard(_ death: Death) {
        let h = EngineHarness.starts()
        for member in 1...death.memberCount { h.joinStart(member) }
        h.audienceStart(1)
        let first = Self.play(death, h)
        #expect(first.accepted.count + first.refused.count + first.open.count == death.sent)
        h.crash(afterMillis: 2_000)
        h.carryBus()
        if death.isPaused { h.pause("match", isPaused: false) }
        let rest = Set(h.deliverAll(withinMillis: 70_000).map(\.token))
        let all = Self.told(h, among: 1...death.memberCount)
        let told = Set(all)
        #expect(all.count == told.count && !told.contains("a stranger"))
        #expect(told.isDisjoint(with: rest) && rest.isDisjoint(with: first.accepted.union(first.open)))
        #expect(told.isSuperset(of: first.open))
        #expect(told.union(rest).union(first.accepted).count == death.memberCount)
        #expect(Int(h.counters.startMembers.unknown) == told.count)
        if death.isWritten {
            #expect(told.isDisjoint(with: first.accepted), "a record tells that they were started")
            #expect(told.isDisjoint(with: first.refused) && rest.isSuperset(of: first.refused))
        }
        if death.isPaused { #expect(told == first.open) }
        #expect(told.count <= 2 * StartPace.countMin + first.open.count, "few are announced ahead")
        #expect(h.counters.isConserved)
    }

    /// With `resend` nobody is in doubt, because the starts are sent again.
    @Test(arguments: Self.deaths) func whereItIsSentAgainNobodyIsToldOf(_ death: Death) {
        let h = EngineHarness.starts { $0.apps[0].startOnUnknown = .resend }
        for member in 1...death.memberCount { h.joinStart(member) }
        h.audienceStart(1)
        let first = Self.play(death, h)
        h.crash(afterMillis: 2_000)
        h.carryBus()
        if death.isPaused { h.pause("match", isPaused: false) }
        let rest = Set(h.deliverAll(withinMillis: 70_000).map(\.token))
        #expect(Self.told(h, among: 1...death.memberCount).isEmpty)
        #expect(rest.isSuperset(of: first.open.union(first.refused)))
        #expect(rest.union(first.accepted).count == death.memberCount)
    }

    @Test func oneRecordSaysWhichStartAndWhy() throws {
        let h = EngineHarness.starts()
        h.joinStart(1)
        let start = h.audienceStart(1)
        h.advance(500)
        _ = try #require(h.take())
        h.crash(afterMillis: 2_000)
        h.carryBus()
        let record = try #require(h.outcomes.last { $0.outcome == "unknown" })
        #expect(record.offset == start && record.fields["audience"] as? String == "match")
        #expect(record.fields["token-hash"] as? String == Self.hash(1) && record.key == Self.hash(1))
        #expect(record.reason?.hasPrefix("not sent again") == true)
    }

    // MARK: Who joins and leaves
    @Test func whoJoinedLateIsToldOfAsWell() {
        let h = EngineHarness.starts()
        h.joinStart(1)
        h.audienceStart(1)
        _ = h.deliverAll(withinMillis: 2_000)
        for member in 2...30 { h.joinStart(member) }
        h.advance(500)
        let sent = (1...10).compactMap { _ in h.take() }
        for push in sent.prefix(4) { h.answer(push, .accepted) }
        h.advance(1_500)
        h.crash(afterMillis: 2_000)
        h.carryBus()
        let rest = Set(h.deliverAll(withinMillis: 5_000).map(\.token))
        let told = Set(Self.told(h, among: 1...30))
        #expect(told.isSuperset(of: sent.dropFirst(4).map(\.token)))
        #expect(told.isDisjoint(with: sent.prefix(4).map(\.token)), "a record tells that they were started")
        #expect(told.isDisjoint(with: rest) && told.count + rest.count == 25)
        #expect(Int(h.counters.startMembers.unknown) == told.count)
    }

    /// Members that left by themselves are counted, but have no outcome of their own.
    @Test func whoHasLeftIsOnlyCounted() {
        let h = EngineHarness.starts()
        for member in 1...10 { h.joinStart(member) }
        h.audienceStart(1)
        h.advance(500)
        for member in 1...5 { h.leave(member) }
        h.crash(afterMillis: 2_000)
        h.carryBus()
        _ = h.deliverAll(withinMillis: 5_000)
        let told = Set(Self.told(h, among: 1...10))
        #expect(told == Set((6...10).map { EngineHarness.memberToken($0) }))
        #expect(h.counters.startMembers.unknown >= 5)
    }

    // MARK: Limits
    /// At most 1,024 members have an outcome of their own. The others are only counted, including those that a later
    /// owner finds in doubt.
    @Test func atMost1024AreToldOf() {
        let h = EngineHarness.starts()
        for member in 1...1_400 { h.joinStart(member) }
        h.audienceStart(1)
        var openCount = 0
        for _ in 0..<1_200 where h.take() != nil { openCount += 1 }
        #expect(openCount == 1_200)
        h.advance(1_500)
        h.crash(afterMillis: 2_000)
        h.carryBus()
        #expect(Set(Self.told(h, among: 1...1_400)).count == 1_024)
        let unknown = Int(h.counters.startMembers.unknown)
        #expect(unknown >= 1_200)
        h.advance(1_500)
        _ = h.take()
        h.crash(afterMillis: 2_000)
        h.carryBus()
        #expect(Self.told(h, among: 1...1_400).count == 1_024)
    }

    // MARK: Records
    private static func read(_ bytes: [UInt8]) throws -> StartProgressRecord {
        var reader = StateReader(bytes.span)
        #expect(try StateCodec.readKind(&reader) == .startProgress)
        return try StartProgressRecord(&reader)
    }
    private static func write(_ progress: StartProgressRecord) -> [UInt8] {
        var (bytes, scratch): ([UInt8], [UInt8]) = ([], [])
        bytes.append(using: &scratch) { progress.write(to: &$0) }
        return bytes
    }

    /// Records of former releases end after the refusals, and only say how many members are in doubt.
    @Test func recordsOfBeforeAreRead() throws {
        var progress = StartProgressRecord(epoch: 5, start: StartStamp(life: 9, stampSeconds: 9))
        progress.rounds = [
            StartProgressRecord.Round(horizon: 400, unansweredCount: 3, unmet: 5, unanswered: [7, 2]),
            StartProgressRecord.Round(environment: .development, horizon: 40, unmet: 40),
        ]
        let bytes = Self.write(progress)
        #expect(try Self.read(bytes) == progress)
        // The former releases' record lacks the last 6 bytes. A position below 64 takes one byte, and so does a count.
        let old = try Self.read(Array(bytes.dropLast(6)))
        #expect(old.rounds.map(\.unmet) == [nil, nil] && old.rounds[0].unansweredCount == 3)
        #expect(old.rounds.map(\.horizon) == [400, 40] && old.rounds[0].unanswered.isEmpty)
        for cut in 1...5 {
            #expect(throws: StateError.self) { try Self.read(Array(bytes.dropLast(cut))) }
        }
        #expect(throws: StateError.self) { try Self.read(bytes + [0]) }
    }
    @Test func moreThanOneRecordTellsOfAreNotRead() throws {
        var progress = StartProgressRecord(epoch: 5, start: StartStamp(life: 9, stampSeconds: 9))
        progress.rounds = [
            StartProgressRecord.Round(
                horizon: 400, unmet: 5, unanswered: Array(repeating: 7, count: StartProgressRecord.unansweredMax))
        ]
        #expect(try Self.read(Self.write(progress)) == progress)
        progress.rounds[0].unanswered.append(7)
        #expect(throws: StateError.self) { try Self.read(Self.write(progress)) }
    }
}
