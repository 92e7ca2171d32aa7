import Logging
import Testing

@testable import PushEngine
@testable import PushWorker

/// Log lines about refused tokens name the activity and the token's hash.
@Suite struct TokenRefusalLinesTests {
    private static func notice(_ change: (inout TokenRefusalNotice) -> Void = { _ in }) -> TokenRefusalNotice {
        var notice = TokenRefusalNotice(
            standing: .diedBeforeRegistration, app: "com.example.pizza", id: "order-7", isOfMember: false,
            tokenHash: 0x0a, status: 410, reason: "ExpiredToken", diedMillis: 1_700_000_000_000,
            registeredMillis: 1_700_000_005_250, earlierDeaths: 2, retryMillis: 1_400)
        change(&notice)
        return notice
    }

    private static func lines(_ notices: [TokenRefusalNotice], heldBackAt millis: Int64? = nil) -> [String] {
        let (caught, logger) = Self.logger()
        var lines = TokenRefusalLines()
        for notice in notices { lines.write(notice, nowMillis: 0, to: logger) }
        if let millis { lines.writeHeldBack(nowMillis: millis, to: logger) }
        return caught.all
    }

    private static func logger() -> (LogLines, Logger) {
        let caught = LogLines()
        return (caught, Logger(label: "test") { _ in caught.handler })
    }

    @Test func aTokenThatDiedBeforeItsRegistrationIsKept() {
        #expect(
            Self.lines([Self.notice()]) == [
                "APNs says that a token died before it was registered; the registration is newer, so the token is kept and the push is tried again activity=order-7 answer=2 of 8 app=com.example.pizza died=2023-11-14T22:13:20.000Z reason=ExpiredToken registered=2023-11-14T22:13:25.250Z retry-ms=1400 status=410 token-hash=000000000000000a"
            ])
    }

    @Test func othersAreNamedToo() {
        let member = Self.lines([Self.notice { $0.isOfMember = true }])
        #expect(member[0].contains(" audience=order-7 ") && member[0].contains(" joined="))
        let dead = Self.lines([
            Self.notice { ($0.standing, $0.diedMillis, $0.retryMillis, $0.earlierDeaths) = (.dead, nil, nil, 0) }
        ])
        #expect(dead[0].hasPrefix("APNs says that a token is dead; the event waits for another activity=order-7 app="))
        #expect(!dead[0].contains("answer=") && !dead[0].contains("died=") && !dead[0].contains("retry-ms="))
        #expect(Self.lines([Self.notice { $0.standing = .doubted }])[0].contains("kept for the next event"))
        #expect(Self.lines([Self.notice { $0.retryMillis = nil }])[0].contains("goes to the token before it"))
    }

    /// In ten seconds one line of each kind is logged. After that a single line, about the newest notice, counts all
    /// notices that were held back.
    @Test func aFloodIsCounted() {
        let notices = [Self.notice(), Self.notice { $0.id = "order-8" }, Self.notice { $0.id = "order-9" }]
        #expect(Self.lines(notices).count == 1)
        let later = Self.lines(notices, heldBackAt: TokenRefusalLines.intervalMillis)
        #expect(later.count == 2 && later[1].contains("activity=order-9") && later[1].contains("count=2"))
    }
}
