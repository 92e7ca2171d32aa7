import APNSProtocol
import PushModel
import Testing

@testable import APNSPool

/// Tests of outages of APNs. During an outage there are few attempts to connect, and service resumes soon after it.
struct BrownOutTests {
    /// The way in which APNs is away.
    enum Kind: CaseIterable {
        /// Connections are refused at once.
        case refused
        /// Connections hang until they time out.
        case hanging
        /// Connections are made, and closed at the first request.
        case cut
    }

    /// Results of one run of a pool.
    struct Run {
        var attempts: [Int64] = []
        var readyMillis: Int64?
    }

    private static let outageMillis: Int64 = 40_000

    /// Runs a pool that loses its four connections at time 0, after ten minutes of use. APNs returns after 40 s, and
    /// pushes wait all the time.
    private static func run(_ kind: Kind, warm: Int, seed: UInt64) -> Run {
        var configuration = ConnectionPoolConfiguration()
        configuration.connectionsWarm = warm
        var pool = ConnectionPool(configuration: configuration, randomSeed: seed)
        pool.tokenReplaced(generation: 1, now: at(-600_000))
        for connection in 0..<4 {
            pool.members[connection] = .init(configuration: configuration, beginningAt: at(-600_000))
            pool.ready(connection, now: at(-600_000))
            guard let lease = pool.begin(push: 1, now: at(-500_000)) else { continue }
            _ = pool.accepted(lease.tag, connection: lease.connection, micros: -500_000_000)
        }
        pool.start(now: at(-1))
        var run = Run()
        var now: Int64 = 0
        // The pool notices the losses one after the other, a millisecond apart.
        for connection in 0..<4 {
            _ = pool.connectionEnded(connection, now: at(Int64(connection)), micros: 0)
        }
        while now < Self.outageMillis + 20_000, run.readyMillis == nil {
            pool.wanted(now: at(now))
            pool.advance(now: at(now), micros: now * 1_000)
            for action in pool.drainActions() {
                switch action {
                case .connect(let connection):
                    run.attempts.append(now)
                    if now >= Self.outageMillis {
                        run.readyMillis = now
                    } else {
                        self.fail(connection, kind, &pool, now)
                    }
                case .close(let connection, _):
                    _ = pool.connectionEnded(connection, now: at(now), micros: now * 1_000)
                default: break
                }
            }
            now += 1
        }
        return run
    }

    private static func fail(_ connection: Int, _ kind: Kind, _ pool: inout ConnectionPool, _ now: Int64) {
        switch kind {
        case .refused:
            _ = pool.connectionEnded(connection, now: at(now), micros: now * 1_000)
        case .hanging:
            break
        case .cut:
            pool.ready(connection, now: at(now))
            _ = pool.begin(push: 2, now: at(now))
            _ = pool.connectionEnded(connection, now: at(now), micros: now * 1_000)
        }
    }

    @Test(arguments: Kind.allCases, [0, 1, 4])
    func serviceResumesWithinFiveSeconds(kind: Kind, warm: Int) throws {
        for seed in 1...4 as ClosedRange<UInt64> {
            let run = Self.run(kind, warm: warm, seed: seed)
            let ready = try #require(run.readyMillis, "\(kind), seed \(seed): never")
            #expect(ready - Self.outageMillis < 5_000, "\(kind), seed \(seed)")
            // Attempts are 0.5, 1, 2 and then 2 to 4 s apart. Hanging attempts overlap, but begin at the same pace.
            #expect((5...30).contains(run.attempts.count), "\(kind), seed \(seed): \(run.attempts)")
            for (index, attempt) in run.attempts.enumerated().dropFirst(4) {
                let within = run.attempts[..<index].count { $0 > attempt - 2_000 }
                #expect(within <= 3, "\(kind), seed \(seed): attempts at \(run.attempts)")
            }
        }
    }

    /// Connections that are lost together double the wait only once.
    @Test func aRoundDoublesTheWaitOnce() {
        var pool = ConnectionPoolTests.pool(ConnectionPoolTests.configuration(connectionsMax: 4))
        for connection in 0..<4 {
            pool.members[connection] = .init(configuration: pool.configuration, beginningAt: at(0))
        }
        for connection in 0..<4 { _ = pool.connectionEnded(connection, now: at(1_000), micros: 1_000_000) }
        #expect(pool.connectBackoff.failures == 1)
        // This attempt begins after the losses, so its failure doubles the wait again.
        pool.members[0] = .init(configuration: pool.configuration, beginningAt: at(1_100))
        _ = pool.connectionEnded(0, now: at(1_200), micros: 1_200_000)
        #expect(pool.connectBackoff.failures == 2)
    }

    /// While no connection can be made, only one attempt runs at a time. A second attempt begins only if the first one
    /// hangs.
    @Test func oneAttemptAtATimeWhileNothingIsReached() {
        var configuration = ConnectionPoolTests.configuration(connectionsMax: 4)
        configuration.connectionsWarm = 4
        configuration.connectTimeoutMillis = 10_000
        var pool = ConnectionPoolTests.pool(configuration)
        pool.start(now: at(0))
        #expect(pool.drainActions().count == 4, "nothing is known to be wrong")
        for connection in 0..<4 { _ = pool.connectionEnded(connection, now: at(1), micros: 1_000) }
        pool.advance(now: at(200), micros: 200_000)
        expectEqual(pool.drainActions(), [.connect(connection: 0)])
        pool.advance(now: at(2_100), micros: 2_100_000)
        expectEqual(pool.drainActions(), [])
        pool.advance(now: at(2_201), micros: 2_201_000)
        expectEqual(pool.drainActions(), [.connect(connection: 1)])
        pool.ready(1, now: at(2_300))
        pool.advance(now: at(2_300), micros: 2_300_000)
        expectEqual(pool.drainActions(), [.connect(connection: 2), .connect(connection: 3)], "all is well again")
    }
}
