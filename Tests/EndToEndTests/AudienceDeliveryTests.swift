import APNSSimulator
import DeviceModel
import Foundation
import Testing

/// Tests of one event for many phones, each with its own token. The audience's events go from Kafka to the phones over
/// real TLS and HTTP/2.
@Suite(.timeLimit(.minutes(10)))
struct AudienceDeliveryTests {
    private static let count = 1_000

    @Test func everyMemberShowsTheNewest() async throws {
        try await TestHouse.with { house in
            let publisher = try TestPublisher(house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            let worker = try await house.startWorker()
            try match.join(0..<Self.count)
            try await publisher.flush()
            try await match.has(Self.count, at: worker)
            try match.publish(1, TestAudience.goal)
            try await publisher.flush()
            let first = try await match.shows(1, 0..<Self.count)
            #expect(first.pushes == Self.count, "one push each")
            #expect(first.differingCount == 0)

            // A phone that joins now gets the newest version without an alert.
            try match.join(Self.count..<Self.count + 1)
            try await publisher.flush()
            let late = try await match.shows(1, Self.count..<Self.count + 1)
            #expect(late.alerts.map(\.alerts) == [0])
            #expect(late.mostHighPriorityPerHour?.value == 0)

            // These phones are members already, so another join causes no push.
            try match.join(0..<10)
            try match.publish(2, "\"priority\":10")
            try await publisher.flush()
            let second = try await match.shows(2, 0..<Self.count + 1)
            #expect(second.pushes == 2 * (Self.count + 1))

            try match.publish(3, event: "end")
            try await publisher.flush()
            let last = try await match.shows(3, 0..<Self.count + 1, .ended)
            #expect(last.pushes == 3 * (Self.count + 1))
            #expect(last.mostInFlight?.value == 1)
            #expect(last.differing.filter { $0.ways != [.alerts] }.isEmpty)
            #expect(house.violations().isEmpty)

            // An event after the end has the outcome `late`.
            try match.publish(4)
            try await publisher.flush()
            let outcomes = try await house.everythingIsAccountedFor(publisher, worker)
            #expect(outcomes.count { $0.outcome == "applied" } == Self.count + 11)
            #expect(outcomes.count { $0.outcome == "fanned-out" } == 3)
            #expect(outcomes.count { $0.outcome == "late" } == 1)
            #expect(outcomes.count == publisher.positions.count)
            #expect(try await worker.metric("mailboat_members") == Double(Self.count + 1))
        }
    }

    /// A member that has left gets no further push. A phone whose token was rotated gets pushes by its new token. A
    /// token belongs only to the audience that it joined last.
    @Test func membersLeaveRotateAndMove() async throws {
        try await TestHouse.with { house in
            let publisher = try TestPublisher(house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            let other = TestAudience(id: "match-8", publisher: publisher, house: house)
            let worker = try await house.startWorker()
            try match.join(0..<100)
            try match.publish(1)
            try await publisher.flush()
            try await match.shows(1, 0..<100)

            for phone in 0..<10 { try match.leave(Tokens.make(phone), isNamed: phone < 5) }
            // These phones are in another audience, so the leave removes nobody.
            for phone in 10..<20 { try other.leave(Tokens.make(phone)) }
            for phone in 20..<30 {
                #expect(house.simulator.rotateToken(from: Tokens.make(phone), to: Tokens.make(200 + phone)))
                try match.leave(Tokens.make(phone))
                try match.join(Tokens.make(200 + phone))
            }
            try other.join(30..<40)
            try await publisher.flush()
            try await match.has(90, at: worker)

            try match.publish(2)
            try other.publish(7)
            try await publisher.flush()
            try await match.shows(2, 10..<20)
            try await match.shows(2, 220..<230)
            try await match.shows(2, 40..<100)
            try await other.shows(7, 30..<40)
            let left = match.summary(0..<10)
            #expect(left.shown.count == 1 && left.pushes == 10, "nothing more came")
            let outcomes = try await house.everythingIsAccountedFor(publisher, worker)
            #expect(!outcomes.contains { $0.outcome == "rejected" }, "no push went to a token that had been replaced")
            #expect(house.violations().isEmpty)
        }
    }

    @Test func deadTokensLeave() async throws {
        try await TestHouse.with { house in
            let publisher = try TestPublisher(house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            let worker = try await house.startWorker()
            try match.join(0..<200)
            try await publisher.flush()
            try await match.has(200, at: worker)
            for phone in 0..<20 { #expect(house.simulator.setToken(Tokens.make(phone), .dead)) }
            try match.publish(1)
            try await publisher.flush()
            try await match.shows(1, 20..<200)
            try await match.has(180, at: worker)
            let refused = house.simulator.statistics().refused.values.reduce(0, +)
            #expect(refused == 20)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            try await until("each is told of") {
                try OutcomeRecord.all(in: outcomes).count { $0.outcome == "rejected" } == 20
            }
            #expect(
                try OutcomeRecord.all(in: outcomes).filter { $0.outcome == "rejected" }
                    .allSatisfy { $0.status == 410 && $0.reason == "ExpiredToken" && $0.audience == "match-7" })

            try match.publish(2)
            try await publisher.flush()
            try await match.shows(2, 20..<200)
            #expect(house.simulator.statistics().refused.values.reduce(0, +) == refused, "they are not tried again")
            #expect(house.violations().isEmpty)
        }
    }

    /// A goal is cancelled during its pass. Phones that have not got the goal's alert yet show the new score without
    /// sound.
    @Test func aGoalTakenBackRingsNoFurther() async throws {
        try await TestHouse.with { house in
            let publisher = try TestPublisher(house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            house.simulator.setConcurrentStreamsMax(TestAudience.narrowStreams)
            house.simulator.setLatency(Latency(fixedMillis: 200))
            let worker = try await house.startWorker(settings: TestAudience.narrow)
            try match.join(0..<Self.count)
            try await publisher.flush()
            try await match.has(Self.count, at: worker)
            try match.publish(1, TestAudience.goal)
            try await publisher.flush()
            try await house.apns("the goal is under way") { $0.accepted >= 50 }
            try match.publish(0, TestAudience.withdrawn)
            try await publisher.flush()
            let summary = try await match.shows(0, 0..<Self.count)
            let rung = summary.alerts.filter { $0.alerts > 0 }.reduce(0) { $0 + $1.cards }
            #expect(rung >= 50 && rung < Self.count, "\(rung) have rung")
            #expect(summary.alerts.allSatisfy { $0.alerts <= 1 })
            #expect(summary.pushes <= Self.count + rung, "whoever was not served gets the newest alone")
            #expect(summary.mostInFlight?.value == 1)
            #expect(house.violations().isEmpty)
            let outcomes = try await house.everythingIsAccountedFor(publisher, worker)
            #expect(outcomes.count { $0.outcome == "fanned-out" } == 2)
        }
    }

    /// An audience is forgotten when it has been over for the time `retention` (by default an hour). The members that
    /// it had are forgotten, too.
    @Test func theEndLetsMembersGo() async throws {
        try await TestHouse.with { house in
            let publisher = try TestPublisher(house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            let worker = try await house.startWorker(settings: "retention: 5s")
            try match.join(0..<100)
            try match.publish(1)
            try match.publish(2, event: "end")
            try await publisher.flush()
            try await match.shows(2, 0..<100, .ended)
            try await match.has(0, at: worker)

            try match.join(100..<150)
            try match.publish(3)
            try await publisher.flush()
            try await match.shows(3, 100..<150)
            #expect(match.summary(0..<100).shown.map(\.card) == [.ended])
            #expect(house.violations().isEmpty)
        }
    }
}
