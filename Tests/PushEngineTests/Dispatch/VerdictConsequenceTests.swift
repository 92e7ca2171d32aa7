import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// What each verdict means for the topic, the token and the push.
@Suite struct VerdictConsequenceTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var verdict: Verdict
        var topic: Dispatch.TopicAnswer
        var token: VerdictConsequence.Token
        var push: VerdictConsequence.Push
        var testDescription: String { "\(self.verdict)" }
    }

    @Test(arguments: [
        Row(verdict: .accepted, topic: .taken, token: .judged(isSuspicious: false), push: .accepted),
        Row(
            verdict: .tokenDead(invalidSinceMillis: 7, suspicious: false), topic: .taken,
            token: .judged(isSuspicious: false), push: .tokenDead(invalidSinceMillis: 7, isSuspicious: false)),
        Row(
            verdict: .tokenDead(invalidSinceMillis: nil, suspicious: true), topic: .taken,
            token: .judged(isSuspicious: true), push: .tokenDead(invalidSinceMillis: nil, isSuspicious: true)),
        Row(verdict: .tokenThrottled, topic: .taken, token: .judged(isSuspicious: false), push: .waitsForToken),
        Row(verdict: .messageRefused, topic: .nothing, token: .unknown, push: .refused(byExpiration: false)),
        Row(verdict: .expirationRefused, topic: .nothing, token: .unknown, push: .refused(byExpiration: true)),
        Row(
            verdict: .topicRefused(anotherConnectionMayDo: true), topic: .refused, token: .unknown,
            push: .waitsForRoute),
        Row(verdict: .credentialRefused, topic: .nothing, token: .unknown, push: .waitsForRoute),
        Row(verdict: .providerTokenExpired, topic: .nothing, token: .unknown, push: .waitsForRoute),
        Row(verdict: .providerTokenTooManyUpdates, topic: .nothing, token: .unknown, push: .waitsForRoute),
        Row(verdict: .serverBusy, topic: .nothing, token: .unknown, push: .waitsForRoute),
        Row(verdict: .connectionUnusable, topic: .nothing, token: .unknown, push: .goesAgain),
    ])
    func eachIsSaidOnce(row: Row) {
        #expect(
            row.verdict.consequence
                == VerdictConsequence(topic: row.topic, token: row.token, push: row.push))
    }
}
