import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// Tests what each verdict means for the APNs topic, the device token and the push.
@Suite struct VerdictConsequenceTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var verdict: Verdict
        var apnsTopic: Dispatch.APNSTopicAnswer
        var token: VerdictConsequence.Token
        var push: VerdictConsequence.Push
        var testDescription: String { "\(self.verdict)" }
    }

    @Test(arguments: [
        Row(verdict: .accepted, apnsTopic: .taken, token: .judged(isSuspicious: false), push: .accepted),
        Row(
            verdict: .tokenDead(invalidSinceMillis: 7, suspicious: false), apnsTopic: .taken,
            token: .judged(isSuspicious: false), push: .tokenDead(invalidSinceMillis: 7, isSuspicious: false)),
        Row(
            verdict: .tokenDead(invalidSinceMillis: nil, suspicious: true), apnsTopic: .taken,
            token: .judged(isSuspicious: true), push: .tokenDead(invalidSinceMillis: nil, isSuspicious: true)),
        Row(verdict: .tokenThrottled, apnsTopic: .taken, token: .judged(isSuspicious: false), push: .waitsForToken),
        Row(verdict: .messageRefused, apnsTopic: .nothing, token: .unknown, push: .refused(byExpiration: false)),
        Row(verdict: .expirationRefused, apnsTopic: .nothing, token: .unknown, push: .refused(byExpiration: true)),
        Row(
            verdict: .topicRefused(anotherConnectionMayDo: true), apnsTopic: .refused, token: .unknown,
            push: .waitsForRoute),
        Row(verdict: .credentialRefused, apnsTopic: .nothing, token: .unknown, push: .waitsForRoute),
        Row(verdict: .providerTokenExpired, apnsTopic: .nothing, token: .unknown, push: .waitsForRoute),
        Row(verdict: .providerTokenTooManyUpdates, apnsTopic: .nothing, token: .unknown, push: .waitsForRoute),
        Row(verdict: .serverBusy, apnsTopic: .nothing, token: .unknown, push: .waitsForRoute),
        Row(verdict: .connectionUnusable, apnsTopic: .nothing, token: .unknown, push: .goesAgain),
    ])
    func eachIsSaidOnce(row: Row) {
        #expect(
            row.verdict.consequence
                == VerdictConsequence(apnsTopic: row.apnsTopic, token: row.token, push: row.push))
    }
}
