import APNSProtocol
import PushModel
import Testing

@testable import PushTransport

/// Tests of what follows an attempt at a request about channels. Requests that may be repeated are sent again, within
/// limits.
struct ChannelAttemptsTests {
    enum Next: Equatable { case done, gone, again, failed }

    private static func response(_ status: UInt16, _ reason: String, retryAfterSeconds: Int64? = nil) -> ChannelAttempt
    {
        .answered(
            .response(PushResponse(status: status, reason: reason, retryAfterSeconds: retryAfterSeconds)))
    }

    private static let lost = ChannelAttempt.answered(.unknown(detail: "lost"))
    private static let unprocessed = ChannelAttempt.answered(.notProcessed)
    private static let answer = ChannelAnswer(status: 200, channelID: [], body: [])

    private static func next(_ step: ChannelAttempts.Step) -> Next {
        switch step {
        case .done: .done
        case .gone: .gone
        case .again: .again
        case .failed: .failed
        }
    }

    private static func run(_ kind: RequestKind, _ attempts: [ChannelAttempt]) -> [Next] {
        var machine = ChannelAttempts(kind: kind, limits: ChannelClientLimits())
        var random = SplitMix64(seed: 1)
        return attempts.map { Self.next(machine.ended($0, elapsedMillis: 0, using: &random)) }
    }

    /// Each case has attempts in order, and what follows each of them. The requests are a creation, a read and a
    /// deletion.
    @Test(
        arguments: [
            ("an answer", [.answered(.channel(answer))], [.done], [.done], [.done]),
            ("lost", [lost], [.failed], [.again], [.again]),
            ("not processed", [unprocessed], [.again], [.again], [.again]),
            ("500", [response(500, "InternalServerError")], [.failed], [.again], [.again]),
            ("503", [response(503, "Service Unavailable")], [.again], [.again], [.again]),
            ("shutdown", [response(503, "Shutdown")], [.again], [.again], [.again]),
            ("429", [response(429, "TooManyRequests")], [.again], [.again], [.again]),
            ("old token", [response(403, "ExpiredProviderToken")], [.again], [.again], [.again]),
            (
                "refused key", [response(403, "InvalidProviderToken"), response(403, "InvalidProviderToken")],
                [.again, .failed], [.again, .failed], [.again, .failed]
            ),
            ("off", [response(400, "FeatureNotEnabled")], [.failed], [.failed], [.failed]),
            ("full", [response(400, "CannotCreateChannelConfig")], [.failed], [.failed], [.failed]),
            ("unknown reason", [response(400, "SomethingNew")], [.failed], [.failed], [.failed]),
            ("gone", [response(400, "ChannelNotRegistered")], [.failed], [.failed], [.failed]),
            (
                "gone after a lost answer", [lost, response(400, "ChannelNotRegistered")],
                [.failed, .failed], [.again, .failed], [.again, .gone]
            ),
            (
                "gone after 500", [response(500, ""), response(400, "ChannelNotRegistered")],
                [.failed, .failed], [.again, .failed], [.again, .gone]
            ),
            (
                "gone after 503", [response(503, "Shutdown"), response(400, "ChannelNotRegistered")],
                [.again, .failed], [.again, .failed], [.again, .failed]
            ),
            ("no connection", [.notSent(RouteStatus())], [.failed], [.failed], [.failed]),
            ("overloaded", [.overloaded], [.failed], [.failed], [.failed]),
            ("closed", [.closed], [.failed], [.failed], [.failed]),
        ] as [(String, [ChannelAttempt], [Next], [Next], [Next])])
    func whatFollows(name: String, attempts: [ChannelAttempt], creation: [Next], question: [Next], deletion: [Next]) {
        #expect(Self.run(.createChannel, attempts) == creation)
        #expect(Self.run(.readChannel, attempts) == question)
        #expect(Self.run(.listChannels, attempts) == question)
        #expect(Self.run(.deleteChannel, attempts) == deletion)
    }

    @Test func thereIsALastAttempt() {
        var limits = ChannelClientLimits()
        limits.attemptsMax = 3
        var machine = ChannelAttempts(kind: .listChannels, limits: limits)
        var random = SplitMix64(seed: 1)
        for _ in 0..<2 {
            #expect(Self.next(machine.ended(Self.lost, elapsedMillis: 0, using: &random)) == .again)
        }
        #expect(machine.ended(Self.lost, elapsedMillis: 0, using: &random) == .failed(.unanswered("lost")))
    }

    @Test func noAttemptBeginsAfterTheTimeIsUp() {
        var machine = ChannelAttempts(kind: .listChannels, limits: ChannelClientLimits())
        var random = SplitMix64(seed: 1)
        #expect(Self.next(machine.ended(Self.lost, elapsedMillis: 59_000, using: &random)) == .again)
        #expect(Self.next(machine.ended(Self.lost, elapsedMillis: 59_999, using: &random)) == .failed)
    }

    /// The next attempt waits as long as `retry-after` says, if there is enough time.
    @Test func retryAfterIsHonoured() {
        var machine = ChannelAttempts(kind: .deleteChannel, limits: ChannelClientLimits())
        var random = SplitMix64(seed: 1)
        let soon = Self.response(503, "Shutdown", retryAfterSeconds: 20)
        #expect(machine.ended(soon, elapsedMillis: 0, using: &random) == .again(afterMillis: 20_000))
        let late = Self.response(503, "Shutdown", retryAfterSeconds: 900)
        #expect(Self.next(machine.ended(late, elapsedMillis: 0, using: &random)) == .failed)
    }

    // MARK: Failures as text

    private static let home = ChannelHome(bundleID: "com.example.pizza", environment: .production)

    @Test(
        arguments: [
            (.refused(status: 400, reason: "FeatureNotEnabled"), .featureNotEnabled, "Broadcast Capability"),
            (.refused(status: 400, reason: "ChannelNotRegistered"), .channelNotFound, "another app or environment"),
            (.refused(status: 400, reason: "BadChannelId"), .channelInvalid, "base64"),
            (.refused(status: 403, reason: "TopicMismatch"), .credentialsRefused, "does not cover this app"),
            (.refused(status: 400, reason: "TopicDisallowed"), .credentialsRefused, "without a suffix"),
            (.refused(status: 403, reason: "InvalidProviderToken"), .credentialsRefused, "apns.key-file"),
            (.refused(status: 403, reason: "ExpiredProviderToken"), .credentialsRefused, "clock"),
            (.refused(status: 429, reason: "TooManyProviderTokenUpdates"), .credentialsRefused, "used elsewhere"),
            (.refused(status: 429, reason: "TooManyRequests"), .throttled, "wait a minute"),
            (.refused(status: 503, reason: "Shutdown"), .serverBusy, "try again"),
            (.refused(status: 500, reason: "InternalServerError"), .mayExist, "compare before trying again"),
            (.refused(status: 400, reason: "BadRequestPayload"), .refused, "report"),
            (.limitReached(count: 10_000), .limitReached, "this one has 10000"),
            (.limitReached(count: nil), .limitReached, "may have 10000 channels"),
            (.creationUnanswered("lost"), .mayExist, "mailboat channels list"),
            (.unreadable("odd"), .mayExist, "mailboat channels list"),
            (.notConfigured, .notConfigured, "apns.environments"),
        ] as [(ChannelFailure.Cause, ChannelFailure.Kind, String)])
    func aFailureSaysWhatToDo(cause: ChannelFailure.Cause, kind: ChannelFailure.Kind, words: String) {
        let failure = ChannelFailure(.create, Self.home, cause)
        #expect(failure.kind == kind)
        #expect("\(failure)".contains(words), "\(failure)")
        #expect("\(failure)".hasPrefix("no channel was made for com.example.pizza (production): "))
    }
}
