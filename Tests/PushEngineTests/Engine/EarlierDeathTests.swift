import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// Tests a 410 that names a time before the token's registration. The token is kept (contract: Dead tokens), and the
/// log, the admin port and `state` show the answer.
@Suite struct EarlierDeathTests {
    private static let died: Int64 = 1_600_000_000_000
    private static let answer = PushAnswer.Result.response(
        PushResponse(status: 410, reason: "ExpiredToken", timestampMillis: died))

    private static func harness() -> EngineHarness {
        let h = EngineHarness()
        h.register(token: "ee01")
        h.update(1, priority: 10)
        return h
    }
    /// All notices about refused tokens so far.
    private static func notices(_ h: EngineHarness) -> [TokenRefusalNotice] {
        h.actionsSoFar().compactMap { if case .warnOfToken(let notice) = $0 { notice } else { nil } }
    }
    private static func report(_ h: EngineHarness) -> ActivityReport? {
        h.engine.activityReport(app: 0, id: Array("a".utf8).span, now: h.now)
    }
    /// The header `earlierDeaths` of the newest `state` record; `nil` if the record has no such header.
    private static func inState(_ h: EngineHarness) -> String? {
        h.written.last { $0.topic == .state }?.headers[RecordHeader.earlierDeaths.text]
    }

    @Test func itIsNamedEverywhere() throws {
        let h = Self.harness()
        h.answer(try #require(h.take()), Self.answer)
        let notice = try #require(Self.notices(h).first)
        #expect(notice.standing == .diedBeforeRegistration)
        #expect(notice.id == "a" && !notice.isOfMember && notice.status == 410 && notice.reason == "ExpiredToken")
        #expect(notice.tokenHash == PushComposer.hash(ofToken: [UInt8]([0xee, 0x01]).span))
        #expect(notice.diedMillis == Self.died && notice.registeredMillis > Self.died && notice.earlierDeaths == 1)
        let retryMillis = try #require(notice.retryMillis)
        #expect(retryMillis > 0)
        let report = try #require(Self.report(h))
        #expect(report.token == "usable" && report.earlierDeaths == 1 && report.restMillis == retryMillis)
        h.advance(200)
        #expect(Self.inState(h) == "1")
    }

    /// APNs may refuse a token in its first answer, without naming an earlier time. The notice then names no retry and
    /// no earlier deaths.
    @Test(arguments: ["Unregistered", "BadDeviceToken"]) func aTokenThatDiesAtOnceIsNamedToo(reason: String) throws {
        let h = Self.harness()
        h.answer(
            try #require(h.take()),
            .response(PushResponse(status: reason == "Unregistered" ? 410 : 400, reason: reason)))
        let notice = try #require(Self.notices(h).first)
        #expect(notice.standing != .diedBeforeRegistration && notice.reason == reason)
        #expect(notice.retryMillis == nil && notice.earlierDeaths == 0)
    }

    /// The first seven answers in a row that name an earlier time are counted, and the token is kept. After the eighth
    /// the token is dead.
    @Test func itIsCountedUntilItIsBelieved() throws {
        let h = Self.harness()
        for count in 1...TokenRefusalNotice.earlierDeathsIgnoredMax {
            h.answer(try #require(h.take()), Self.answer)
            #expect(Self.notices(h).map(\.earlierDeaths) == Array(1...count))
            #expect(Self.report(h)?.earlierDeaths == count)
            h.advance(61_000)
        }
        h.answer(try #require(h.take()), Self.answer)
        #expect(Self.notices(h).last?.standing == .dead)
        #expect(Self.report(h)?.token == "dead")
    }

    /// The count of earlier deaths is zero after another token was registered, and after APNs has accepted a push.
    @Test(arguments: [true, false]) func itIsForgotten(byRegistration: Bool) throws {
        let h = Self.harness()
        h.answer(try #require(h.take()), Self.answer)
        #expect(Self.report(h)?.earlierDeaths == 1)
        if byRegistration {
            h.register(token: "ee02")
        } else {
            h.advance(61_000)
            h.deliver()
        }
        #expect(Self.report(h)?.earlierDeaths == 0)
        h.advance(200)
        #expect(Self.inState(h) == nil && h.written.contains { $0.topic == .state })
    }

    /// The push goes to the former token at once. The notice is about the newest token, and names no retry because that
    /// token is not tried again now. While the former token is in use, the `state` record has no count.
    @Test func theTokenBeforeGetsThePush() throws {
        let h = EngineHarness()
        h.register(token: "aa01")
        h.update(1, priority: 10)
        h.deliver()
        h.advance(2_000)
        h.register(token: "ee01")
        h.update(2, priority: 10)
        h.answer(try #require(h.take()), Self.answer)
        let notice = try #require(Self.notices(h).first)
        #expect(notice.standing == .diedBeforeRegistration && notice.retryMillis == nil && notice.earlierDeaths == 1)
        #expect(notice.tokenHash == PushComposer.hash(ofToken: [UInt8]([0xee, 0x01]).span))
        h.advance(200)
        #expect(Self.inState(h) == nil)
    }

    /// Thousands of tokens may die in one turn. The engine reports only the first few.
    @Test func onlyAFewOfVeryManyAreReported() throws {
        let h = EngineHarness()
        for number in 0..<20 {
            h.register(token: "ee0\(number % 10)", of: "a\(number)")
            h.update(1, of: "a\(number)", priority: 10)
        }
        while let push = h.take() { h.answer(push, Self.answer) }
        #expect(Self.notices(h).count == TokenRefusalNotices.countMax)
        #expect(h.engine.core.tokenRefusals.waiting.isEmpty)
    }

    /// A 410 for a time before a member's join is reported, too. The notice names the audience, and the member's token
    /// is tried again.
    @Test func aMembersTokenIsNamedByItsHash() throws {
        let h = AudienceTests.harness()
        h.join(1)
        h.audienceUpdate(1)
        h.answer(try #require(h.take()), Self.answer)
        let notice = try #require(Self.notices(h).first)
        #expect(notice.standing == .diedBeforeRegistration && notice.isOfMember && notice.id == "match")
        #expect(notice.earlierDeaths == 1 && notice.retryMillis != nil && notice.registeredMillis > Self.died)
        let token = [UInt8](repeating: 0, count: 31) + [1]
        #expect(notice.tokenHash == PushComposer.hash(ofToken: token.span))
    }

    /// An activity's id may look like a token. The notice shows only the beginning of such an id.
    @Test func aTokenAsAnIDIsShortened() throws {
        let h = EngineHarness()
        let id = String(repeating: "0a", count: 32)
        h.register(token: "ee01", of: id)
        h.update(1, of: id, priority: 10)
        h.answer(try #require(h.take()), Self.answer)
        #expect(Self.notices(h).first?.id == "0a0a0a0a…(64 digits)")
    }
}
